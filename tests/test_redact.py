"""No secret survives redaction, whatever it is written as; ordinary evidence does."""

from __future__ import annotations

import json
import re
import shlex
import time

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkdiag.redact import Anonymizer, redact, redact_data, redact_headers, redact_url

HF = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"
OPENAI = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0"
PLAIN = "correcthorsebattery"

PLANTED = [
    ("HF token", HF, "HF_TOKEN={}"),
    ("HF token", HF, "export HUGGING_FACE_HUB_TOKEN='{}'"),
    ("HF token", HF, "using the token {} to log in"),
    ("HF token", PLAIN, "docker run -e HF_TOKEN={} -e NCCL_DEBUG=INFO image"),
    ("HF token", PLAIN, '      HF_TOKEN: "{}"'),
    ("HF token", PLAIN, "      HF_TOKEN: {}"),
    ("HF token", PLAIN, "      - HF_TOKEN={}"),
    ("HF token", PLAIN, '"Env": ["PATH=/usr/bin", "HF_TOKEN={}", "HOME=/root"]'),
    ("HF token", PLAIN, "- name: HF_TOKEN\n  value: {}\n"),
    ("HF token", PLAIN, "os.environ['HF_TOKEN'] = '{}'"),
    ("HF token", PLAIN, "${{HF_TOKEN:-{}}}"),
    ("HF token", PLAIN, "serve --hf-token {} --port 8000"),
    ("API key", OPENAI, "{}"),
    ("API key", PLAIN, "vllm serve m --api-key {} --port 8000"),
    ("API key", PLAIN, "vllm serve m --api-key={} --port 8000"),
    ("API key", PLAIN, "vllm serve m --api-key \\\n    {} \\\n    --port 8000"),
    ("API key", PLAIN, '["serve", "m", "--api-key", "{}", "--port", "8000"]'),
    ("API key", PLAIN, '["serve",\n  "--api-key",\n  "{}",\n  "--port"]'),
    ("API key", PLAIN, "non-default args: {{'api_key': ['{}', '{}'], 'port': 8000}}"),
    ("API key", PLAIN, '{{"api_key": "{}", "n": 1}}'),
    ("API key", PLAIN, '{{\\"api_key\\": \\"{}\\", \\"n\\": 1}}'),
    ("API key", PLAIN, "ServerArgs(model='m', api_key='{}', admin_api_key=None)"),
    ("API key", PLAIN, "OPENAI_API_KEY={}\nNEXT=1"),
    ("API key", PLAIN, "WANDB_API_KEY_2={}"),
    ("API key", PLAIN, "x-api-key: {}"),
    ("API key", "nvapi-" + "Ab1_" * 8, "docker login nvcr.io with {}"),
    ("authorization", PLAIN + "1234", "Authorization: Bearer {}"),
    ("authorization", PLAIN, "curl -H 'authorization: Bearer {}' http://spark:8000/v1/models"),
    ("authorization", PLAIN, "curl -H \"Authorization: Basic {}\" http://spark:8000"),
    ("authorization", PLAIN, "headers={{'Authorization': 'Bearer {}'}}"),
    ("authorization", PLAIN, "[(b'host', b'x'), (b'authorization', b'Bearer {}')]"),
    ("authorization", PLAIN + "1234", "sent 'Bearer {}'"),
    ("password", PLAIN, "http://user:{}@spark-a:8000/v1"),
    ("password", PLAIN, "redis://:{}@10.0.0.1:6379/0"),
    ("password", PLAIN, "curl -s -u bob:{} http://spark-a"),
    ("password", PLAIN, "docker login nvcr.io -u '$oauthtoken' -p {}"),
    ("password", PLAIN, "sshpass -p {} ssh spark-a"),
    ("password", PLAIN, "machine spark-a login me password {}"),
    ("password", PLAIN, "POSTGRES_PASSWORD={}"),
    ("password", "a pass phrase, with words", "password: {}"),
    ("password", "pa\\\"ss", '"password": "{}"'),
    ("password", "12345678", "DB_PASSWORD=12345678"),
    ("secret", PLAIN, "client_secret={}"),
    ("secret", PLAIN, "CLIENT_SECRET: '{}'"),
    ("AWS key", PLAIN, "aws_secret_access_key = {}"),
    ("AWS key", "AKIA" + "ABCDEFGHIJKLMNOP", "id {}"),
    ("GitHub token", "ghp_" + "a1B2c3" * 6, "git clone https://{}@github.com/a/b"),
    ("GitLab token", "glpat-" + "a1B2c3D4e5F6g7H8i9J0", "PRIVATE {}"),
    ("token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlMTIz", "cookie-free {}"),
    ("token", "a1b2c3d4e5f6a7b8c9d0", "GET /v1/models?token={}&x=1"),
    ("token", "SWMTKN-1-" + "a1b2c3d4e5f6a7b8c9d0", "docker swarm join {}"),
    ("registry login", "dXNlcjpwYXNzd29yZA==", '"auths": {{"nvcr.io": {{"auth": "{}"}}}}'),
    ("cookie", "session=abcdef; other=1", "Set-Cookie: {}"),
    ("private key", "MIIEvQIBADANBgkq", "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\nafter"),
    ("private key", "b3BlbnNzaC1rZXk", '"-----BEGIN RSA PRIVATE KEY-----\\n{}\\n-----END RSA PRIVATE KEY-----\\n"'),
    ("private key", "b3BlbnNzaC1rZXk", "-----BEGIN RSA PRIVATE KEY-----\r\n{}\r\n"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "secret", "shape"), PLANTED)
def test_a_planted_secret_is_masked_by_the_stand_in_of_its_kind(kind: str, secret: str, shape: str) -> None:
    text = f"before\n{shape.format(secret, secret)}\nafter"
    clean = redact(text)
    assert secret not in clean
    assert f"[secret: {kind}]" in clean
    assert clean.count("\n") == text.count("\n"), "line numbers must stay true"
    assert clean.startswith("before\n")
    assert clean.endswith("\nafter")
    assert redact(clean) == clean


NEAR_MISSES = [
    "max_tokens: 256, prompt_tokens: 12, completion_tokens=14",
    "Prefill batch, #new-seq: 1, #new-token: 12, #cached-token: 0, token usage: 0.01",
    "kv_cache_key=model.layers.0 KV_CACHE_KEY=abcdef",
    "image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "docker pull docker://ubuntu:22.04@sha256:9f86d081884c7d659a2feaa0c55ad015",
    "HF_TOKEN is not set; HF_TOKEN=  HF_TOKEN=$HF_TOKEN HF_TOKEN=${HF_TOKEN:?not given}",
    "--tokenizer /models/think --tokenizer-mode auto --max-num-batched-tokens 8192 --ssl-keyfile /etc/ssl/key.pem",
    "--cb-max-batch-tokens INTEGER   Maximum tokens per batch",
    '{"token": "Hello", "logprob": -0.1, "bytes": [72]}',
    '{"eos_token": "<|im_end|>", "pad_token": "<pad>", "stop_token_ids": [1]}',
    "KeyError: 'messages'",
    "KeyError: \"Reasoning parser 'qwen3_fancy' not found\"",
    "api_key=None, admin_api_key=None, hf_token=None",
    "client = OpenAI(api_key=\"EMPTY\", base_url='http://spark-a:8000/v1')",
    "Permission denied (publickey,password).",
    "-v /etc/passwd:/etc/passwd:ro --user 1000:1000",
    "sort(key=lambda x: x[1])",
    "spark@spark-a's password: ",
    "PWD=/home/spark OLDPWD=/root",
    "HF_TOKEN=/run/secrets/hf_token POSTGRES_PASSWORD_FILE=/run/secrets/pg",
    "401 Unauthorized: Bearer token required, Bearer authentication failed",
    "hf_config_overrides={'a': 1} hf_hub_download hf_transfer",
    "task-parallel disk-based risk-free-something-long-here",
    "author: mp, authors: many, authentication: required",
    '"auth": "required", "auth": "none"',
    "ssh://user@spark-a:22/x http://[::1]:8000/v1 http://spark-a:8000/a@b",
    "WARNING: Error while downloading: token: invalid",
    "Secret management: see the manual. The secret: there is none at all.",
    "time_to_first_token: 0.3 per_token=1.2 next_token='the'",
    "password:",
]


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_ordinary_evidence_is_not_harmed(text: str) -> None:
    assert redact(text) == text


def test_a_masked_command_is_still_the_same_command_for_a_shell() -> None:
    clean = redact(f"docker run -e HF_TOKEN={HF} --gpus all image vllm serve m --api-key {PLAIN} --port 8000")
    assert shlex.split(clean) == [
        "docker", "run", "-e", "HF_TOKEN=[secret: HF token]", "--gpus", "all", "image",
        "vllm", "serve", "m", "--api-key", "[secret: API key]", "--port", "8000",
    ]  # fmt: skip


def test_masked_yaml_and_json_keep_their_shape() -> None:
    compose = f"environment:\n  - HF_TOKEN={HF}\n  - NCCL_DEBUG=INFO\nother:\n  HF_TOKEN: {HF}\n  DB_PASSWORD: a b\n"
    assert yaml.safe_load(redact(compose)) == {
        "environment": ["HF_TOKEN=[secret: HF token]", "NCCL_DEBUG=INFO"],
        "other": {"HF_TOKEN": "[secret: HF token]", "DB_PASSWORD": "[secret: password]"},
    }
    arguments = ["serve", "--api-key", PLAIN]
    inspected = {"Config": {"Env": [f"HF_TOKEN={HF}", "A=1"]}, "Args": arguments, "password": 'x"y\\'}
    assert json.loads(redact(json.dumps(inspected, indent=1))) == {
        "Config": {"Env": ["HF_TOKEN=[secret: HF token]", "A=1"]},
        "Args": ["serve", "--api-key", "[secret: API key]"],
        "password": "[secret: password]",
    }
    assert redact_data(inspected) == json.loads(redact(json.dumps(inspected)))


def test_text_without_secrets_is_handed_back_as_it_is() -> None:
    text = "INFO 11-30 16:45:47 Engine 000: Avg prompt throughput: 1.0 tokens/s\n" * 100
    assert redact(text) is text


def test_headers_and_urls() -> None:
    sent = {"Authorization": "Bearer abc", "X-Api-Key": "k", "Server": "uvicorn", "Set-Cookie": "a=b"}
    headers = redact_headers(sent)
    assert headers == {
        "authorization": "[secret: authorization]",
        "x-api-key": "[secret: API key]",
        "server": "uvicorn",
        "set-cookie": "[secret: cookie]",
    }
    assert redact_headers(headers) == headers
    assert redact_url("http://me:pw@spark-a:8000/v1") == "http://spark-a:8000/v1"
    assert redact_url("spark-a:8000") == "spark-a:8000"
    assert PLAIN not in redact_url(f"https://spark-a/v1?api_key={PLAIN}&model=m")
    assert "model=m" in redact_url(f"https://spark-a/v1?api_key={PLAIN}&model=m")


def test_data_nested_too_deep_is_cut_and_does_not_crash() -> None:
    data: object = {"api_key": PLAIN}
    for _ in range(5000):
        data = [data]
    assert PLAIN not in repr(redact_data(data))[:100_000]


FRAGMENTS = st.sampled_from(
    [
        "HF_TOKEN", "api_key", "--api-key", "password", "Authorization", "Bearer ", "token", "secret", "auth",
        "=", ": ", ":", " ", "\n", '"', "'", "\\", "\\n", ",", "[", "]", "{", "}", "- ", "://", "@", "$", "&", "?", ";",
        HF, OPENAI, PLAIN, "abc", "12", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "#", "cookie",
        "[secret: HF token]",
        "value", "login ", "-p ", "curl ", "-u ", "a:b", "dXNlcjpwYXNz", "\r", "\u2028", "İ", "\x00", "`", "(", ")",
    ]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(FRAGMENTS, max_size=24).map("".join))
@example('"[secret: API key]": "x" [secret: ')
@example("İ" * 3 + f"HF_TOKEN={HF}")
def test_redaction_is_idempotent_and_keeps_lines(text: str) -> None:
    clean = redact(text)
    assert redact(clean) == clean
    assert len(f"{clean}.".splitlines()) == len(f"{text}.".splitlines())
    assert re.search(rf"(?<![\w-])(?:{HF}|{OPENAI})", clean) is None


HOSTILE = [
    "token=", '"api_key": "', "password: ", "-----BEGIN PRIVATE KEY-----", "curl ", "--api-key \\\n", "authorization: ",
    "login ", "x_pwd", "://", "://a:", "Bearer 1", "${KEY:", "[secret: ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_linear_on_hostile_text(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    small = min(seconds(60_000) for _ in range(3))
    large = min(seconds(480_000) for _ in range(3))
    assert large < 8 * 7 * max(small, 0.02), "8 times the text may take 8 times the time, not 64"


def test_clean_text_costs_next_to_nothing() -> None:
    line = "[2026-11-30 12:00:00] Decode batch, #running-req: 4, #token: 1234, token usage: 0.36, accept len: 1.2\n"
    text = line * (2_000_000 // len(line))
    started = time.process_time()
    assert redact(text) is text
    assert time.process_time() - started < 6


def test_hosts_and_addresses_are_numbered_the_same_everywhere() -> None:
    texts = [
        "GET http://spark-a.lan:8000/v1/models from 192.168.10.246",
        "192.168.10.245 answered, spark-a.lan did not; 10.0.0.7 neither; 192.168.10.246 again",
        "listening on 0.0.0.0:8000 and 127.0.0.1, [::1]:8000; fe80::1 and 2a01:4f8::12",
    ]
    anonymizer = Anonymizer()
    for text in texts:
        anonymizer.learn(text)
    assert [anonymizer.apply(text) for text in texts] == [
        "GET http://host-1.example:8000/v1/models from 192.0.2.1",
        "192.0.2.2 answered, host-1.example did not; 198.51.100.1 neither; 192.0.2.1 again",
        "listening on 0.0.0.0:8000 and 127.0.0.1, [::1]:8000; 2001:db8::1 and 2001:db8::2",
    ]


def test_named_targets_are_numbered_and_other_words_are_left() -> None:
    anonymizer = Anonymizer(["spark-a"])
    anonymizer.learn("curl http://vllm:8000/health; ssh me@head:~/x; see https://huggingface.co/x")
    text = "spark-a: vllm serve; http://vllm:8000/health; cd head; https://huggingface.co/x; /models/spark-a"
    assert anonymizer.apply(text) == text.replace("spark-a:", "host-1.example:").replace("//vllm:", "//host-2.example:")


def test_what_only_looks_like_an_address_stays() -> None:
    text = "version 580.95.05, torch 2.13.0, c10::bad, std::vector, at 08:19:31, 255.255.255.0, mac aa:bb:cc:dd:ee:ff"
    assert Anonymizer().apply(text) == text


def test_a_network_stays_a_network_and_link_local_stays_link_local() -> None:
    anonymizer = Anonymizer()
    assert anonymizer.apply("192.168.10.0/24 has 192.168.10.9; 169.254.3.4 is stale") == (
        "192.0.2.0/24 has 192.0.2.1; 169.254.1.1 is stale"
    )
