"""
The tests of front ends in parts of at most ten minutes: `python -m tests.frontends NAME…` (`make frontends`).

Names are those of frameworks, or longer beginnings of the names of parts. A part that passed is noted in
`build/frontends/passed.json`, and is left out as long as the sources stay the same; the output of each is in
a file beside it. Frameworks that are not installed are skipped, and counted.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from pytest import ExitCode

from stepwell.lowering.kernels.fingerprint import compiler_fingerprint
from tests.support.imports import ROOT

SOURCES = ("dialects", "frontend", "lowering", "passes", "patterns", "runtime", "stepwell", "tools")
TESTS = "tests/frontends"
FRAMEWORKS = ("coreml", "estimators", "jax", "keras", "tensorflow", "tflite")
"""Those whose tests are one part."""
OF_TORCH = ("compile", "direct", "module", "unsupported", "weights")
OF_A_MODEL = ("test_a_model_is_equal_to_eager_mode", "test_a_model_of_torch_compile_is_equal_to_eager_mode")
OPERATOR_SHARDS = 16


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts that have not passed; the exit status is 1 when one fails."""
    args = _arguments(argv)
    every = parts()
    shard, shards = map(int, args.shard.split("/"))
    names = [name for name in every if name.startswith(tuple(args.names or [""]))][shard - 1 :: shards]
    state = compiler_fingerprint(SOURCES)
    outcomes: dict[str, str] = {}
    for name in names:
        known = () if args.again else _passed(args.results, state)
        begin = monotonic()
        outcomes[name] = (
            "passed before" if name in known else run_part(every[name], args.results / f"{name}.txt")
        )
        print(f"{name}: {outcomes[name]} ({monotonic() - begin:.0f} s)", flush=True)
        if outcomes[name] == "passed":
            _note(args.results, state, name)
    for outcome in ("failed", "skipped"):
        found = [name for name in names if outcomes[name] == outcome]
        print(f"{outcome}: {len(found)} of {len(names)} parts {' '.join(found)}".rstrip())
    return 1 if "failed" in outcomes.values() else 0


def parts() -> Mapping[str, Sequence[str]]:
    """The arguments of pytest for each part; its name begins with the framework's."""
    models, operators = f"{TESTS}/test_torch_models.py", f"{TESTS}/test_torch_operators.py"
    found: dict[str, Sequence[str]] = {
        f"torch-{name}": [f"{TESTS}/test_torch_{name}.py"] for name in OF_TORCH
    }
    for name in models_of_torch():
        found[f"torch-model-{name}"] = [f"{models}::{test}[{name}]" for test in OF_A_MODEL]
    found["torch-models"] = [models, *(f"--deselect={models}::{test}" for test in OF_A_MODEL)]
    found["torch-overloads"] = [operators, f"--deselect={operators}::test_no_sample_is_lost"]
    for shard in range(OPERATOR_SHARDS):
        found[f"torch-operators-{shard}"] = [f"{operators}::test_no_sample_is_lost[{shard}]"]
    found |= {name: [f"{TESTS}/test_{name}.py"] for name in FRAMEWORKS}
    found["jax-functions"] = [f"{TESTS}/functions/test_jax_functions.py"]
    found["hugging-face"] = [f"{TESTS}/functions/test_hugging_face.py"]
    return found | {"upstream": ["tests/unit/tools/upstream"]}


def models_of_torch() -> Sequence[str]:
    """The names of the models; none where torch is missing."""
    command = [sys.executable, "-c", "from tests.frontends.torch_cases import CASES; print(*CASES)"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split()


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m tests.frontends", description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of the names of parts (default: all parts)")
    parser.add_argument("--shard", default="1/1", help="I/N: every N-th part, from the I-th on")
    parser.add_argument("--again", action="store_true", help="run the parts that passed before, too")
    parser.add_argument("--results", type=Path, default=ROOT / "build/frontends")
    return parser.parse_args(argv)


def run_part(arguments: Sequence[str], log: Path) -> str:
    """The outcome of a part, whose output goes to a file: `passed`, `failed`, or `skipped` for all of it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments]
    with log.open("w", encoding="utf-8") as file:
        status = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT).returncode
    if status not in (ExitCode.OK, ExitCode.NO_TESTS_COLLECTED):
        return "failed"
    return "passed" if re.search(r"\b\d+ passed", log.read_text(encoding="utf-8")) else "skipped"


def _passed(folder: Path, state: str) -> Sequence[str]:
    """The parts that passed with the same sources."""
    file = folder / "passed.json"
    content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return content["parts"] if content.get("state") == state else []


def _note(folder: Path, state: str, name: str) -> None:
    """Add a part to those that passed."""
    names = sorted({*_passed(folder, state), name})
    text = json.dumps({"state": state, "parts": names}, indent=1)
    (folder / "passed.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
