"""What a model's name says about whether it thinks. Names are hints: rules use them to support, not to conclude."""

from __future__ import annotations

import re

_THINKS = re.compile(
    r"thinking|reasoning|reasoner|\br1\b|-r1-|deepseek-r1|qwq|magistral|marco-o1|skywork-o1|openthinker|phi-4-reasoning"
    r"|gpt-oss|minimax-m2|step-?3|kimi-k2-thinking|nemotron-3|nemotron-super|seed-oss|glm-4\.[5-9]|glm-5|ernie-4\.5.*thinking",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"(?<![a-z])(?:instruct|coder|non-?thinking|no-?think)(?![a-z])|codestral|devstral|-base(?![a-z])|(?<![a-z])chat(?![a-z])",
    re.IGNORECASE,
)


def name_thinks(name: str | None) -> bool | None:
    """True, False, or None where the name tells nothing (or contradicts itself)."""
    if not name:
        return None
    thinks, plain = _THINKS.search(name) is not None, _PLAIN.search(name) is not None
    return None if thinks == plain else thinks
