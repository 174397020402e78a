"""Numbers hosts and addresses, so that a capture can be shown to strangers: `spark-a` becomes `host-1.example`.

Addresses become documentation addresses (RFC 5737 and 3849): valid, and the same network stays the same network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["Anonymizer"]

_QUAD = r"(\d{1,3}(?:\.\d{1,3}){3})(?![\w.]*\.\d|\w)"
_V4 = re.compile(rf"(?<![\w.:/=-]){_QUAD}|(?<=[/@=:\[(\"']){_QUAD}")
_V6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f:]{0,39}:[0-9A-Fa-f]{0,4}:)([0-9A-Fa-f:]{3,39})(?:%[\w.]{1,16})?(?![\w:])")
_NAME = r"([A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)"
_URL_END = r"(?=[:/?#\s\"'<>),;\]]|$)"
_PROMPT_END = r"(?=:[~/]|'s password)"
_URL_HOST = re.compile(rf"[a-z][a-z0-9+.]{{1,15}}://(?:[^\s/@\"'<>]{{1,128}}@)?{_NAME}{_URL_END}")
_SHELL_HOST = re.compile(rf"(?<![\w.@/-])[\w.-]{{1,64}}@{_NAME}{_PROMPT_END}")

_PUBLIC = ("huggingface.co", "hf.co", "github.com", "githubusercontent.com", "nvidia.com", "nvcr.io", "docker.io")
"""Everybody's hosts: which of them failed is evidence, and tells nothing of whose case it is."""

_V4_NETS = ("192.0.2", "198.51.100", "203.0.113")


class Anonymizer:
    """One for a capture: `learn` every text first, in order, then `apply`; a host has one number everywhere."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self._hosts: dict[str, str] = {}
        self._loose: set[str] = set()
        """Names too plain to be replaced outside of URLs and prompts: `vllm`, `head`."""
        self._nets: dict[str, str] = {}
        self._used: dict[str, int] = {}
        """The last number given away in each network."""
        self._v4: dict[str, str] = {}
        self._v6: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        for host in hosts:
            self._name(host, sure=True)

    def learn(self, text: str) -> None:
        """Note the names that URLs and shell prompts in a text show to be hosts."""
        if "://" in text:
            for found in _URL_HOST.finditer(text):
                self._name(found[1], sure=False)
        if "@" in text:
            for found in _SHELL_HOST.finditer(text):
                self._name(found[1], sure=False)

    def apply(self, text: str) -> str:
        """The text with all known hosts and all addresses numbered."""
        if self._hosts:
            if self._pattern is None:
                self._pattern = self._names_pattern()
            text = self._pattern.sub(self._host, text)
        text = _V4.sub(lambda m: m[0].replace(m[1] or m[2], self.address(m[1] or m[2])), text)
        return _V6.sub(lambda m: m[0].replace(m[1], self.address(m[1]), 1), text) if ":" in text else text

    def address(self, address: str) -> str:
        """The number of an IP address; itself if it is none, or one that tells nothing (loopback, any, a netmask)."""
        from ipaddress import IPv6Address, ip_address

        try:
            ip = ip_address(address)
        except ValueError:
            return address
        if ip.is_loopback or ip.is_unspecified or ip.is_multicast or address.startswith("255."):
            return address
        if isinstance(ip, IPv6Address):
            if address.count(":") == 2 and address.index(":") < 4:  # C++ and times look like this: c10::bad
                return address
            return self._v6.setdefault(ip.compressed, f"2001:db8::{len(self._v6) + 1:x}")
        return self._v4_address(str(ip))

    def _v4_address(self, address: str) -> str:
        if address not in self._v4:
            net, _, last = address.rpartition(".")
            if net not in self._nets:
                number = len(self._nets)
                local = f"169.254.{number % 256}" if address.startswith("169.254.") else None
                spare = f"198.18.{number % 256}"
                self._nets[net] = local or (_V4_NETS[number] if number < len(_V4_NETS) else spare)
            if last not in ("0", "255"):  # a network, a broadcast: stays one
                self._used[net] = self._used.get(net, 0) % 254 + 1
                last = str(self._used[net])
            self._v4[address] = f"{self._nets[net]}.{last}"
        return self._v4[address]

    def _name(self, host: str, *, sure: bool) -> None:
        host = host.strip("[]").lower()
        if not host or f".{host}".endswith((".localhost", *(f".{public}" for public in _PUBLIC))):
            return
        if re.fullmatch(r"[\d.]+|[0-9a-f:]*:[0-9a-f:]*", host):
            self.address(host)
            return
        telling = sure or ("." in host) or (len(host) > 3 and re.search(r"[\d-]", host) is not None)
        if host not in self._hosts:
            self._hosts[host] = f"host-{len(self._hosts) + 1}.example"
            self._pattern = None
            if not telling:
                self._loose.add(host)
        elif sure:
            self._loose.discard(host)

    def _names_pattern(self) -> re.Pattern[str]:
        names = sorted(self._hosts, key=lambda name: (-len(name), name))
        telling = "|".join(re.escape(name) for name in names if name not in self._loose)
        loose = "|".join(re.escape(name) for name in names if name in self._loose)
        parts = []
        if telling:
            parts.append(rf"(?<![\w.-])(?<![\w]/)(?:{telling})(?![\w-]|\.\w)")
        if loose:
            parts.append(rf"(?<=://)(?:{loose}){_URL_END}|(?<=@)(?:{loose}){_PROMPT_END}")
        return re.compile("|".join(parts), re.IGNORECASE)

    def _host(self, found: re.Match[str]) -> str:
        return self._hosts[found[0].lower()]
