"""Launch facts out of commands, scripts, units, compose files, recipes, and arguments as programs print them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkdiag.facts.launch import Launch
from sparkdiag.observe.launch import observe_launch
from sparkdiag.observe.launch_printed import args_of_line
from sparkdiag.observe.transcript import read_text


def launches(text: str) -> list[Launch]:
    found = [fact for piece in read_text(text) for fact in observe_launch(piece)]
    return [fact for fact in found if isinstance(fact, Launch)]


def only(text: str) -> Launch:
    (launch,) = launches(text)
    return launch


@pytest.mark.parametrize(
    ("command", "form", "engine", "model", "flags"),
    [
        (
            "vllm serve a/b --max-model-len 128k --tensor-parallel-size=2 --enforce-eager --swap-space 0.5",
            "vllm-serve",
            "vllm",
            "a/b",
            {"max_model_len": 128000, "tensor_parallel_size": 2, "enforce_eager": True, "swap_space": 0.5},
        ),
        ("vllm serve --trust-remote-code a/b -tp 2", "vllm-serve", "vllm", "a/b", {"tensor_parallel_size": 2}),
        (
            "vllm serve a/b --no-enable-prefix-caching --served-model-name x y --swap-space -1",
            "vllm-serve",
            "vllm",
            "a/b",
            {
                "no_enable_prefix_caching": True,
                "enable_prefix_caching": False,
                "served_model_name": ("x", "y"),
                "swap_space": -1,
            },
        ),
        (
            'vllm serve a/b --speculative-config \'{"method": "mtp", "num_speculative_tokens": 3}\'',
            "vllm-serve",
            "vllm",
            "a/b",
            {"speculative_config.method": "mtp", "speculative_config.num_speculative_tokens": 3},
        ),
        ("vllm serve a/b --compilation-config.mode 0", "vllm-serve", "vllm", "a/b", {"compilation_config.mode": 0}),
        ("python3 -m vllm.entrypoints.openai.api_server --model a/b", "vllm-serve", "vllm", "a/b", {"model": "a/b"}),
        (
            "python -m sglang.launch_server --model-path a/b --tp 2 --context-length 32768",
            "sglang",
            "sglang",
            "a/b",
            {"tp_size": 2, "tensor_parallel_size": 2, "context_length": 32768},
        ),
        ("sglang serve --model a/b", "sglang", "sglang", "a/b", {"model_path": "a/b"}),
        ("ray start --head --port=6379 --block", "ray-start", None, None, {"head": True, "port": 6379, "block": True}),
        ("sparkrun run r.yaml --hosts a,b", "sparkrun-run", "sparkrun", None, {"recipe": "r.yaml", "hosts": "a,b"}),
        ("nohup vllm serve a/b --port 1 > log 2>&1 &", "vllm-serve", "vllm", "a/b", {"port": 1}),
        ("cd /x && HF_HUB_OFFLINE=1 vllm serve a/b", "vllm-serve", "vllm", "a/b", {}),
        ("docker exec -it llm bash -c 'vllm serve a/b --port 1'", "vllm-serve", "vllm", "a/b", {"port": 1}),
    ],
)
def test_commands(command: str, form: str, engine: str | None, model: str | None, flags: dict[str, Any]) -> None:
    launch = only(f"$ {command}\n")
    assert (launch.form, launch.engine, launch.model) == (form, engine, model)
    assert {name: launch.get(f"flag.{name}") for name in flags} == flags


def test_docker_options_environment_and_arguments() -> None:
    launch = only(
        "$ docker run -d --name llm --gpus all --ipc=host --shm-size 16gb -e VLLM_HOST_IP=192.0.2.10 -e HF_HOME \\\n"
        "    -v /models:/models -p 8000:8000 --network host --privileged --user 1000:1000 --restart unless-stopped \\\n"
        "    vllm/vllm-openai:v0.28.0 --model a/b --max-model-len 4096\na91c3bd5d0aa\n"
    )
    assert (launch.form, launch.engine, launch.image) == ("docker-run", "vllm", "vllm/vllm-openai:v0.28.0")
    assert (launch.model, launch.get("flag.max_model_len"), launch.where.container) == ("a/b", 4096, "llm")
    assert launch.get("env.VLLM_HOST_IP") == "192.0.2.10"
    assert launch.get("env.HF_HOME") == "(from the caller's environment)"
    wanted = {
        "gpus": "all",
        "ipc": "host",
        "shm_size": 16 * 2**30,
        "volume": ("/models:/models",),
        "publish": ("8000:8000",),
        "network": "host",
        "privileged": True,
        "user": "1000:1000",
        "restart": "unless-stopped",
        "detach": True,
    }
    assert {name: launch.get(f"docker.{name}") for name in wanted} == wanted


@pytest.mark.parametrize(
    ("command", "engine", "model", "inner"),
    [
        ("docker run img serve", None, None, "serve"),
        ("docker run vllm/vllm-openai:v0.28.0 a/b --port 1", "vllm", "a/b", "a/b --port 1"),
        ("docker run vllm/vllm-openai:v0.28.0 vllm serve a/b", "vllm", "a/b", "vllm serve a/b"),
        ("docker run -it vllm-node bash", "vllm", None, "bash"),
        ("docker run lmsysorg/sglang:v0.5.2 python3 -m sglang.launch_server --model a/b", "sglang", "a/b", None),
        ("docker run --entrypoint python3 vllm/vllm-openai:v1 -c 'import vllm'", "vllm", None, "-c import vllm"),
        ("docker run nvcr.io/nvidia/vllm:25.12-py3 python3 -c 'import vllm'", "vllm", None, "python3 -c import vllm"),
    ],
)
def test_what_a_container_is_to_run(command: str, engine: str | None, model: str | None, inner: str | None) -> None:
    launch = only(f"$ {command}\n")
    assert (launch.engine, launch.model) == (engine, model)
    assert inner is None or launch.get("docker.command") == inner


def test_a_script_with_its_variables() -> None:
    launch = only(
        "#!/bin/bash\nset -e\n# the network\nexport NCCL_SOCKET_IFNAME=enp1s0f0np0\nexport A=$B\n\n"
        "vllm serve a/b \\\n  --port 8000 \\\n  # a remark\n  --max-num-seqs 4\n"
    )
    assert launch.get("env.NCCL_SOCKET_IFNAME") == "enp1s0f0np0"
    assert (launch.get("flag.port"), launch.get("flag.max_num_seqs"), launch.source.line) == (8000, 4, 7)


def test_an_environment_file_alone() -> None:
    launch = only("VLLM_HOST_IP=192.0.2.10\nGLOO_SOCKET_IFNAME=enp1s0f0np0\n")
    assert (launch.form, launch.partial, launch.get("env.VLLM_HOST_IP")) == ("env", True, "192.0.2.10")


def test_a_unit() -> None:
    launch = only(
        '[Unit]\nDescription=x\n[Service]\nEnvironment="A_B=1" C_D=2\nTimeoutStartSec=90\n'
        "ExecStart=/opt/bin/vllm serve a/b --port 1\nRestart=always\n"
    )
    assert (launch.form, launch.model, launch.get("flag.port")) == ("unit", "a/b", 1)
    assert (launch.get("env.A_B"), launch.get("env.C_D")) == (1, 2)
    assert (launch.get("docker.unit_restart"), launch.get("docker.unit_timeoutstartsec")) == ("always", 90)


COMPOSE = """services:
  llm:
    image: vllm/vllm-openai:v0.28.0
    ipc: host
    shm_size: 8gb
    network_mode: host
    environment:
      - HF_HOME=/models/hf
      - VLLM_LOGGING_LEVEL=DEBUG
    volumes: [/models:/models]
    deploy:
      resources:
        reservations:
          devices: [{driver: nvidia, count: all, capabilities: [gpu]}]
    command: >
      --model a/b
      --max-model-len 65536
      --speculative-config '{"method":"dflash","num_speculative_tokens":7}'
  proxy:
    image: nginx
"""


def test_a_compose_file_gives_one_launch_a_service() -> None:
    llm, proxy = launches(COMPOSE)
    assert (llm.form, llm.engine, llm.model, llm.where.container, llm.source.line) == (
        "compose",
        "vllm",
        "a/b",
        "llm",
        2,
    )
    assert (llm.get("flag.max_model_len"), llm.get("flag.speculative_config.num_speculative_tokens")) == (65536, 7)
    assert (llm.get("env.HF_HOME"), llm.get("docker.shm_size"), llm.get("docker.network")) == (
        "/models/hf",
        2**33,
        "host",
    )
    assert (llm.get("docker.gpus"), proxy.get("docker.gpus")) == ("all", None)
    assert (proxy.engine, proxy.image) == (None, "nginx")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("grep image compose.yml", "    image: vllm/vllm-openai:v0.28.0"),
        ("grep -n image compose.yml", "3:    image: vllm/vllm-openai:v0.28.0"),
        (
            "docker compose config | sed -n '/image/,/x/p'",
            "    image: vllm/vllm-openai:v0.28.0\n    command: [bash, -c, x]",
        ),
    ],
)
def test_a_part_of_a_compose_file(command: str, output: str) -> None:
    launch = only(f"$ {command}\n{output}\n")
    assert (launch.form, launch.image, launch.partial) == ("compose", "vllm/vllm-openai:v0.28.0", True)


RECIPE = """model: a/b
runtime: vllm-distributed
container: vllm/vllm-openai:cu130-nightly
min_nodes: 2
defaults:
  port: 8000
  tensor_parallel: 2
  max_model_len: 4096
env:
  NCCL_DEBUG: INFO
executor_config:
  ipc: shareable
command: |
  vllm serve {model} \\
    --port {port} -tp {tensor_parallel}
"""


def test_a_recipe_with_its_defaults_filled_in() -> None:
    launch = only(RECIPE)
    assert (launch.form, launch.engine, launch.model, launch.runtime) == ("recipe", "vllm", "a/b", "vllm-distributed")
    flags = {
        name: launch.get(f"flag.{name}")
        for name in ("port", "tensor_parallel_size", "max_model_len", "recipe_min_nodes")
    }
    assert flags == {"port": 8000, "tensor_parallel_size": 2, "max_model_len": 4096, "recipe_min_nodes": 2}
    assert (launch.get("env.NCCL_DEBUG"), launch.get("docker.ipc")) == ("INFO", "shareable")
    assert only(RECIPE.replace("vllm-distributed", "sglang").split("command:")[0]).engine == "vllm"
    assert only("model: a/b\nruntime: sglang\ncontainer: img\n").engine == "sglang"


@pytest.mark.parametrize(
    ("command", "output", "partial", "flags"),
    [
        (
            "docker inspect llm --format '{{json .Args}}'",
            '["--model","a/b","--max-model-len","4096"]',
            False,
            {"max_model_len": 4096},
        ),
        ("docker inspect llm --format '{{join .Args \" \"}}'", "serve a/b --port 1", False, {"port": 1}),
        (
            "docker inspect llm --format '{{join .Args \" \"}}'",
            '--model a/b --reasoning-config {"a": "<think> x"} --port 1',
            False,
            {"reasoning_config.a": "<think> x", "port": 1},
        ),
        (
            "docker inspect llm --format '{{join .Args \" \"}}' | grep -o -e '--port [0-9]*'",
            "--port 1",
            True,
            {"port": 1},
        ),
        (
            "ps -eo args | grep vllm",
            "/usr/bin/python3 -u -m vllm.entrypoints.openai.api_server --model a/b\ngrep vllm",
            False,
            {"model": "a/b"},
        ),
        (
            "ps -o args= -C vllm | tr ' ' '\\n' | grep -A1 tool",
            "--tool-call-parser\nhermes",
            True,
            {"tool_call_parser": "hermes"},
        ),
        (
            "ps -eo args | grep -o 'num_speculative_tokens\":[0-9]*'",
            'num_speculative_tokens":7',
            True,
            {"speculative_config.num_speculative_tokens": 7},
        ),
        ("cat /proc/9/cmdline | tr '\\0' ' '", "vllm serve a/b --port 1", False, {"port": 1}),
    ],
)
def test_arguments_that_a_command_prints(command: str, output: str, partial: bool, flags: dict[str, Any]) -> None:
    launch = only(f"$ {command}\n{output}\n")
    assert (launch.form, launch.partial) == ("args", partial)
    assert {name: launch.get(f"flag.{name}") for name in flags} == flags


def test_an_environment_that_a_command_prints() -> None:
    launch = only("$ docker exec head env | grep NCCL\nNCCL_DEBUG=INFO\nNCCL_IB_HCA=rocep1s0f0\n")
    assert (launch.form, launch.where.container, launch.get("env.NCCL_IB_HCA")) == ("env", "head", "rocep1s0f0")
    launch = only(
        "$ docker inspect llm --format '{{range .Config.Env}}{{println .}}{{end}}' | grep OFF\nHF_HUB_OFFLINE=1\n"
    )
    assert (launch.where.container, launch.get("env.HF_HUB_OFFLINE")) == ("llm", 1)


def test_the_whole_of_docker_inspect() -> None:
    entry = {
        "Name": "/llm",
        "Path": "vllm",
        "Args": ["serve", "a/b", "--port", "1"],
        "Config": {"Image": "vllm/vllm-openai:v0.28.0", "Env": ["A_B=1"], "User": "1000"},
        "HostConfig": {
            "IpcMode": "host", "NetworkMode": "host", "ShmSize": 67108864, "Privileged": False,
            "RestartPolicy": {"Name": "always"}, "DeviceRequests": [{"Driver": ""}],
        },
    }  # fmt: skip
    launch = only(f"$ docker inspect llm\n{json.dumps([entry], indent=4)}\n")
    assert (launch.model, launch.image, launch.where.container) == ("a/b", "vllm/vllm-openai:v0.28.0", "llm")
    wanted = {
        "ipc": "host",
        "shm_size": 67108864,
        "privileged": False,
        "restart": "always",
        "gpus": "all",
        "user": "1000",
    }
    assert {name: launch.get(f"docker.{name}") for name in wanted} == wanted
    assert (launch.get("env.A_B"), launch.get("flag.port")) == (1, 1)


@pytest.mark.parametrize(
    ("line", "engine", "flags"),
    [
        (
            "non-default args: {'model': 'a/b', 'served_model_name': ['x'], 'spec': {'k': 7}, 'c': <E.F: 'g'>}",
            "vllm",
            {"model": "a/b", "served_model_name": "x", "spec.k": 7, "c": "g"},
        ),
        (
            "server_args=ServerArgs(model_path='a/b', tp_size=2, f=None, m=0.8, s='x, y', l=[1, 2], d={'a': 1})",
            "sglang",
            {"model_path": "a/b", "tp_size": 2, "m": 0.8, "s": "x, y", "l": ("1", "2"), "f": None},
        ),
        ("server_args=ServerArgs(model_path='a/b', tp_size=2, cut='and the li", "sglang", {"tp_size": 2}),
    ],
)
def test_arguments_that_engines_print(line: str, engine: str, flags: dict[str, Any]) -> None:
    shown = args_of_line(line)
    assert shown is not None
    assert shown.engine == engine
    assert {name: shown.flags.get(name) for name in flags} == flags


@pytest.mark.parametrize(
    "line", ["non-default args: {", "server_args=ServerArgs(", "non-default args: {'a': " + "[" * 5000, "x"]
)
def test_damaged_arguments_are_no_failure(line: str) -> None:
    assert args_of_line(line) is None or args_of_line(line).flags is not None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "$ docker ps\nCONTAINER ID\n",
        "$ docker logs llm\nvllm serve: error: unrecognized arguments\n",
        "$ nvidia-smi -L\nGPU 0: NVIDIA GB10\n",
        "$ ps aux\nroot 1 0.0 /sbin/init\n",
        "$ docker image inspect i --format '{{.Os}}'\nlinux\n",
        "model card says: a\n",
    ],
)
def test_what_is_no_launch(text: str) -> None:
    assert launches(text) == []


def test_secrets_are_masked_whatever_holds_them() -> None:
    secret = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
    for text in (
        f"$ HF_TOKEN={secret} vllm serve a/b --api-key {secret}\n",
        f"$ docker run -e HF_TOKEN={secret} vllm/vllm-openai:v1 --model a/b\n",
        f"services:\n  llm:\n    image: vllm\n    environment: {{HF_TOKEN: {secret}}}\n    command: --model a/b\n",
    ):
        assert secret not in str(only(text).to_dict())


def test_a_masked_secret_is_one_word() -> None:
    launch = only("$ vllm serve --api-key [secret: API key] a/b\n")
    assert launch.model == "a/b"
    assert "secret" in str(launch.get("flag.api_key"))


def test_yaml_that_would_grow_without_end_is_left_alone() -> None:
    bomb = "services:\n  b0: &b0 [x,x,x,x,x,x,x,x,x]\n"
    for n in range(1, 60):
        bomb += f"  b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n"
    assert all(launch.image is None for launch in launches(bomb))
