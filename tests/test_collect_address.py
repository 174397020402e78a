"""Addresses as people write them, API keys, and their secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkdiag.collect import Settings, parse_address
from sparkdiag.collect.keys import api_key, without_key
from sparkdiag.errors import UsageError

KEY = "correct-horse-battery"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("spark-a", "http://spark-a:8000/health"),
        ("spark-a:9000", "http://spark-a:9000/health"),
        ("http://spark-a", "http://spark-a/health"),
        ("https://spark-a", "https://spark-a/health"),
        ("HTTPS://spark-a:8443/", "https://spark-a:8443/health"),
        ("http://spark-a:8000/v1", "http://spark-a:8000/health"),
        ("http://spark-a:8000/v1/", "http://spark-a:8000/health"),
        ("http://gate/llm/v1", "http://gate/llm/health"),
        ("http://gate/llm//a/", "http://gate/llm/a/health"),
        ("http://spark-a:8000/v1/chat/completions", "http://spark-a:8000/health"),
        ("spark-a:8000/v1/models?x=1#y", "http://spark-a:8000/health"),
        ("10.0.0.1:8000", "http://10.0.0.1:8000/health"),
        ("[::1]:8000", "http://[::1]:8000/health"),
        ("::1", "http://[::1]:8000/health"),
        ("http://[fe80::1%eth0]:80/v1", "http://[fe80::1%eth0]/health"),
        ("  spark_a.local.  ", "http://spark_a.local.:8000/health"),
        ("http://bücher.example:8000", "http://bücher.example:8000/health"),
    ],
)
def test_an_address_and_where_its_routes_are(text: str, url: str) -> None:
    assert parse_address(text).url("/health") == url


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "needs a host name"),
        ("http://", "needs a host name"),
        ("ftp://spark-a", "'ftp' is no scheme"),
        ("http://spark a", "holds no blanks"),
        ("http://spark-a\n:80", "holds no blanks"),
        ("spark-a:port", "'port' is no port"),
        ("spark-a:0", "is no port"),
        ("spark-a:65536", "is no port"),
        ("spark-a:-1", "is no port"),
        ("spark-a:٣", "is no port"),
        ("http://-x-", "is no host name"),
        ("http://a/../..@b", "user name or password"),
        ("[1:2]:80", "is no IPv6 address"),
        ("1:2:3", "is no IPv6 address"),
        ("x" * 300, "is no host name"),
    ],
)
def test_what_is_no_address_is_told_in_a_sentence(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_address(text)


@pytest.mark.parametrize("text", [f"http://me:{KEY}@spark-a", f"{KEY}@spark-a:80", f"http://me:{KEY}/x@spark-a:80"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="--api-key-env") as caught:
        parse_address(text)
    assert "correct" not in str(caught.value)


def test_the_key_comes_from_the_caller_or_from_the_hosts_own_netrc_entry(tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine spark-a login any password {KEY}\ndefault login any password other\n")
    netrc.chmod(0o600)
    address, other = parse_address("spark-a"), parse_address("spark-b")
    assert api_key(Settings("t", "spark-a", netrc=str(netrc)), address) == KEY
    assert api_key(Settings("t", "spark-a", api_key="mine", netrc=str(netrc)), address) == "mine"
    assert api_key(Settings("t", "spark-b", netrc=str(netrc)), other) is None, "a default entry is for nobody"
    assert api_key(Settings("t", "spark-a", netrc=None), address) is None
    assert api_key(Settings("t", "spark-a", netrc=str(tmp_path / "none")), address) is None
    netrc.write_text("machine spark-a password")
    assert api_key(Settings("t", "spark-a", netrc=str(netrc)), address) is None


@pytest.mark.parametrize("key", ["two words", "new\nline", "schlüssel", "nul\0"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        api_key(Settings("t", "spark-a", api_key=key), parse_address("spark-a"))
    assert key not in str(caught.value)


def test_the_key_is_taken_out_of_texts_whatever_its_shape() -> None:
    assert without_key(f"key {KEY} echoed", KEY) == "key [secret: API key] echoed"
    assert without_key("EMPTY list, the none type", "EMPTY") == "EMPTY list, the none type"
    assert KEY not in repr(Settings("t", "a", api_key=KEY))
