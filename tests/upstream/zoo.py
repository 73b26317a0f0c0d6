"""
Programs of the zoo for upstream MLIR: `python -m tests.upstream.zoo` (`make models-upstream`).

The text of each level of each model must pass the strict parser and verifier of the package torch-mlir, by
its Python bindings. Each model is lowered in a process of its own with bounded memory, the smallest file
first. A line of JSON for each model and level is added to a file, so that a run that was ended goes on; what
failed, or was found with other sources, is done again. `--shard 1/8` runs a part.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter

import stepwell
from benchmarks.replay import all_models
from benchmarks.zoo import model_path
from stepwell.lowering.kernels.fingerprint import compiler_fingerprint
from stepwell.runtime.errors import StepwellError
from stepwell.tools.upstream.text import LEVELS, upstream_text
from tests.support.imports import ROOT
from tests.support.upstream import fault_of

SOURCES = ("dialects", "frontend", "lowering", "passes", "patterns", "runtime", "tools")
GIGABYTES = 6.0
"""The memory of a model's process, without the files that are mapped."""
_OPEN = "-open"


def main(argv: Sequence[str] | None = None) -> int:
    """Check a shard; returns 1 where a text is refused, or cannot be written."""
    args = _arguments(argv)
    if args.one:
        return _one(args)
    number, count = map(int, args.shard.split("/"))
    names = args.models or sorted(_models(), key=lambda name: _file(name).stat().st_size)
    state, wrong = compiler_fingerprint(SOURCES), 0
    for name in names[number - 1 :: count]:
        done = _right(args.results, None if args.resume else state)
        levels = [level for level in args.levels.split(",") if (name, level) not in done]
        if not levels:
            continue
        command = [sys.executable, "-m", "tests.upstream.zoo", "--one", name, "--levels", ",".join(levels)]
        command += ["--gigabytes", str(args.gigabytes)]
        child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
        missing = levels[len(rows) :]
        last = (child.stderr.strip().splitlines() or [f"exit {child.returncode}"])[-1]
        rows += [{"model": name, "level": level, "fault": f"process: {last[:300]}"} for level in missing]
        for row in rows:
            wrong += bool(row["fault"])
            print(
                f"{name} {row['level']}: {row['fault'] or 'verified'} ({row.get('seconds', 0)} s)", flush=True
            )
            with args.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**row, "state": state}) + "\n")
    print(f"{wrong} texts are wrong")
    return 1 if wrong else 0


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m tests.upstream.zoo", description=__doc__)
    parser.add_argument("models", nargs="*", help="names of models (default: all that are available)")
    parser.add_argument("--levels", default=",".join(LEVELS), help="(default: %(default)s)")
    parser.add_argument("--shard", default="1/1", help="I/N: every N-th model, from the I-th on")
    parser.add_argument(
        "--resume", action="store_true", help="leave out what was right with other sources, too"
    )
    parser.add_argument("--gigabytes", type=float, default=GIGABYTES, help="memory of a process")
    parser.add_argument("--results", type=Path, default=ROOT / "build/upstream.jsonl")
    parser.add_argument("--one", metavar="MODEL", help="check a model here, printing lines of JSON")
    args = parser.parse_args(argv)
    args.results.parent.mkdir(parents=True, exist_ok=True)
    return args


def _models() -> Sequence[str]:
    return [name for name in all_models() if not name.endswith(_OPEN)]


def _file(name: str) -> Path:
    """The file of a model. Raises: SystemExit where there is none."""
    if (path := model_path(name)) is None:
        raise SystemExit(f"no model {name}: STEPWELL_MODELS names the folder of larger ones")
    return path


def _right(results: Path, state: str | None) -> set[tuple[str, str]]:
    """The models and levels of which the last line says that they verify, with these sources or any."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    last: dict[tuple[str, str], Mapping[str, str]] = {}
    for row in map(json.loads, lines):
        last[row["model"], row["level"]] = row
    return {key for key, row in last.items() if not row["fault"] and state in (None, row["state"])}


def _one(args: Namespace) -> int:
    """Print a line of JSON for each level of a model, in this process and its bounds."""
    size = int(args.gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    for row in _rows(args.one, args.levels.split(",")):
        print(json.dumps(row), flush=True)
    return 0


def _rows(name: str, levels: Sequence[str]) -> Iterator[Mapping[str, object]]:
    """The fault of each level's text, empty where it verifies, its characters and the seconds it took."""
    module = stepwell.read(_file(name))
    for level in levels:
        begin, characters = perf_counter(), 0
        try:
            module = module.to(level)
            text = upstream_text(module.op, module.context, with_weights=False)
            characters, fault = len(text), fault_of(text)
        except StepwellError as error:
            fault = str(error).splitlines()[0]
        seconds = round(perf_counter() - begin, 1)
        yield {"model": name, "level": level, "fault": fault, "characters": characters, "seconds": seconds}


if __name__ == "__main__":
    sys.exit(main())
