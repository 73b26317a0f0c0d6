"""
The time from the start of a Python process to a model's first output: `python -m benchmarks.first_answer`.

Fresh processes, engines in turn, bytecode on disk and no cache of compiled code. Wall time in seconds of the
best round of each: imports, reading of the model (a part of the conversion for peers and `start="now"`),
conversion, first run; and the time until the code of `start="now"` is there, which takes its own process.
"""

from __future__ import annotations

import json
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.fresh import Figures, bytecode_note, run_fresh
from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, Model, model_path
from stepwell.runtime.cores import usable_cores
from stepwell.runtime.rpc.interleaved import geometric_mean
from stepwell.tools.measure.peers import ENGINES, engine_named

Results: TypeAlias = Mapping[str, Mapping[str, Figures]]
"""By model, then by engine."""

_MODELS = {**F32_MODELS, **QUANTIZED_MODELS}
_OURS, _NOW = "stepwell", "start=now"
_ANSWER = "first answer"
_COLUMNS = ("imports", "reading", "conversion", "run", _ANSWER, "full code", "processor", "megabytes")

_PROGRAM = """
import numpy
model, feeds, shapes, engine, threads = sys.argv[2:]
feeds = dict(numpy.load(feeds))
"""
_OURS_PROGRAM = """
import stepwell
from stepwell.runtime.collector import compiler_imports
with compiler_imports():  # as `stepwell.compile` imports them
    import stepwell.frontend
    if engine == "stepwell":
        import stepwell.tools.driver.lower
    else:
        import stepwell.tools.driver.staged_model
imports = time.monotonic()
start = "full" if engine == "stepwell" else "now"
model = stepwell.compile(model, input_shapes=json.loads(shapes), threads=int(threads), start=start)
converted = time.monotonic()
model(*(feeds[spec.name] for spec in model.interface.inputs))
end = time.monotonic()
model.wait()
full = (converted if start == "full" else time.monotonic()) - begin
reading = model.image.effort["seconds"]["import"] if start == "full" else 0.0
"""
# A peer's program starts through a class of ours, whose import is not the peer's.
_PEER_PROGRAM = """
before = time.monotonic()
from pathlib import Path
from stepwell.tools.measure.peers import engine_named
begin += time.monotonic() - before
engine = engine_named(engine)
__import__(engine.module)
imports, reading = time.monotonic(), 0.0
run = engine.load(Path(model), int(threads), feeds)
converted = time.monotonic()
run()
end, full = time.monotonic(), 0.0
"""
_REPORT = """
report(**{
    "imports": imports - begin, "reading": reading, "conversion": converted - imports - reading,
    "run": end - converted, "first answer": end - begin, "full code": full,
})
"""


def first_answer(path: Path, model: Model, engine: str, threads: int) -> Figures:
    """The figures of an engine's first answer, by the names of `_COLUMNS`. Raises: CalledProcessError."""
    program = _PROGRAM + (_OURS_PROGRAM if engine in (_OURS, _NOW) else _PEER_PROGRAM) + _REPORT
    with tempfile.TemporaryDirectory() as folder:
        np.savez(feeds := Path(folder) / "feeds.npz", allow_pickle=False, **model.feeds())
        shapes = json.dumps(model.input_shapes())
        return run_fresh(program, str(path), str(feeds), shapes, engine, str(threads), cache=folder)


def measure(
    path: Path, model: Model, engines: Sequence[str], rounds: int, threads: int
) -> dict[str, Figures]:
    """Each engine's best of some rounds, in which engines take turns."""
    every = [[first_answer(path, model, engine, threads) for engine in engines] for _ in range(rounds)]
    best = (min(figures, key=lambda each: each[_ANSWER]) for figures in zip(*every, strict=True))
    return dict(zip(engines, best, strict=True))


def row(name: str, engine: str, figures: Figures) -> str:
    """A line of the table."""
    cells = [
        f"{figures[column]:.0f}" if column == "megabytes" else f"{figures[column]:.2f}" for column in _COLUMNS
    ]
    return f"| {' | '.join([name, engine, *cells])} |"


def mean_rows(results: Results, engines: Sequence[str]) -> list[str]:
    """The table's last lines: the geometric mean of each column that is positive in all rows of an engine."""
    rows: list[str] = []
    for engine in engines:
        figures = [of_model[engine] for of_model in results.values()]
        means = {
            c: geometric_mean([f[c] for f in figures]) if all(f[c] for f in figures) else 0.0
            for c in _COLUMNS
        }
        rows.append(row(f"**geometric mean of {len(results)}**", engine, means))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table in Markdown; returns the exit status."""
    parser = ArgumentParser(prog="benchmarks.first_answer", description=__doc__)
    names = [[], *_MODELS]  # argparse looks for the empty default too
    parser.add_argument("models", nargs="*", choices=names, metavar="MODEL", help="default: those in f32")
    parser.add_argument("--against", default="", help=f"with commas between: {', '.join(ENGINES)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=usable_cores())
    args = parser.parse_args(argv)
    peers = list(filter(None, args.against.split(",")))
    for peer in peers:
        engine_named(peer)  # an error before anything is measured
    engines = [_OURS, _NOW, *peers]
    print(bytecode_note() + f"| model | engine | {' | '.join(_COLUMNS)} |\n{'|---' * (len(_COLUMNS) + 2)}|")
    results: dict[str, dict[str, Figures]] = {}
    for name in args.models or F32_MODELS:
        if (path := model_path(name)) is None:
            print(f"{name}: skipped, STEPWELL_MODELS names no folder that has it", flush=True)
            continue
        results[name] = measure(path, _MODELS[name], engines, args.rounds, args.threads)
        for engine, figures in results[name].items():
            print(row(name, engine, figures), flush=True)
    if results:
        print("\n".join(mean_rows(results, engines)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
