"""Judge files given on the command line, each as a case of its own, and print the first cause of each."""

import sys
from pathlib import Path

import sparkdiag


def main(names: list[str]) -> int:
    worst = 0
    for name in names:
        report = sparkdiag.diagnose_text(Path(name).read_text(errors="replace"))
        first = report.claimed[0] if report.claimed else None
        print(f"{name}: {report.verdict}" + (f": {first.title} ({first.id})" if first else ""))
        worst = max(worst, report.exit_status)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
