"""
Models without functional features, before and after: `python -m benchmarks.functional.unchanged REVISION`.

Each model is compiled, with an empty cache and in one process, and run, by the sources of a revision and by
these, in turn and in fresh processes: processor seconds of both, and the 95 % interval of the ratios.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.fresh import Figures, run_fresh
from benchmarks.replay import SIX
from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, REPOSITORY, model_path
from stepwell.runtime.rpc.interleaved import median_ratio

MOST = 1.03
"""The most time after, over that before."""
_ZOO = {**F32_MODELS, **QUANTIZED_MODELS}
_SMALL = [name for name in SIX if name in _ZOO]
_PROGRAM = """
import numpy as np, stepwell
path, inputs = sys.argv[2:]
feeds = dict(np.load(inputs))
began = time.process_time()
model = stepwell.compile(path, threads=1, processes=1)
compiled = time.process_time() - began
times = []
while sum(times) < 0.5 or len(times) < 20:
    began = time.perf_counter()
    model.run(feeds)
    times.append(time.perf_counter() - began)
report(compiled=compiled, run=float(np.median(times)))
"""


def measured(name: str, trees: Sequence[Path], rounds: int, folder: Path) -> list[list[Figures]]:
    """The figures of a model by each tree of sources, of which the order changes from round to round."""
    path, inputs = model_path(name), folder / f"{name}.npz"
    assert path is not None
    np.savez(inputs, **cast("dict[str, Any]", _ZOO[name].feeds()))
    found: list[list[Figures]] = [[] for _ in trees]
    for number in range(rounds + 1):
        for at in sorted(range(len(trees)), reverse=number % 2 == 1):
            with tempfile.TemporaryDirectory(dir=folder) as cache:
                given = str(path.resolve()), str(inputs)
                figures = run_fresh(_PROGRAM, *given, cache=cache, sources=trees[at])
            if number > 0:  # the first one writes the bytecode of the sources
                found[at].append(figures)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table in Markdown; returns the exit status, 1 for a time that has grown by more than 3 %."""
    parser = ArgumentParser(prog="benchmarks.functional.unchanged", description=__doc__)
    parser.add_argument("revision", help="the state before, as git names it")
    parser.add_argument("--models", nargs="+", choices=[*_ZOO], default=_SMALL, metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args(argv)
    names = [name for name in args.models if model_path(name) is not None]
    is_right = True
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (before := folder / "before").mkdir()
        archive = subprocess.run(
            ["git", "archive", args.revision], cwd=REPOSITORY, check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", os.fspath(before)], input=archive, check=True)
        print("| Model | Compilation: s, after / before | Run: us, after / before |\n|---|---|---|")
        for name in names:
            old, new = measured(name, (before, REPOSITORY), args.rounds, folder)
            cells: list[str] = []
            for key, factor in (("compiled", 1.0), ("run", 1e6)):
                times = [[each[key] for each in runs] for runs in (new, old)]
                median, low, high = median_ratio([(times[0], times[1])])
                is_right &= low <= MOST
                cells.append(f"{factor * np.median(times[0]):.4g}, {median:.3f} ({low:.3f}-{high:.3f})")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    missing = [name for name in args.models if name not in names]
    if missing:
        print(f"not measured, for their files are not there: {', '.join(missing)}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
