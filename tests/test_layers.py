"""Imports run one way, and the pure part touches nothing: read off the sources."""

import ast
from pathlib import Path

import pytest

import sparkdiag

ROOT = Path(sparkdiag.__file__).parent
LAYERS = {
    "facts": {"records"},
    "observe": {"records", "facts", "capture", "errors", "redact", "sections"},
    "derive": {"records", "facts"},
    "infer": {"records", "later", "facts", "diagnosis", "errors"},
    "collect": {"records", "facts", "capture", "errors", "redact", "sections", "secret_names"},
    "report": {"records", "chain", "diagnosis", "errors"},
    "advise": {
        "records",
        "case",
        "derive",
        "diagnosis",
        "errors",
        "facts",
        "files",
        "infer",
        "observe",
        "redact",
        "report",
    },
}
"""What each package may import of sparkdiag beside itself."""

IO_MODULES = {
    "socket",
    "subprocess",
    "httpx",
    "asyncio",
    "urllib",
    "requests",
    "time",
    "random",
    "os",
    "shutil",
    "tempfile",
}


def _imports(path: Path) -> set[str]:
    """Absolute names of everything a module imports."""
    package = ["sparkdiag", *path.relative_to(ROOT).parts[:-1]]
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {f"{module}.{alias.name}" for alias in node.names} if node.level else {module}
    return names


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_imports_run_one_way(layer: str) -> None:
    allowed = LAYERS[layer] | {layer}
    for path in (ROOT / layer).rglob("*.py"):
        for name in _imports(path):
            parts = name.split(".")
            if parts[0] == "sparkdiag" and len(parts) > 1:
                assert parts[1] in allowed, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("layer", ["facts", "observe", "derive", "report"])
def test_the_pure_part_does_no_io_and_reads_no_clock(layer: str) -> None:
    for path in (ROOT / layer).rglob("*.py"):
        roots = {name.split(".")[0] for name in _imports(path)}
        assert not roots & IO_MODULES, f"{path.relative_to(ROOT)} imports {roots & IO_MODULES}"
