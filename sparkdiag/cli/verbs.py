"""The verbs of the command line: those that are here, and those of the contract that are not built yet."""

from __future__ import annotations

DEFAULT = "diagnose"
"""What is done with targets when no verb is given. Not a verb itself."""

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "a recorded server on a loopback port, diagnosed live"),
    "replay": ("replay", "diagnose a saved capture; with expected.yaml beside it, compare"),
    "lint": ("lint", "judge a launch, a recipe, a model's files before anything is started"),
    "rules": ("rules", "list, check, show or compile the rules"),
    "explain": ("explain", "what a rule or a diagnosis means, when it is named, and what to do"),
    "bench": ("bench", "tokens per second on named workloads, against the bandwidth"),
    "plan": ("plan", "a complete launch for a model, from its own files"),
    "commands": ("commands", "what is run on a node, as one script to run by hand"),
    "why": ("why", "why a rule or a diagnosis was named on the evidence"),
    "why-not": ("why", "why a rule or a diagnosis was not named on the evidence"),
}
"""Verb to its module in this package and its line in --help."""

PLANNED = ("diff", "verify", "record", "watch", "serve", "mcp")

PLANNED_OPTIONS: dict[str, str] = {
    "--ask": "asking questions",
}
"""Options of the contract that are not built yet, with what they will do."""

KEY_OPTIONS = ("--api-key", "--api_key", "--apikey", "--key", "--token", "--password")
"""What people type to hand over a key. Never taken: a command line can be read by every user of the machine."""
