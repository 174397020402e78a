"""The node's own commands into facts: memory, GPU, processes, containers, reachability, counted searches."""

from __future__ import annotations

from typing import Any

import pytest

from sparkdiag.facts import Fact
from sparkdiag.facts.piece import Piece
from sparkdiag.observe.outputs.engines import engine_of, role_of
from sparkdiag.observe.outputs.exits import observe_exits
from sparkdiag.observe.outputs.lines import lines_with
from sparkdiag.observe.outputs.node import LARGE_LOG, observe_node
from sparkdiag.observe.outputs.reach import observe_failed_request


def facts(text: str, command: str | None = None, kind: str = "output", **meta: Any) -> list[Fact]:
    return observe_node(Piece(kind, text, command=command, meta=meta))


def only(found: list[Fact], kind: str) -> list[Fact]:
    return [fact for fact in found if fact.kind == kind]


def one(text: str, command: str | None, kind: str, **meta: Any) -> Fact:
    (fact,) = only(facts(text, command, **meta), kind)
    return fact


def values(fact: Fact, *names: str) -> tuple[Any, ...]:
    return tuple(fact.get(name) for name in names)


FREE = """               total        used        free      shared  buff/cache   available
Mem:           121Gi       5.1Gi       1.5Gi       7.2Mi       116Gi       116Gi
Swap:           15Gi       3.0Gi        12Gi"""


def test_free_with_units_and_swap() -> None:
    fact = one(FREE, "free -h", "memory")
    assert values(fact, "total_gib", "free_gib", "available_gib", "reclaimable_gib") == (121.0, 1.5, 116.0, 114.5)
    assert values(fact, "swap_total_gib", "swap_used_gib", "swap_share") == (15.0, 3.0, 0.2)
    assert fact.source.line == 2


@pytest.mark.parametrize(
    ("command", "row", "total"),
    [
        ("free -g", "Mem: 121 6 104 0 11 115", 121.0),
        ("free -m", "Mem: 124611 6144 106496 0 11264 117760", 121.69),
        ("free", "Mem: 127601452 6291456 109051904 0 11534336 120586240", 121.69),
        (None, "Mem: 127601452 6291456 109051904 0 11534336 120586240", 121.69),
        (None, "Mem: 124611 6144 106496 0 11264 117760", 121.69),
        ("free -b", "Mem: 130663886848 6442450944 111669149696 0 11811160064 123480309760", 121.69),
    ],
)
def test_free_in_the_unit_that_was_asked_for(command: str | None, row: str, total: float) -> None:
    assert one(row, command, "memory").get("total_gib") == total


def test_awk_keeps_one_column_of_free() -> None:
    fact = one("37", "free -g | awk '/^Mem/ {print $7}'", "memory")
    assert values(fact, "available_gib", "free_gib") == (37.0, None)


def test_meminfo_knows_what_is_in_no_category() -> None:
    text = """MemTotal:       127600816 kB
MemFree:         3139656 kB
MemAvailable:   40174336 kB
Buffers:           13252 kB
Cached:         37694160 kB
AnonPages:       1712244 kB
KReclaimable:     477572 kB
SUnreclaim:       520360 kB
VmallocUsed:      101620 kB
SwapTotal:      16777212 kB
SwapFree:        8388606 kB"""
    fact = one(text, "cat /proc/meminfo", "memory")
    assert values(fact, "free_gib", "available_gib") == (2.99, 38.31)
    unaccounted = fact.get("unaccounted_gib")
    assert isinstance(unaccounted, float)
    assert 75 < unaccounted < 85
    assert fact.get("swap_share") == 0.5


def test_two_looks_at_meminfo_are_two_samples() -> None:
    text = "MemFree: 100 kB\nMemAvailable: 2097152 kB\nMemFree: 100 kB\nMemAvailable: 1048576 kB"
    assert [fact.get("available_gib") for fact in only(facts(text), "memory")] == [2.0, 1.0]


def test_top_vmstat_and_sar() -> None:
    top = """MiB Mem : 124611.2 total,    611.9 free, 122612.0 used,   1387.3 buff/cache
MiB Swap:  16384.0 total,     11.2 free,  16372.8 used.    801.4 avail Mem
    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
    112 root      20   0       0      0      0 R  98.7   0.0  14:02.11 kswapd0"""
    found = facts(top, "top -b -n 1")
    assert [fact.get("available_gib") for fact in only(found, "memory")] == [0.78]
    assert [values(fact, "name", "cpu_percent") for fact in only(found, "process")] == [("kswapd0", 98.7)]
    vmstat = """procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
12 31 9437184 1048576   3    811 9100 12000  9120  8112 9012 8112  3 61  1 35  0"""
    fact = one(vmstat, "vmstat 5 1", "memory")
    assert values(fact, "free_gib", "swap_used_gib", "swapping") == (1.0, 9.0, True)
    sar = """12:00:01 AM kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached
03:10:01 AM   1048576  41943040  12345678     10.00      1000     20000"""
    assert one(sar, "sar -r", "memory").get("available_gib") == 40.0
    assert one("03:10:01 41943040", "sar -r | tail -1 | awk '{print $1,$4}'", "memory").get("available_gib") == 40.0


@pytest.mark.parametrize(
    ("line", "available"),
    [
        ("[monitor] 13:05:44 MemAvailable  61.2 GiB", 61.2),
        ("earlyoom[9]: mem avail:  2048 of 121695 MiB ( 1.68%), swap free: 0 of 0 MiB", 2.0),
        ("available memory dropped to ~7.0 GiB during profile_run", 7.0),
        ("host available = 512 MiB", 0.5),
    ],
)
def test_lines_of_watching_scripts(line: str, available: float) -> None:
    assert one(line, None, "memory").get("available_gib") == available


@pytest.mark.parametrize(
    "line",
    [
        "INFO [gpu_worker.py:456] Available KV cache memory: 9.50 GiB",
        "Free memory on device cuda:0 (76.72/121.63 GiB) on startup is less than desired GPU memory utilization",
        "[2026-10-02 15:00:01] Load weight end. elapsed=92.10 s, avail mem=3.12 GB, mem usage=34.50 GB.",
        "larger than the available KV cache memory (9.50 GiB)",
        "Initial free memory 98.0 GiB, current free memory 100.59 GiB",
    ],
)
def test_the_engines_own_figures_are_no_samples_of_the_node(line: str) -> None:
    assert only(facts(line, kind="log"), "memory") == []


def test_a_table_of_samples() -> None:
    text = "| ts | MemAvailable | used |\n|---|---|---|\n| 14:02:10 | 28.971 | 92.7 |\n| 14:02:19 | 10.605 | 111.0 |"
    assert [fact.get("available_gib") for fact in only(facts(text, kind="text"), "memory")] == [28.97, 10.61]


def test_pressure_is_one_fact_of_two_lines() -> None:
    text = "some avg10=71.20 avg60=64.02 avg300=31.10 total=9\nfull avg10=58.44 avg60=51.90 avg300=22.75 total=7"
    fact = one(text, "cat /proc/pressure/memory", "pressure")
    assert values(fact, "some_avg10", "full_avg10", "full_avg60") == (71.2, 58.44, 51.9)
    assert only(facts(text, "cat /proc/pressure/io"), "pressure") == []


# -- GPU ------------------------------------------------------------------------------------------------------------


def test_the_table_of_a_gb10() -> None:
    text = """|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   44C    P0             11W /  N/A  | Not Supported          |      3%      Default |
|    0   N/A  N/A           34988      G   /usr/lib/xorg/Xorg                       69MiB |
|    0   N/A  N/A         3454041      C   VLLM::EngineCore                      58450MiB |"""
    found = facts(text, "nvidia-smi")
    (gpu,) = only(found, "gpu")
    assert values(gpu, "name", "power_w", "utilization", "temperature_c", "pstate") == (
        "NVIDIA GB10",
        11.0,
        3.0,
        44.0,
        "P0",
    )
    assert gpu.get("memory_reported") is False
    assert [values(p, "pid", "engine", "role", "memory_gib") for p in only(found, "process")] == [
        (34988, None, None, 0.07),
        (3454041, "vllm", "core", 57.08),
    ]


def test_query_by_command_and_by_heading() -> None:
    by_command = one(
        "96 %, 21.80 W, 41, 2411 MHz",
        "nvidia-smi --query-gpu=utilization.gpu,power.draw,temperature.gpu,clocks.sm --format=csv,noheader",
        "gpu",
    )
    by_heading = one(
        "utilization.gpu [%], power.draw [W], temperature.gpu, clocks.current.sm [MHz]\n96 %, 21.80 W, 41, 2411 MHz",
        None,
        "gpu",
    )
    names = ("utilization", "power_w", "temperature_c", "sm_clock_mhz")
    assert values(by_command, *names) == values(by_heading, *names) == (96.0, 21.8, 41.0, 2411.0)


@pytest.mark.parametrize(
    ("mask", "word"),
    [("0x0000000000000000", "none"), ("0x0000000000000001", "idle"), ("0x0000000000000004", "power"),
    ("0x0000000000000024", "thermal"),
     ("0x0000000000000008", "hardware"), ("0x0000000000000002", "setting"), ("[N/A]", None)],
)  # fmt: skip
def test_throttle_masks_in_one_word(mask: str, word: str | None) -> None:
    fact = one(
        f"50 %, {mask}",
        "nvidia-smi --query-gpu=utilization.gpu,clocks_event_reasons.active --format=csv,noheader",
        "gpu",
    )
    assert fact.get("throttle") == word


def test_a_wedged_driver_and_a_memory_question() -> None:
    command = "nvidia-smi --query-gpu=temperature.gpu,clocks.sm,power.draw --format=csv,noheader"
    assert one("43, [N/A], N/A", command, "gpu").get("wedged") is True
    memory = "nvidia-smi --query-gpu=memory.used,memory.total --format=csv,noheader"
    assert values(one("[N/A], [N/A]", memory, "gpu"), "memory_reported", "memory_asked") == (False, True)
    card = one("41233 MiB, 97887 MiB", memory, "gpu")
    assert values(card, "memory_reported", "memory_used_gib", "memory_total_gib") == (True, 40.27, 95.59)


def test_compute_apps_and_dmon() -> None:
    apps = "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv,noheader,nounits"
    fact = one("GPU-0, 114687, sglang::scheduler_TP0, 19135", apps, "process")
    assert values(fact, "pid", "engine", "role", "memory_gib") == (114687, "sglang", "core", 18.69)
    dmon = """# gpu    pwr  gtemp  mtemp     sm    mem   pclk
# Idx      W      C      C      %      %    MHz
    0     14     46      -     96      0    507"""
    assert values(one(dmon, "nvidia-smi dmon -c 1", "gpu"), "power_w", "utilization", "sm_clock_mhz") == (
        14.0,
        96.0,
        507.0,
    )


# -- processes and cores --------------------------------------------------------------------------------------------


def test_rows_of_ps() -> None:
    aux = "root  8841 31.0 33.7 151200000 42991616 ?  Dl 03:00 52:11 VLLM::EngineCore"
    assert values(one(aux, "ps aux | grep VLLM", "process"), "pid", "state", "memory_gib", "engine") == (
        8841,
        "Dl",
        41.0,
        "vllm",
    )
    listed = "    PID    PPID COMMAND\n   7741       1 VLLM::EngineCore\n   7800    7741 python3 -m http.server"
    found = only(facts(listed, "ps -eo pid,ppid,args"), "process")
    assert [values(p, "pid", "ppid", "orphan") for p in found] == [(7741, 1, True), (7800, 7741, False)]
    bare = one("7741 1 VLLM::EngineCore", "ps -eo pid,ppid,args --no-headers", "process")
    assert values(bare, "pid", "orphan") == (7741, True)


def test_busy_cores() -> None:
    rows = "Average:     {}   {}    0.00    0.20    0.00    0.00    0.00    0.00    0.00    0.00   {}"
    kept = "\n".join(rows.format(core, "99.80", " 0.00") for core in (5, 7, 16))
    fact = one(kept, "mpstat -P ALL 5 1 | awk '$4>90'", "cpu")
    assert values(fact, "busy_cores", "cores") == (3, None)
    whole = kept + "\n" + rows.format(6, " 1.00", "98.80") + "\n" + rows.format("all", "60.00", "40.00")
    assert values(one(whole, "mpstat -P ALL 5 1", "cpu"), "busy_cores", "cores") == (3, 4)
    assert one("95000", "cat /sys/class/thermal/thermal_zone0/temp", "temperature").get("celsius") == 95.0


@pytest.mark.parametrize(
    ("text", "engine", "role"),
    [
        ("vllm serve acme/M --port 8000", "vllm", "api"),
        ("VLLM::Worker_TP0", "vllm", "worker"),
        ("python3 -m sglang.launch_server --model-path m", "sglang", "api"),
        ("/usr/bin/llama-server -m m.gguf", "llama.cpp", "core"),
        ("ghcr.io/huggingface/text-embeddings-inference:1.8", "tei", None),
        ("grep --color=auto vllm", None, None),
        ("docker logs vllm-1", None, None),
        ("/usr/lib/xorg/Xorg", None, None),
    ],
)
def test_which_server_a_process_belongs_to(text: str, engine: str | None, role: str | None) -> None:
    assert (engine_of(text), role_of(text)) == (engine, role)


def test_processes_on_several_cards_hold_no_one_pool() -> None:
    table = """|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|    {}   N/A  N/A            1001      C   VLLM::EngineCore                          30000MiB |
|    {}   N/A  N/A            1002      C   VLLM::EngineCore                          40000MiB |"""
    for second, sizes in ((0, [29.3, 39.06]), (1, [None, None])):
        found = only(facts(table.format(0, second), "nvidia-smi"), "process")
        assert [fact.get("memory_gib") for fact in found] == sizes


# -- containers -----------------------------------------------------------------------------------------------------


def test_docker_ps_in_its_default_table() -> None:
    text = """CONTAINER ID   IMAGE                        COMMAND                 STATUS                       NAMES
0a1b2c3d4e5f   vllm/vllm-openai:nightly     "vllm serve acme/Old…"  Up 9 hours (healthy)         old-llm
1a1b2c3d4e5f   acme/embedder:1              "python3 serve.py"      Exited (137) 3 minutes ago   embedder"""
    first, second = only(facts(text, "docker ps -a"), "container")
    assert values(first, "name", "state", "health", "up_seconds", "engine") == (
        "old-llm",
        "running",
        "healthy",
        32400.0,
        "vllm",
    )
    assert values(second, "name", "state", "exit_code", "engine") == ("embedder", "exited", 137, None)


def test_docker_compose_ps_in_its_default_table() -> None:
    text = """NAME    IMAGE               COMMAND                  SERVICE   CREATED         STATUS
llm-1   acme/engine:v0.19   "vllm serve vllm ser…"   llm       2 minutes ago   Exited (2) 2 minutes ago"""
    found = one(text, "docker compose ps -a", "container")
    assert values(found, "name", "state", "exit_code", "command") == ("llm-1", "exited", 2, "vllm serve vllm ser…")


def test_docker_ps_through_a_template() -> None:
    found = only(
        facts(
            "chat\tUp 41 seconds\nworker\tRestarting (1) 5 seconds ago", r"docker ps --format '{{.Names}}\t{{.Status}}'"
        ),
        "container",
    )
    assert [values(c, "name", "state", "exit_code", "up_seconds") for c in found] == [
        ("chat", "running", None, 41.0), ("worker", "restarting", 1, None),
    ]  # fmt: skip
    row = '{"Image":"vllm/vllm-openai:v0.24.0","Names":"llm","State":"running","Status":"Up 2 days"}'
    assert values(one(row, "docker ps --format json", "container"), "name", "image", "state", "up_seconds") == (
        "llm", "vllm/vllm-openai:v0.24.0", "running", 172800.0,
    )  # fmt: skip


def test_docker_inspect_through_a_template() -> None:
    fact = one(
        "exited 137 true",
        "docker inspect llm --format '{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}}'",
        "container",
    )
    assert values(fact, "name", "state", "exit_code", "oom_killed") == ("llm", "exited", 137, True)
    fact = one(
        "private 67108864", "docker inspect -f '{{.HostConfig.IpcMode}} {{.HostConfig.ShmSize}}' llm", "container"
    )
    assert values(fact, "name", "ipc", "shm_gib") == ("llm", "private", 0.0625)
    fact = one('["vllm","serve"]', "docker inspect llm --format '{{json .Config.Entrypoint}}'", "container")
    assert fact.get("entrypoint") == ("vllm", "serve")
    grepped = "docker inspect llm --format '{{join .Args \" \"}}' | grep -o -e '--port [0-9]*'"
    assert only(facts("--port 8000", grepped), "container") == []


def test_docker_inspect_as_a_document() -> None:
    document = [
        {
            "Name": "/llm", "RestartCount": 3, "Created": "2026-10-01T08:00:00Z",
            "State": {"Status": "exited", "ExitCode": 137, "OOMKilled": True, "Error": ""},
            "Config": {"Image": "vllm/vllm-openai:nightly", "User": "1000", "Entrypoint": ["vllm", "serve"],
            "Cmd": ["m"],
                       "Env": ["HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzabcdefgh", "NVIDIA_VISIBLE_DEVICES=all"]},
            "HostConfig": {"IpcMode": "host", "ShmSize": 67108864, "NetworkMode": "host", "Privileged": False,
            "Memory": 0,
                           "DeviceRequests": [{"Driver": "", "Capabilities": [["gpu"]]}],
                           "RestartPolicy": {"Name": "unless-stopped"}},
        }
    ]  # fmt: skip
    fact = one("[\n  {...}\n]", "docker inspect llm", "container", doc=document)
    assert values(fact, "name", "image", "state", "exit_code", "oom_killed", "restarts") == (
        "llm", "vllm/vllm-openai:nightly", "exited", 137, True, 3,
    )  # fmt: skip
    assert values(fact, "entrypoint", "command", "user", "ipc", "network") == (
        ("vllm", "serve"),
        "vllm serve m",
        "1000",
        "host",
        "host",
    )
    assert values(fact, "gpus", "memory_limit_gib", "restart_policy", "engine") == (
        True,
        None,
        "unless-stopped",
        "vllm",
    )
    env = fact.get("env")
    assert isinstance(env, tuple)
    assert "hf_abc" not in " ".join(env)


def test_the_state_alone() -> None:
    state = {"Status": "exited", "OOMKilled": False, "ExitCode": 255}
    fact = one("{}", "docker inspect -f '{{json .State}}' llm", "container", doc=state)
    assert values(fact, "name", "exit_code", "oom_killed") == ("llm", 255, False)
    grepped = one(
        '            "OOMKilled": true,\n            "ExitCode": 137,',
        "docker inspect llm | grep -E 'OOM|ExitCode'",
        "container",
    )
    assert values(grepped, "oom_killed", "exit_code") == (True, 137)


# -- reaching a host ------------------------------------------------------------------------------------------------


def reached(text: str, command: str | None = None, **meta: Any) -> set[tuple[str, str]]:
    return {(str(f.get("probe")), str(f.get("result"))) for f in only(facts(text, command, **meta), "reach")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 packets transmitted, 3 received, 0% packet loss, time 2031ms", {("ping", "ok")}),
        ("3 packets transmitted, 0 received, 100% packet loss, time 2031ms", {("ping", "timeout")}),
        ("From 192.0.2.1 icmp_seq=1 Destination Host Unreachable\n2 packets transmitted, 0 received, +2 errors, 100% "
         "packet loss",
         {("ping", "unreachable")}),
        ("64 bytes from 192.0.2.11: icmp_seq=1 ttl=64 time=0.612 ms", {("ping", "ok")}),
        ("Connection timed out during banner exchange", {("tcp-ssh", "ok"), ("ssh-banner", "timeout")}),
        ("ssh: connect to host spark-a port 22: Connection refused", {("tcp-ssh", "refused")}),
        ("ssh: connect to host spark-a port 22: No route to host", {("tcp-ssh", "unreachable")}),
        ("ssh: connect to host spark-a port 22: Connection timed out", {("tcp-ssh", "timeout")}),
        ("ops@spark-a: Permission denied (publickey,password).", {("ssh-banner", "ok"), ("ssh-login", "denied")}),
        ("debug1: Connection established.\ndebug1: Local version string SSH-2.0-OpenSSH_9.6p1", {("tcp-ssh", "ok"),
        ("ssh-banner", "silent")}),
        ("curl: (7) Failed to connect to h port 8000 after 1 ms: Could not connect to server", {("tcp-api",
        "refused")}),
        ("curl: (28) Connection timed out after 5001 milliseconds", {("tcp-api", "timeout")}),
        ("curl: (28) Operation timed out after 5001 milliseconds with 0 bytes received", {("http", "silent")}),
        ("curl: (52) Empty reply from server", {("http", "closed")}),
        ("curl: (56) Recv failure: Connection reset by peer", {("http", "reset")}),
    ],
)  # fmt: skip
def test_words_of_ping_ssh_and_curl(text: str, expected: set[tuple[str, str]]) -> None:
    assert reached(text) == expected


def test_port_checks() -> None:
    ok = "Connection to 192.0.2.10 8000 port [tcp/*] succeeded!"
    assert reached(ok, "nc -vz 192.0.2.10 8000") == {("tcp-api", "ok")}
    assert reached(
        "nc: connect to 192.0.2.10 port 8000 (tcp) failed: Connection refused", "nc -vz 192.0.2.10 8000"
    ) == {("tcp-api", "refused")}
    ssh = "Connection to 192.0.2.10 22 port [tcp/ssh] succeeded!"
    assert reached(ssh, "nc -v -w 5 192.0.2.10 22") == {("tcp-ssh", "ok"), ("ssh-banner", "silent")}
    assert reached(ssh, "nc -vz 192.0.2.10 22") == {("tcp-ssh", "ok")}
    assert reached(f"{ssh}\nSSH-2.0-OpenSSH_9.6", "nc -v -w 5 192.0.2.10 22") == {
        ("tcp-ssh", "ok"),
        ("ssh-banner", "ok"),
    }


def test_a_command_that_ran_over_ssh_shows_that_the_shell_answers() -> None:
    assert reached("Mem: 121 6 104 0 11 115", "free -g", typed="ssh spark-a free -g") == {("ssh-banner", "ok")}


def test_a_request_without_an_answer() -> None:
    def outcome(**meta: Any) -> tuple[Any, ...]:
        fact, *_ = observe_failed_request(Piece("exchange", "000", meta=meta))
        return values(fact, "probe", "result")

    assert outcome(path="/health", no_answer=True, time_limit=20.0) == ("health", "failed")
    assert outcome(path="/v1/models", curl_error=28, curl_words="Operation timed out after 9 milliseconds with 0 "
                                                                "bytes received") == (
        "models", "silent",
    )  # fmt: skip
    assert outcome(path="/x", curl_error=7, curl_words="Failed to connect to h port 1: No route to host") == (
        "tcp-api",
        "unreachable",
    )
    assert observe_failed_request(Piece("exchange", "", meta={"curl_error": 3, "curl_words": "URL malformed"})) == []


# -- counted searches, drafters, kernel logs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text", "number"),
    [
        ("journalctl -k | grep -c -E 'oom|AER'", "0", 0),
        ("dmesg | grep -i oom | wc -l", "12", 12),
        ("dmesg | grep -i oom", "", 0),
        ("dmesg | grep -i oom", "some line with oom", None),
        ("dmesg | grep -v oom", "", None),
    ],
)
def test_counted_searches(command: str, text: str, number: int | None) -> None:
    found = only(facts(text, command), "grep")
    assert [fact.get("number") for fact in found] == ([] if number is None else [number])


def test_the_drafters_block() -> None:
    fact = one(
        "5",
        "jq '.dspark_block_size' /models/m/config.json",
        "drafter",
        doc={"dspark_block_size": 5},
        file="/models/m/config.json",
    )
    assert values(fact, "block", "counts_anchor") == (5, False)
    fact = one(
        "8",
        "jq .block_size /models/dflash/config.json",
        "drafter",
        doc={"block_size": 8},
        file="/models/dflash/config.json",
    )
    assert values(fact, "block", "counts_anchor") == (8, None)
    assert (
        only(facts("16", "jq .block_size c.json", doc={"block_size": 16}, file="/models/m/config.json"), "drafter")
        == []
    )
    assert one('41:  "dspark_block_size": 6,', "grep -n block_size /m/config.json", "drafter").get("block") == 6


def test_a_kernel_log_was_looked_at() -> None:
    found = facts("Sep 02 03:11:20 spark-a kernel: mlx5_core 0000:01:00.0: up", kind="log")
    assert "kernel-log" in {fact.get("probe") for fact in only(found, "looked")}


def test_large_logs_are_not_searched_for_tables_of_commands() -> None:
    row = "| N/A   44C    P0             11W /  N/A  | Not Supported          |      3%      Default |\nGPU-Util\n"
    text = row + "x" * 100 + "\n" + "log line\n" * (LARGE_LOG // 9) + "[monitor] MemAvailable 3.0 GiB\n"
    found = facts(text, kind="log")
    assert only(found, "gpu") == []
    assert [fact.get("available_gib") for fact in only(found, "memory")] == [3.0]
    assert len(only(facts(row, kind="log"), "gpu")) == 1


def test_lines_with_literals_keep_their_numbers() -> None:
    text = "a\nb x\n\nc y x\nd"
    assert lines_with(text, "x", "y") == [(1, "b x"), (3, "c y x")]
    assert lines_with(text, "q") == []


def test_meminfo_in_other_units() -> None:
    text = "MemFree: 48 GiB\nMemAvailable: 112 GiB\nCached: 66 GiB"
    assert values(one(text, "awk '/Mem/ {print}' /proc/meminfo", "memory"), "free_gib", "available_gib") == (
        48.0,
        112.0,
    )


@pytest.mark.parametrize(
    ("kind", "command", "status", "expected"),
    [
        ("output", "timeout 30 ssh spark-a true", "rc=124", {("ssh-banner", "timeout")}),
        ("output", "timeout 30 ssh spark-a true", "rc=0", set()),
        ("output", "timeout 30 make", "124", set()),
        ("exchange", "curl -s http://spark-a:8000/health", "28", {("health", "timeout")}),
        ("exchange", "curl -s http://spark-a:8000/health", "7", {("tcp-api", "refused")}),
    ],
)
def test_silent_commands_by_their_exit_status(
    kind: str, command: str, status: str, expected: set[tuple[str, str]]
) -> None:
    silent = Piece(kind, "", command=command, order=0, meta={"path": "/health"})
    after = Piece("output", status, command="echo rc=$?", order=1)
    found = only(observe_exits([silent, after]), "reach")
    assert {(str(fact.get("probe")), str(fact.get("result"))) for fact in found} == expected


def test_report_that_grep_left_a_part_of() -> None:
    kept = "        SM              : 641 MHz\n        HW Slowdown     : Not Active\n"
    kept += "        HW Thermal Slowdown     : Not Active\n        SW Thermal Slowdown     : Not Active"
    found = one(kept, "nvidia-smi -q -d CLOCK,PERFORMANCE | grep -E 'SM |Slowdown'", "gpu")
    assert [found.get(key) for key in ("sm_clock_mhz", "throttle", "utilization")] == [641.0, "none", None]
    slowed = kept.replace("HW Slowdown     : Not Active", "HW Slowdown     : Active")
    assert one(slowed, "nvidia-smi -q -d PERFORMANCE | grep -E 'SM |Slowdown'", "gpu").get("throttle") == "hardware"
    assert [fact for fact in facts(kept, "cat clocks.txt") if fact.kind == "gpu"] == []
