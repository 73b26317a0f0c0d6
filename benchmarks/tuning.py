"""
Gains of tuning: `python -m benchmarks.tuning`, on a machine that does nothing else.

Three parts, by `stepwell.tune` as users call it: kernels of the families in which hand search gained
(`--kernels`), whole models (names of the zoo or files), and false gains (`--false-gains RUNS`): copies of one
kernel, in other places of memory, so that each gain among them is noise. Gains are ratios of interleaved runs
with 95 % intervals; a database for each is kept in `--folder`.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen

import onnx

from benchmarks.cases.movement import ELEMENTWISE, MOVEMENT, ROWS
from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, REPOSITORY, model_path
from stepwell.runtime.rpc.interleaved import geometric_mean
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.measuring import Measurement
from stepwell.tools.tuning.report import TuningReport
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task, extract_tasks
from stepwell.tools.tuning.tune import tune

DEFAULT_FOLDER = REPOSITORY / "benchmarks" / "results" / "tuning"
LEAST_GAIN = 0.99
"""A model is slower where the upper end of the interval is below this."""
_COPIES = 20
_KERNELS = ("transpose", "Softmax", "LayerNormalization", "Gelu", "Log ")
"""The families with gains, by the names of cases."""


@dataclass(frozen=True)
class Row:
    """The gain of tuning on a model or a kernel."""

    name: str
    threads: int
    report: TuningReport

    @property
    def gain(self) -> float:
        """The ratio of the model's times, 1 where nothing is used."""
        return self.report.gain[0] if self.report.gain is not None else 1.0

    def cells(self) -> str:
        """A line of a table in Markdown."""
        report = self.report
        interval = "-" if report.gain is None else "{1:.2f}-{2:.2f}".format(*report.gain)
        used = sum(task.gain > 1 for task in report.tasks)
        counts = f"{used} of {len(report.tasks)} | {sum(report.counts.values())} | {report.seconds:.0f}"
        return f"| {self.name} | {self.threads} | {self.gain:.2f} | {interval} | {counts} |"


def models() -> list[str]:
    """The models of the zoo that are there."""
    return [name for name in (*F32_MODELS, *QUANTIZED_MODELS) if model_path(name) is not None]


def tuned_models(args: Namespace, names: Sequence[str]) -> list[Row]:
    """Tune models, each at each number of threads."""
    rows: list[Row] = []
    for name in names:
        path = Path(name) if name.endswith((".onnx", ".mlir")) else model_path(name)
        if path is None:
            print(f"{name} is not there", file=sys.stderr)
            continue
        for threads in args.threads:
            database = args.folder / f"{path.stem}.{threads}.jsonl"
            rows.append(Row(path.stem, threads, tune(path, db=database, time=args.time, threads=threads)))
            print(rows[-1].cells(), flush=True)
    return rows


def tuned_kernels(args: Namespace) -> list[Row]:
    """Tune the kernels of families in which hand search gained."""
    rows: list[Row] = []
    cases = [case for case in (*ROWS, *ELEMENTWISE, *MOVEMENT) if case.name.startswith(_KERNELS)]
    for case in cases:
        path = args.folder / f"{case.name.replace(' ', '_').replace('/', '_')}.onnx"
        onnx.save(case.model(), str(path))
        rows.append(Row(case.name, 1, tune(path, time=args.time)))
        print(rows[-1].cells(), flush=True)
    return rows


def false_gains(args: Namespace) -> int:
    """The number of runs with a gain among twenty copies of the chooser's own kernel."""
    case = next(case for case in MOVEMENT if case.name.startswith("transpose"))
    path = args.folder / "same.onnx"
    onnx.save(case.model(), str(path))
    (task,) = extract_tasks(path, CompileOptions()).tasks
    found = 0
    for turn in range(args.false_gains):
        runner = LocalRunner()
        try:
            gains = _gains_of_copies(runner, task)
        finally:
            runner.close()
        found += gains > 0
        print(f"run {turn}: {gains} of {_COPIES} copies gain", flush=True)
    return found


def _gains_of_copies(runner: LocalRunner, task: Task) -> int:
    """The number of copies of a kernel that would be confirmed as faster than it."""
    measurement = Measurement(runner)
    choice = runner.choose(task, Candidate())
    base, space = runner.build(choice.script), Space(choice.forms, choice.tiles)
    task.seconds = measurement.time_base(task, base)
    copies = [replace(base, digest=f"{base.digest}{number}") for number in range(_COPIES)]
    faster = [c for c in copies if measurement.measure(task, space, base, c, -1).status == "ok"]
    return sum(measurement.again(task, space, base, copy).status == "ok" for copy in faster)


@contextmanager
def neighbour(is_busy: bool) -> Generator[None]:
    """A busy process beside the measurement, if asked for."""
    process = Popen([sys.executable, "-c", "while True: pass"]) if is_busy else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def summary(rows: Sequence[Row]) -> str:
    """The geometric mean of the gains at each number of threads, and the least."""
    lines: list[str] = []
    for threads in dict.fromkeys(row.threads for row in rows):
        gains = [row.gain for row in rows if row.threads == threads]
        mean, least = geometric_mean(gains), min(gains)
        lines.append(f"{threads} threads: geometric mean {mean:.3f}, least {least:.2f}, of {len(gains)}")
    return "\n".join(lines)


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.tuning", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of the zoo, or a file (default: all)")
    parser.add_argument("--time", type=float, default=600.0, help="seconds for each (default: 600)")
    parser.add_argument("--threads", type=_numbers, default=[1], metavar="1,2", help="default: 1")
    parser.add_argument("--kernels", action="store_true", help="single kernels instead of models")
    parser.add_argument(
        "--false-gains", type=int, default=0, metavar="RUNS", help="copies of a kernel instead"
    )
    parser.add_argument("--busy", action="store_true", help="with a busy process beside it")
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER, help="default: %(default)s")
    return parser.parse_args(argv)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main(argv: Sequence[str] | None = None) -> int:
    """Tune and print tables in Markdown; returns 1 where something loses, or a false gain was found."""
    args = _arguments(argv)
    args.folder.mkdir(parents=True, exist_ok=True)
    with neighbour(args.busy):
        if args.false_gains:
            found = false_gains(args)
            print(f"{found} of {args.false_gains} runs found a gain where there is none")
            return int(found > 0)
        print(
            "| model | threads | gain | 95 % | kernels | trials | s |\n|---|---|---|---|---|---|---|",
            flush=True,
        )
        rows = tuned_kernels(args) if args.kernels else tuned_models(args, args.models or models())
    print("\n" + summary(rows))
    return int(any(row.report.gain is not None and row.report.gain[2] < LEAST_GAIN for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
