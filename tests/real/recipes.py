"""Plans of all known models as sparkrun recipes, each validated by sparkrun; exit 1 where it refuses one.

python recipes.py SPARKRUN    the program
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from sparkdiag.advise.plan import make_plan
from sparkdiag.advise.plan_inputs import PlannedModel

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    models = json.loads((ROOT / "fixtures" / "models.json").read_text())["models"]
    refused = written = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, known in models.items():
            model = PlannedModel(
                name=f"org/{name}", repository=f"org/{name}", path=None, config=known["config"], template=None
            )
            for nodes in (1, 2):
                plan = make_plan(model, nodes=nodes, runtime="sparkrun")
                recipe = (
                    next((launch.text for launch in plan.launches if launch.form == "recipe"), None) if plan else None
                )
                if recipe is None:
                    continue
                written += 1
                file = Path(folder) / f"{name.lower()}-{nodes}.yaml"
                file.write_text(recipe)
                done = subprocess.run(
                    [sys.argv[1], "recipe", "validate", str(file)], capture_output=True, text=True, check=False
                )
                if done.returncode:
                    refused += 1
                    print(f"{file.name}: {done.stdout}{done.stderr}".rstrip())
    print(f"{written} recipes, {refused} refused")
    return 1 if refused or not written else 0


if __name__ == "__main__":
    sys.exit(main())
