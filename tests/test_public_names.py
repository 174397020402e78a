"""What users may import, pinned: a change here is a change of the contract."""

import importlib
import pkgutil
import subprocess
import sys

import sparkdiag

NAMES = [
    "Avoid",
    "CaptureError",
    "Diagnosis",
    "EngineError",
    "Evidence",
    "FixStep",
    "InputError",
    "Interrupted",
    "NextProbe",
    "Problem",
    "Report",
    "RuleError",
    "SparkdiagError",
    "Suppressed",
    "UsageError",
    "__version__",
    "diagnose",
    "diagnose_capture",
    "diagnose_exchange",
    "diagnose_sync",
    "diagnose_text",
    "suspicious",
]


def test_public_names() -> None:
    assert sparkdiag.__all__ == NAMES
    assert all(getattr(sparkdiag, name) is not None for name in NAMES)


def test_every_module_imports() -> None:
    for module in pkgutil.walk_packages(sparkdiag.__path__, "sparkdiag."):
        if module.name.endswith("__main__") or (module.name.endswith("durable_engine") and sys.version_info >= (3, 13)):
            continue
        importlib.import_module(module.name)


def test_import_starts_nothing_and_imports_little() -> None:
    code = (
        "import sys, threading; before = set(sys.modules); import sparkdiag;"
        "assert threading.active_count() == 1;"
        "new = {m.split('.')[0] for m in set(sys.modules) - before};"
        "assert not new & {'pydantic', 'httpx', 'jsonschema', 'yaml', 'asyncio', 'logging', 'json', 're'}, new"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
