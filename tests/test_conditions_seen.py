"""Coverage of the rules: every rule fires somewhere, and every condition is seen true and false by some fixture."""

from __future__ import annotations

from pathlib import Path

from tests.conditions import look_at_all

LIST = Path(__file__).parent / "conditions_not_seen.txt"


def test_conditions_are_seen_true_and_false() -> None:
    """The list names what is not covered yet. It may only shrink: whatever is new needs a fixture, or a near miss."""
    listed = LIST.read_text().splitlines()
    missing = look_at_all().missing()
    assert sorted(set(missing) - set(listed)) == [], "no fixture shows this; add one under fixtures/"
    assert sorted(set(listed) - set(missing)) == [], f"a fixture shows this now; take it off {LIST.name}"
    assert listed == list(dict.fromkeys(listed))
