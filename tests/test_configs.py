"""A model's own files, whole or in part, and listings of its folder."""

from __future__ import annotations

import json

import pytest

from sparkdiag.facts.piece import Piece
from sparkdiag.observe.configs import observe_config, observe_files


def config(text: str, command: str | None = None, kind: str = "output", **meta: object) -> dict[str, object]:
    facts = observe_config(Piece(kind, text, command=command, meta=meta))
    return facts[0].to_dict() if facts else {}


CONFIG = {
    "architectures": ["FeldsparForConditionalGeneration"],
    "model_type": "feldspar",
    "text_config": {"max_position_embeddings": 32768, "num_attention_heads": 40, "num_experts": 128},
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0},
    "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    "transformers_version": "5.0.0",
}


def test_a_whole_config_with_its_text_part() -> None:
    fact = config(json.dumps(CONFIG), "cat /models/m/config.json", "config", doc=CONFIG, file="/models/m/config.json")
    assert fact["file"] == "config.json"
    assert (fact["architecture"], fact["max_positions"], fact["heads"], fact["experts"]) == (
        "FeldsparForConditionalGeneration",
        32768,
        40,
        128,
    )
    assert (fact["quant_method"], fact["quant_algo"], fact["rope_scaled"]) == ("modelopt", "NVFP4", True)
    assert fact["transformers_major"] == 5


def test_the_quantization_file_of_modelopt() -> None:
    document = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "MIXED_PRECISION"}}
    assert config(json.dumps(document), None, "config", doc=document)["quant_algo"] == "MIXED_PRECISION"


@pytest.mark.parametrize(
    ("command", "text", "key", "value"),
    [
        (
            "jq -r .tokenizer_class /models/m/tokenizer_config.json",
            "TokenizersBackend",
            "tokenizer_class",
            "TokenizersBackend",
        ),
        ("jq .quantization.quant_algo hf_quant_config.json", '"FP8"', "quant_algo", "FP8"),
        (
            "grep tokenizer_class m/tokenizer_config.json",
            '  "tokenizer_class": "Qwen2Tokenizer",',
            "tokenizer_class",
            "Qwen2Tokenizer",
        ),
        ("grep -n max_position m/config.json", '"max_position_embeddings": 8192,', "max_positions", 8192),
    ],
)
def test_parts_that_commands_print(command: str, text: str, key: str, value: object) -> None:
    assert config(text, command)[key] == value


def test_other_documents_are_no_model() -> None:
    assert config('{"id": "x", "choices": []}', "curl -s http://host/v1", "json", doc={"id": "x", "choices": []}) == {}
    assert config("FP8", "echo FP8") == {}


def test_hostile_documents_give_nothing() -> None:
    assert config("[" * 5000, "cat config.json", "config") == {}
    assert config('{"architectures": [{"a": 1}], "max_position_embeddings": 1e999}', "cat config.json", "config") == {}


def test_a_listing_counts_weights_and_unfinished_files() -> None:
    text = (
        "config.json  tokenizer.json  model-00001-of-00013.safetensors\nmodel-00002-of-00013.safetensors  5f.incomplete"
    )
    fact = observe_files(Piece("output", text, command="ls /models/m"))[0]
    assert (fact.get("weights"), fact.get("shards_named"), fact.get("incomplete")) == (2, 13, 1)
    assert (fact.get("config"), fact.get("tokenizer"), fact.get("smallest_weight_bytes")) == (True, True, None)


def test_a_long_listing_tells_sizes_but_not_those_of_links() -> None:
    text = (
        "-rw-r--r-- 1 op op  135 Sep  2 10:00 model-00001-of-00002.safetensors\n"
        "-rw-r--r-- 1 op op 4.7G Sep  2 10:00 model-00002-of-00002.safetensors\n"
        "lrwxrwxrwx 1 op op   52 Sep  2 10:00 model.safetensors -> ../../blobs/0a1b"
    )
    fact = observe_files(Piece("output", text, command="ls -lh /models/m"))[0]
    assert (fact.get("weights"), fact.get("smallest_weight_bytes")) == (3, 135)


def test_a_listing_of_something_else() -> None:
    assert observe_files(Piece("output", "a.txt b.py", command="ls")) == []


def test_a_whole_config_keeps_its_dimensions_and_no_more() -> None:
    document = {
        **CONFIG, "hidden_size": 64, "num_hidden_layers": 2, "layer_types": ["full_attention", "linear_attention"],
        "bos_token_id": 1, "id2label": {"0": "A"},
    }  # fmt: skip
    piece = Piece("config", json.dumps(document), command="cat /models/m/config.json", meta={"doc": document})
    (fact,) = [fact for fact in observe_config(piece) if fact.kind == "config"]
    dimensions = fact.dimensions  # type: ignore[attr-defined]
    assert dimensions["num_experts"] == 128
    assert dimensions["layer_types"] == ["full_attention", "linear_attention"]
    assert dimensions["quantization_config"] == CONFIG["quantization_config"]
    assert not {"bos_token_id", "id2label", "architectures"} & set(dimensions)
    assert config(json.dumps(CONFIG), None, "config", doc=CONFIG).get("dimensions", {}) == {}
