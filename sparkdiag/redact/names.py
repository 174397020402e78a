"""Which names have secrets for values (`HF_TOKEN`, `--api-key`, `"client_secret"`), and which values are none."""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache

__all__ = ["is_login_blob", "is_placeholder", "looks_random", "secret_kind", "stand_in"]

HF_TOKEN = "HF token"
API_KEY = "API key"
TOKEN = "token"
SECRET = "secret"
PASSWORD = "password"
AUTHORIZATION = "authorization"
COOKIE = "cookie"
PRIVATE_KEY = "private key"
AWS_KEY = "AWS key"
REGISTRY_LOGIN = "registry login"


def stand_in(kind: str) -> str:
    """What is printed instead: the same for every secret of a kind, so that nothing can be derived from it."""
    return f"[secret: {kind}]"


_SUFFIX = re.compile(
    r"(?:s|[_-]?id|[_-]?\d{1,3}|[_-](?:prod|dev|test|staging|old|new|primary|secondary|backup|base64|b64|value|raw))$"
)
"""Endings that change nothing about a name: API_KEY_2, HF_TOKEN_OLD, AWS_ACCESS_KEY_ID."""

_TOKEN_OF = (
    "hf", "huggingface", "huggingfacehub", "hub", "access", "auth", "api", "refresh", "bearer", "github", "gitlab",
    "gh", "registry", "session", "secret", "admin", "ngc", "identity", "oauth", "personal", "private", "jwt",
    "csrf", "login", "bot", "slack", "wandb", "modelscope", "security", "vault", "deploy", "job", "ci", "webhook",
    "service", "account", "device", "join", "swarm", "user", "client", "npm", "git", "docker", "proxy", "ray",
)  # fmt: skip
"""`access_token`, `hubToken`: in small letters only these; `eos_token`, `first_token` and the like are a model's."""

_KEY_OF = (
    "api", "access", "secret", "private", "auth", "signing", "encryption", "master", "account", "license",
    "preshared", "storage", "subscription", "ssh", "deploy", "admin", "service", "hf", "openai", "ngc", "session",
)  # fmt: skip

_MODELS_TOKEN = (
    "eos", "bos", "pad", "unk", "cls", "sep", "mask", "stop", "start", "end", "begin", "image", "audio", "video",
    "think", "thinking", "reasoning", "tool", "first", "last", "next", "per", "max", "min", "num", "new", "special",
    "vision", "prompt",
)  # fmt: skip
_PLAIN_KEY = (
    "cache", "primary", "foreign", "public", "sort", "partition", "hash", "index", "group", "host", "shift",
    "prompt",
)  # fmt: skip

_NOT_A_PASSWORD = re.compile(
    r"(?:file|path|dir|length|len|prompt|policy|authentication|auth|enabled|required|less|reset)$"
)


@lru_cache(maxsize=4096)
def secret_kind(name: str) -> str | None:
    """The kind of secret that a variable, option, key or header of this name holds; None if it holds none.

    `token` alone gives None: it is a word of every model (see looks_random).
    """
    bare = name.strip("-_.")
    capitals = bare.isupper()
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", bare).lower()
    flat = re.sub(r"[-_.]", "", words)
    if flat in ("authorization", "proxyauthorization"):
        return AUTHORIZATION
    if flat in ("cookie", "setcookie"):
        return COOKIE
    if "password" in flat or "passphrase" in flat or re.search(r"passwd$|passwort$", flat):
        return None if _NOT_A_PASSWORD.search(flat) else PASSWORD
    if words.endswith("_pwd") and words not in ("old_pwd", "oldpwd"):
        return PASSWORD
    if flat == "identitytoken" or flat == "registrytoken":
        return REGISTRY_LOGIN
    stem = _SUFFIX.sub("", words)
    loose = (capitals or name.startswith("--")) and not words.endswith("tokens")  # counts: --max-num-batched-tokens
    return _by_ending(stem.replace("-", "_").replace(".", "_"), loose)


def _by_ending(words: str, loose: bool) -> str | None:
    """`loose`: anything may stand before `token` and `key` (variables, options); else only what is listed."""
    parts = [part for part in words.split("_") if part]
    if not parts:
        return None
    flat = "".join(parts)
    if flat.endswith("token"):
        of = flat.removesuffix("token")
        before = parts[-2] if len(parts) > 1 else of
        if before.startswith("hf") or "huggingface" in of or before == "hub":
            return HF_TOKEN
        if not of:
            return TOKEN if loose else None
        return TOKEN if before in _TOKEN_OF or (loose and before not in _MODELS_TOKEN) else None
    if flat.endswith("key"):
        of = flat.removesuffix("key")
        if not of:
            return None
        before = parts[-2] if len(parts) > 1 else of
        if "aws" in of or of.endswith("secretaccess"):
            return AWS_KEY
        if of.endswith(("private", "ssh")):
            return PRIVATE_KEY
        known = any(of.endswith(word) for word in _KEY_OF)
        return API_KEY if known or (loose and before not in _PLAIN_KEY) else None
    if flat.endswith("secret"):
        return SECRET
    return None


_NOTHING = frozenset(
    {
        "none", "null", "nil", "true", "false", "yes", "no", "on", "off", "unset", "undefined", "empty", "missing",
        "invalid", "expired", "required", "optional", "not", "is", "was", "redacted", "hidden", "changeme",
        "secret", "token", "password", "unauthorized", "forbidden", "failed", "error", "str", "string", "bool",
        "int", "float", "optional[str]", "ok", "ignored", "default", "dummy", "n/a", "na", "value", "key", "to",
        "in", "with", "and", "or", "for", "from", "the", "a", "an", "your", "as", "of", "by", "that", "this",
        "flag", "option", "argument", "parameter", "must", "should",
    }
)  # fmt: skip
_PATH = re.compile(
    r"(?:~|\.{1,2})/"
    r"|/(?:etc|run|var|home|root|usr|opt|tmp|mnt|data|srv|cache|models?|workspace|app|secrets?|dev|proc|sys)\b"
)
_COUNT = re.compile(r"[-+]?[\d.,]{1,24}(?:%|[a-z]{1,3})?", re.IGNORECASE)
_MASKED = re.compile(r"[*xX.•_-]+|.{0,6}\*{3,}.{0,4}")


_REFERENCE = re.compile(r"\$\{|\$\(|\$\w+$|<|\{\{|\[secret:|%\(|!\w+")


def is_placeholder(value: str, kind: str) -> bool:
    """True where the value is evidence and no secret: None, EMPTY, $HF_TOKEN, <your key>, ****, a path, a count."""
    if not value or value.lower() in _NOTHING or _MASKED.fullmatch(value):
        return True
    if _REFERENCE.match(value) or _PATH.match(value):
        return True
    return kind != PASSWORD and _COUNT.fullmatch(value) is not None


def looks_random(value: str) -> bool:
    """Long, of one piece, with letters and digits mixed: what a bare `token=` must hold to be taken for a secret."""
    return (
        re.fullmatch(r"[A-Za-z0-9_~+=-]{16,512}", value) is not None
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
    )


def is_login_blob(value: str) -> bool:
    """A registry's `auth`: base64 of user:password."""
    if len(value) < 8 or len(value) > 8192 or len(value) % 4:
        return False
    try:
        return b":" in base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
