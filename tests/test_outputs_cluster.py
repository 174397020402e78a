"""Commands that tell of links, units, logins, sparkrun and Ray, as facts; launches over several nodes."""

from __future__ import annotations

from typing import Any

import pytest

from sparkdiag.derive.clusters import cluster_launches, network_pins
from sparkdiag.derive.stalls import COMPILED, FLOWING, TIMED_OUT, compile_stalls
from sparkdiag.facts import Fact, LogHit, Where
from sparkdiag.facts.launch import Launch
from sparkdiag.facts.piece import Piece
from sparkdiag.observe.outputs.cluster import observe_cluster


def facts(command: str | None, text: str, kind: str, **meta: Any) -> list[Fact]:
    piece = Piece("output", text, command=command, where=Where(node="spark-a"), order=10, first_line=5, meta=meta)
    return [fact for fact in observe_cluster(piece) if fact.kind == kind]


def one(command: str | None, text: str, kind: str, **meta: Any) -> Fact:
    found = facts(command, text, kind, **meta)
    assert len(found) == 1, found
    return found[0]


BRIEF = """lo               UNKNOWN        127.0.0.1/8 ::1/128
enP7s7           UP             198.51.100.7/24 fe80::1/64
wlP9s9           UP             198.51.100.23/24
enp1s0f0np0      DOWN
enp1s0f1np1      UP             169.254.10.2/16 192.0.2.40/24
enP2p1s0f1np1    UP             fe80::4ebb:47ff:fe00:1/64
docker0          DOWN           172.17.0.1/16
"""


def test_brief_addresses() -> None:
    found = {fact.get("name"): fact for fact in facts("ip -br addr", BRIEF, "iface")}
    assert [found[name].get("sort") for name in ("lo", "wlP9s9", "enp1s0f0np0", "docker0", "enP7s7")] == [
        "loopback",
        "wifi",
        "fabric",
        "container",
        "other",
    ]
    assert (found["enp1s0f0np0"].get("state"), found["enp1s0f0np0"].get("has_address")) == ("down", False)
    assert found["enp1s0f1np1"].get("address") == "192.0.2.40"
    assert found["enP2p1s0f1np1"].get("has_address") is False
    assert found["enp1s0f0np0"].source.line == 8
    assert found["enp1s0f0np0"].order == 13


FULL = """3: enp1s0f0np0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN group default qlen 1000
    link/ether 4c:bb:47:00:00:01 brd ff:ff:ff:ff:ff:ff
4: enp1s0f1np1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000
    inet 192.0.2.40/24 brd 192.0.2.255 scope global enp1s0f1np1
"""


@pytest.mark.parametrize(
    ("command", "text", "name", "expected"),
    [
        ("ip addr", FULL, "enp1s0f0np0", {"state": "down", "has_address": False, "mtu": 1500}),
        ("ip addr", FULL, "enp1s0f1np1", {"state": "up", "address": "192.0.2.40", "mtu": 9000}),
        (None, FULL, "enp1s0f1np1", {"state": "up", "address": "192.0.2.40"}),
        ("ip link", FULL.split("    inet")[0], "enp1s0f1np1", {"state": "up", "has_address": None}),
        (
            "ip -br link",
            "enp1s0f0np0      DOWN           4c:bb:47:00:00:01 <NO-CARRIER,BROADCAST,MULTICAST,UP>",
            "enp1s0f0np0",
            {"state": "down", "has_address": None},
        ),
        (
            "ip -o -4 addr",
            "4: enp1s0f1np1    inet 192.0.2.40/24 brd 192.0.2.255 scope global enp1s0f1np1",
            "enp1s0f1np1",
            {"state": "up", "address": "192.0.2.40"},
        ),
        (
            "ifconfig enp1s0f1np1",
            "enp1s0f1np1: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 9000\n        inet 192.0.2.40",
            "enp1s0f1np1",
            {"state": "up", "address": "192.0.2.40", "mtu": 9000},
        ),
        (
            "ethtool enp1s0f1np1",
            "Settings for enp1s0f1np1:\n\tSpeed: 200000Mb/s\n\tLink detected: yes\n",
            "enp1s0f1np1",
            {"state": "up", "speed": 200000, "has_address": None},
        ),
        (
            "nmcli device",
            "DEVICE       TYPE      STATE         CONNECTION\nenp1s0f0np0  ethernet  unavailable   --",
            "enp1s0f0np0",
            {"state": "down"},
        ),
        ("cat /sys/class/net/enp1s0f0np0/carrier", "0", "enp1s0f0np0", {"state": "down"}),
        ("cat /sys/class/net/enp1s0f0np0/mtu", "9000", "enp1s0f0np0", {"mtu": 9000, "state": None}),
    ],
)
def test_interfaces(command: str | None, text: str, name: str, expected: dict[str, Any]) -> None:
    found = {fact.get("name"): fact for fact in facts(command, text, "iface")}
    assert {key: found[name].get(key) for key in expected} == expected


def test_text_without_interfaces_gives_none() -> None:
    assert facts(None, "(APIServer pid=1) INFO: the server is UP and serves\nNAME UP 3\n", "iface") == []


SS = """LISTEN 0 100 198.51.100.23:40117 0.0.0.0:* users:(("sglang::schedul",pid=210,fd=61))
CLOSE-WAIT 32 0 198.51.100.9:51830 203.0.113.15:443 users:(("sparkrun",pid=70412,fd=9))
LISTEN 0 2048 *:30000 *:*"""


def test_sockets() -> None:
    listening, closed, anywhere = facts("ss -tanp", SS, "socket")
    assert (listening.get("address"), listening.get("port"), listening.get("process")) == (
        "198.51.100.23",
        40117,
        "sglang::schedul",
    )
    assert (closed.get("state"), closed.get("peer_port"), closed.get("process")) == ("close-wait", 443, "sparkrun")
    assert anywhere.get("address") is None


def test_netstat_line() -> None:
    line = "tcp        0      0 192.0.2.40:6379         192.0.2.41:51000        ESTABLISHED 812/raylet"
    found = one("netstat -tanp", line, "socket")
    assert (found.get("state"), found.get("peer"), found.get("process")) == ("established", "192.0.2.41", "raylet")


def test_route_over_wifi() -> None:
    found = one("ip route get 192.0.2.41", "192.0.2.41 via 198.51.100.1 dev wlP9s9 src 198.51.100.23 uid 1000", "route")
    assert (found.get("interface"), found.get("sort"), found.get("source_address")) == (
        "wlP9s9",
        "wifi",
        "198.51.100.23",
    )


@pytest.mark.parametrize(
    ("command", "text", "loopback"),
    [
        ("getent hosts spark-b", "127.0.1.1       spark-b.lan spark-b", True),
        ("cat /etc/hosts", "127.0.0.1 localhost\n192.0.2.41 spark-b  # link", False),
        ("hostname -i", "127.0.1.1", True),
    ],
)
def test_what_the_own_name_means(command: str, text: str, loopback: bool) -> None:
    assert one(command, text, "own-name").get("loopback") is loopback


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("ibdev2netdev", "rocep1s0f1 port 1 ==> enp1s0f1np1 (Up)", ("rocep1s0f1", "up", "enp1s0f1np1")),
        ("ibv_devinfo", "hca_id: rocep1s0f0\n  port: 1\n   state:   PORT_DOWN (1)", ("rocep1s0f0", "down", None)),
        (
            "ibstat",
            "CA 'rocep1s0f1'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp",
            ("rocep1s0f1", "up", None),
        ),
        (
            "rdma link",
            "link rocep1s0f1/1 state ACTIVE physical_state LINK_UP netdev enp1s0f1np1",
            ("rocep1s0f1", "up", "enp1s0f1np1"),
        ),
        ("cat /sys/class/infiniband/rocep1s0f1/ports/1/state", "4: ACTIVE", ("rocep1s0f1", "up", None)),
    ],
)
def test_rdma_ports(command: str, text: str, expected: tuple[str, str, str | None]) -> None:
    found = one(command, text, "rdma-port")
    assert (found.get("device"), found.get("state"), found.get("netdev")) == expected


def test_gids() -> None:
    table = (
        "DEV     PORT    INDEX   GID                                     IPv4            VER     DEV\n"
        "rocep1s0f1  1   0       fe80:0000:0000:0000:4ebb:47ff:fe00:0002                 v1      enp1s0f1np1\n"
        "rocep1s0f1  1   3       0000:0000:0000:0000:0000:ffff:c000:0228 192.0.2.40      v2      enp1s0f1np1\n"
    )
    local, routed = facts("show_gids", table, "gid")
    assert (local.get("index"), local.get("address")) == (0, None)
    assert (routed.get("index"), routed.get("address"), routed.get("version")) == (3, "192.0.2.40", "v2")


STATUS = """● vllm.service - vLLM
     Loaded: loaded (/home/llm/.config/systemd/user/vllm.service; enabled; preset: enabled)
     Active: activating (auto-restart) (Result: exit-code) since Mon 2026-03-02 09:14:02 UTC; 3s ago
    Process: 90211 ExecStart=/usr/bin/docker start -a llm (code=exited, status=126)
"""


def test_unit_of_a_user() -> None:
    unit = one("systemctl --user status vllm.service", STATUS, "unit")
    expected = {
        "name": "vllm.service",
        "user": True,
        "active": "activating",
        "sub": "auto-restart",
        "result": "exit-code",
        "enabled": "enabled",
        "exit_code": 126,
        "reuses_container": True,
    }
    assert {key: unit.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("systemctl --user is-active llm", "inactive", {"active": "inactive", "user": True}),
        ("systemctl is-enabled llm.service", "enabled", {"enabled": "enabled", "user": False}),
        ("systemctl --user show llm -p NRestarts -p SubState", "NRestarts=14\nSubState=auto-restart", {"restarts": 14}),
        ("systemctl --user list-unit-files", "llm.service enabled enabled", {"enabled": "enabled", "user": True}),
        ("systemctl --user list-units", "● llm.service  loaded failed failed  the server", {"active": "failed"}),
    ],
)
def test_units(command: str, text: str, expected: dict[str, Any]) -> None:
    unit = one(command, text, "unit")
    assert {key: unit.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("command", "text", "linger", "removes"),
    [
        ("loginctl show-user llm -p Linger", "Linger=no", False, None),
        ("loginctl show-user llm -p Linger --value", "yes", True, None),
        ("loginctl list-users", "UID USER LINGER STATE\n1000 llm no active", False, None),
        ("loginctl show-user llm", "Failed to get user: User ID 1000 is not logged in or lingering", False, None),
        ("ls /var/lib/systemd/linger", "llm", True, None),
        ("ls /var/lib/systemd/linger", "", False, None),
        (
            "busctl get-property org.freedesktop.login1 /x org.freedesktop.login1.Manager RemoveIPC",
            "b true",
            None,
            True,
        ),
        ("grep RemoveIPC /etc/systemd/logind.conf", "RemoveIPC=no", None, False),
        ("grep RemoveIPC /etc/systemd/logind.conf", "#RemoveIPC=yes", None, True),
    ],
)
def test_logins(command: str, text: str, linger: bool | None, removes: bool | None) -> None:
    login = one(command, text, "login")
    assert (login.get("linger"), login.get("remove_ipc")) == (linger, removes)


@pytest.mark.parametrize(
    ("command", "text", "of", "docker"),
    [
        ("id", "uid=1000(llm) gid=1000(llm) groups=1000(llm),27(sudo),988(docker)", "shell", True),
        ("id -nG", "llm adm sudo", "shell", False),
        ("groups", "llm adm docker", "shell", True),
        ("systemd-run --user --pipe --quiet id -nG", "llm adm", "manager", False),
        ("getent group docker", "docker:x:988:llm", "database", True),
    ],
)
def test_groups(command: str, text: str, of: str, docker: bool) -> None:
    found = one(command, text, "groups")
    assert (found.get("of"), found.get("docker")) == (of, docker)


REFUSED = "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock"


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("docker ps", "CONTAINER ID   IMAGE     COMMAND", (True, "shell", "ps")),
        ("docker run --rm hello-world", "\nHello from Docker!", (True, "shell", "run")),
        ("docker ps", REFUSED, (False, "shell", "ps")),
        ("journalctl --user -u llm", f"Mar 02 09:14:02 spark-a docker[9]: {REFUSED}", (False, "unit", None)),
    ],
)
def test_docker_access(command: str, text: str, expected: tuple[bool, str, str | None]) -> None:
    found = one(command, text, "docker-access")
    assert (found.get("allowed"), found.get("by"), found.get("verb")) == expected


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("docker ps", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock"),
        ("docker run --rm hello-world", "docker: Error response from daemon: no such image"),
    ],
)
def test_docker_errors_are_no_access(command: str, text: str) -> None:
    assert facts(command, text, "docker-access") == []


def test_exit_status_and_home() -> None:
    assert one("echo rc=$?", "rc=137", "exit-status").get("code") == 137
    home = one("ssh 192.0.2.40 'whoami; echo $HOME'", "sparkuser\n/home/sparkuser", "home")
    assert (home.get("user"), home.get("path")) == ("sparkuser", "/home/sparkuser")


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        (
            "sparkrun stop a1_b2",
            "Error: h: mia@h: Permission denied (publickey).\nWorkload stopped on 1 host(s).",
            {"claims_stopped": True, "denied": True, "login": "mia", "cluster": None},
        ),
        (
            "sparkrun stop a1_b2 --cluster lab",
            "Error: h: u@h: Permission denied (publickey).\nWorkload NOT fully stopped: teardown did not confirm on h",
            {"claims_stopped": False, "cluster": "lab", "unconfirmed": True},
        ),
        (
            "sparkrun stop --all -H localhost",
            "Stopped 2 job(s) across 1 host(s).",
            {"all_jobs": True, "hosts": "localhost"},
        ),
        (
            "sparkrun run x.yaml",
            "sparkrun v0.4.2\nPlacement: solo on spark-a (cluster 'lab')\nNote: 1 nodes required, using 1 of 2 hosts",
            {"verb": "run", "version": "0.4.2", "placement": "solo", "nodes_used": 1, "nodes_given": 2},
        ),
        (None, "Workload stopped on 1 host(s).", {"verb": "stop", "claims_stopped": True}),
    ],
)
def test_sparkrun(command: str | None, text: str, expected: dict[str, Any]) -> None:
    found = one(command, text, "sparkrun")
    assert {key: found.get(key) for key in expected} == expected


def test_workloads_up_and_gone() -> None:
    text = "sparkrun_aa0000000001_solo Up 26 hours\nsparkrun_0123456789abcdef_0123456789ab_node_1 Exited (137) 4 s ago"
    up, gone = facts("docker ps -a --filter name=sparkrun_", text, "workload")
    assert (up.get("up"), up.get("solo"), gone.get("up"), gone.get("solo")) == (True, True, False, False)
    named = one("docker logs sparkrun_aa0000000001_solo", "sh: 1: exec: sparkrun: not found", "workload")
    assert (named.get("up"), named.get("seen_by")) == (None, "name")


def test_ray_lists_nodes_in_each_format() -> None:
    table = (
        " 0  0f3c5b0a8d1e4b7792ab33c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5  192.0.2.40   True            ALIVE    192.0.2.40"
    )
    assert one("ray list nodes", table, "ray-node").get("address") == "192.0.2.40"
    assert one("ray list nodes --format yaml", "  node_ip: 192.0.2.41", "ray-node").get("address") == "192.0.2.41"
    assert one("ray list nodes --format json", '"node_ip": "192.0.2.41",', "ray-node").get("address") == "192.0.2.41"


def test_ray_status() -> None:
    text = (
        "Active:\n 1 node_fd78\n 1 node_0a78\nPending:\n (no pending nodes)\n 0.0/2.0 GPU\nDemands:\n"
        " {'node:198.51.100.7': 0.001, 'GPU': 1.0} * 1: 1+ pending placement groups"
    )
    found = one("ray status", text, "ray-status")
    assert [found.get(key) for key in ("nodes", "gpus", "gpus_used", "wanted_address")] == [2, 2.0, 0.0, "198.51.100.7"]


def launch(node: str | None = None, model: str = "org/Model-32B-FP8", **settings: Any) -> Launch:
    settings = {"flags": {}, "env": {}, **settings}
    return Launch(form="vllm-serve", model=model, where=Where(node=node), **settings)


def clusters(*launches: Launch) -> list[Fact]:
    return [fact for fact in cluster_launches(launches) if fact.kind == "cluster"]


def test_cluster_of_nnodes_is_about_no_single_node() -> None:
    flags = {"nnodes": 2, "tensor_parallel_size": 2, "distributed_executor_backend": "mp"}
    found = clusters(launch("a", flags=flags), launch("b", flags={**flags, "node_rank": 1}))
    assert len(found) == 1
    assert [found[0].get(key) for key in ("nodes", "tensor", "executor", "billions")] == [2, 2, "mp", 32.0]
    assert found[0].where.node is None
    weights = found[0].get("weights_gib")
    assert isinstance(weights, float)
    assert 30 < weights < 34


def test_cluster_by_ray_and_none_on_one_node() -> None:
    over = launch(flags={"pipeline_parallel_size": 2, "distributed_executor_backend": "ray"})
    assert clusters(over)[0].get("nodes") == 2
    assert clusters(launch(flags={"tensor_parallel_size": 2})) == []


@pytest.mark.parametrize(
    ("model", "billions"),
    [
        ("Qwen/Qwen3-235B-A22B-FP8", 235.0),
        ("google/gemma-4-31B-it", 31.0),
        ("org/nameless", None),
        ("org/V3.1b2", None),
    ],
)
def test_parameters_in_names(model: str, billions: float | None) -> None:
    assert cluster_launches([launch(model=model, flags={"nnodes": 2})])[0].get("billions") == billions


def test_pins_one_fact_a_name() -> None:
    found = network_pins(
        [launch(env={"NCCL_SOCKET_IFNAME": "=enp1s0f0np0,enp1s0f1np1", "NCCL_IB_HCA": "rocep1s0f0:1"})]
    )
    pins = [(fact.get("name"), fact.get("rdma")) for fact in found if fact.kind == "pin"]
    assert pins == [("enp1s0f0np0", False), ("enp1s0f1np1", False), ("rocep1s0f0", True)]
    assert [f for f in network_pins([launch(env={"NCCL_SOCKET_IFNAME": "^docker0,lo"})]) if f.kind == "pin"] == []


def test_one_address_told_to_two_nodes() -> None:
    env = {"VLLM_HOST_IP": "192.0.2.40"}
    shared = [f for f in network_pins([launch("a", env=env), launch("b", env=env)]) if f.kind == "host-address"]
    assert [f.get("on_nodes") for f in shared] == [2]
    own = [launch("a", env=env), launch("b", env={"VLLM_HOST_IP": "192.0.2.41"})]
    assert {f.get("on_nodes") for f in network_pins(own) if f.kind == "host-address"} == {1}
    for told in (
        ({"node_rank": 0}, {"node_rank": 1}),
        ("ray start --head --port=6379", "ray start --address=192.0.2.40:6379"),
    ):
        both = [launch(env=env, command=one) if isinstance(one, str) else launch(env=env, flags=one) for one in told]
        assert [f.get("on_nodes") for f in network_pins(both) if f.kind == "host-address"] == [2]


def hit(signature: str, order: int, seconds: float | None) -> LogHit:
    return LogHit(signature=signature, captures={}, order=order, last_order=order, time=seconds, last_time=seconds)


@pytest.mark.parametrize(
    ("times", "right_before"),
    [((100, 108, 400), True), ((100, 3000, 3400), False), ((None, None, None), False)],
    ids=["tokens stop at once", "tokens flow on for long", "no clock: tokens after the compilation"],
)
def test_compilation_right_before_the_time_out(times: tuple[float | None, ...], right_before: bool) -> None:
    compiled, flowing, end = times
    found = compile_stalls([hit(COMPILED, 1, compiled), hit(FLOWING, 2, flowing), hit(TIMED_OUT, 3, end)])
    assert [fact.get("right_before") for fact in found] == [right_before]


def test_compilation_after_the_time_out_is_no_cause() -> None:
    assert compile_stalls([hit(TIMED_OUT, 1, 10), hit(COMPILED, 2, 20)]) == []


def test_weights_in_four_bits_are_counted_with_their_scales() -> None:
    flags = {"nnodes": 2, "tensor_parallel_size": 2}
    for model, least, most in (("openai/gpt-oss-120b", 59, 63), ("org/Model-120B-NVFP4", 65, 69)):
        found = [one for one in cluster_launches([launch("a", model, flags=flags)]) if one.kind == "cluster"]
        weights = found[0].get("weights_gib")
        assert isinstance(weights, float)
        assert least < weights < most
