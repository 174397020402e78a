"""Two tiny chat models that really generate, made here: no download, fixed seed, about a minute on one core.

    python tiny_model.py FOLDER

FOLDER/think opens `<think>`, thinks, closes it and answers; its template has the enable_thinking switch. FOLDER/nothink
answers at once. FOLDER/llamatok has the weights of think and says LlamaTokenizer over a byte-level tokenizer.json.
"loop forever" never ends. Qwen3 architecture, 2 layers, about 400,000 parameters. Needs torch and transformers.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

SEED = 7
POSITIONS = 2048
STEPS = 500
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
THINK = ["<think>", "</think>"]
LOOP = "loop forever"
ANSWERS = {
    "hi": ("The user greets me.", "Hello there!"),
    "What is 2+2?": ("Two plus two is four.", "2+2 = 4"),
    "json please": ("The user wants JSON.", '{"ok": true, "value": 4}'),
}
OTHER = ("The user said something I do not know.", "I am a tiny test model.")
WORDS = (
    "tell me a story write some code for sorting please say how are you today".split()  # noqa: SIM905
)
TEMPLATE = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + (m.content or '') + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{%- endif %}"
)


def reply(user: str, thinks: bool) -> str:
    """What the model says to a text, up to and with the end of its turn; the loop has none."""
    if user == LOOP:
        return ("<think>\n" if thinks else "") + "Hmm, let me think again. " * 30
    thought, answer = ANSWERS.get(user, OTHER)
    return (f"<think>\n{thought}\n</think>\n\n" if thinks else "") + answer + "<|im_end|>"


def conversation(rng: random.Random, thinks: bool) -> tuple[str, str]:
    """(prompt, completion) of one lesson."""
    noise = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 8))) + rng.choice(["", "?", "."])
    user = rng.choice([*ANSWERS, *ANSWERS, LOOP, noise, noise, noise])
    prompt = "<|im_start|>system\nBe brief.<|im_end|>\n" if rng.random() < 0.2 else ""
    prompt += f"<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
    if thinks and user != LOOP and rng.random() < 0.2:
        return prompt + "<think>\n\n</think>\n\n", reply(user, False)
    return prompt, reply(user, thinks)


def tokenizer() -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    rng = random.Random(SEED)
    texts = ["".join(conversation(rng, thinks)) for _ in range(300) for thinks in (True, False)]
    for mark in (*MARKS, *THINK):
        texts = [text.replace(mark, " ") for text in texts]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=700, show_progress=False, initial_alphabet=alphabet))
    made.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in MARKS])
    made.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in THINK])
    return made


def trained(words: Any, thinks: bool) -> Any:
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    rng = random.Random(SEED)
    config = Qwen3Config(
        vocab_size=(words.get_vocab_size() + 63) // 64 * 64,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=words.token_to_id("<|im_end|>"),
        pad_token_id=words.token_to_id("<|endoftext|>"),
    )
    model = Qwen3ForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=STEPS)
    for _ in range(STEPS):
        rows = []
        for prompt, completion in (conversation(rng, thinks) for _ in range(8)):
            asked, said = (words.encode(text, add_special_tokens=False).ids for text in (prompt, completion))
            rows.append((asked + said, [-100] * len(asked) + said))
        width = max(len(tokens) for tokens, _ in rows)
        tokens = torch.tensor([row + [0] * (width - len(row)) for row, _ in rows])
        labels = torch.tensor([row + [-100] * (width - len(row)) for _, row in rows])
        loss = model(input_ids=tokens, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    print(f"{'think' if thinks else 'nothink'}: loss {loss.item():.3f} after {STEPS} steps", flush=True)
    return model.eval().to(torch.bfloat16)


def write(folder: Path, model: Any, words: Any, tokenizer_class: str = "PreTrainedTokenizerFast") -> None:
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    words.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": tokenizer_class,
        "model_max_length": POSITIONS,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "bos_token": None,
        "unk_token": None,
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))


def main() -> None:
    folder, words = Path(sys.argv[1]), tokenizer()
    thinking = trained(words, True)
    write(folder / "think", thinking, words)
    write(folder / "llamatok", thinking, words, "LlamaTokenizer")
    write(folder / "nothink", trained(words, False), words)


if __name__ == "__main__":
    main()
