"""
Stepwell against the engines that are installed, on the models of the zoo: `python -m benchmarks.run`.

Every model is measured in one run, engines in turn, at 1 and 2 threads; written as JSON, a Markdown table and
a plot, with the machine and the date. Ratios are the peer's time over ours: above 1 we are faster.
"""

from __future__ import annotations

import json
import platform
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from math import nan
from pathlib import Path

from benchmarks.memory import memory_ratios
from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, model_path
from stepwell.runtime.rpc.interleaved import geometric_mean
from stepwell.tools.measure.bench import ModelResult, bench_model
from stepwell.tools.measure.peers import ENGINES, installed_peers

_REPOSITORY = Path(__file__).resolve().parent.parent
_BEGIN = "<!-- benchmarks: written by `python -m benchmarks.run --readme` -->"
_END = "<!-- end of benchmarks -->"
_PICTURE = "![Time of the peers over ours, by model](docs/assets/models.svg)"
_MODELS = {**F32_MODELS, **QUANTIZED_MODELS}
_SHOWN = ("resnet18", "mobilenet_v2", "vit_tiny", "bert_base_128", "gpt_kv")
"""The models in README.md: each another kind of network."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print as it goes, write the files; returns the exit status."""
    args = _arguments(argv)
    peers = args.against.split(",") if args.against else installed_peers()
    results: list[ModelResult] = []
    for name in args.models or F32_MODELS:
        path = model_path(name)
        if path is None:
            print(f"{name}: skipped, STEPWELL_MODELS names no folder that has it", flush=True)
            continue
        model = _MODELS[name]
        for threads in args.threads:
            result = bench_model(path, peers, threads, args.rounds, model.input_shapes(), feeds=model.feeds())
            results.append(result)
            print(row(result, peers), flush=True)
    text = report(results, peers)
    if args.memory:
        text += "\n" + memory_ratios([r.model for r in results])
    print(text)
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "models.json").write_text(json.dumps([asdict(r) for r in results], indent=1))
    (args.output / "models.md").write_text(text)
    if args.readme:
        from benchmarks.plot import plot_ratios

        plot_ratios(results, _REPOSITORY / "docs" / "assets" / "models.svg")
        put_in(_REPOSITORY / "docs" / "benchmarks.md", text)
        put_in(_REPOSITORY / "README.md", f"{summary(results, peers)}\n{_PICTURE}")
    return 0


def put_in(page: Path, text: str) -> None:
    """Replace the text between the marks of a page."""
    head, rest = page.read_text(encoding="utf-8").split(_BEGIN)
    end = rest.partition(_END)[2]
    page.write_text(f"{head}{_BEGIN}\n\n{text.strip()}\n\n{_END}{end}", encoding="utf-8")


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.run", description=__doc__)
    names = [[], *_MODELS]  # argparse looks for the empty default too
    parser.add_argument("models", nargs="*", choices=names, metavar="MODEL", help="default: those in f32")
    parser.add_argument("--against", help="engines, with commas between (default: every installed one)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--memory", action="store_true", help="measure memory too")
    parser.add_argument(
        "--readme", action="store_true", help="write README.md, its plot and docs/benchmarks.md"
    )
    parser.add_argument("--output", type=Path, default=_REPOSITORY / "benchmarks" / "results")
    return parser.parse_args(argv)


def row(result: ModelResult, peers: Sequence[str]) -> str:
    """A line of the table."""
    ratios = [str(result.ratios[p]) if p in result.ratios else result.failed.get(p, "-") for p in peers]
    cells = [result.model, str(result.threads), f"{result.milliseconds['stepwell']:.2f}", *ratios]
    return f"| {' | '.join(cells)} | {best_ratio(result):.2f} | {result.difference:.1e} |"


def best_ratio(result: ModelResult) -> float:
    """The fastest peer's time over ours; NaN when no peer ran the model."""
    return min((ratio.median for ratio in result.ratios.values()), default=float("nan"))


def report(results: Sequence[ModelResult], peers: Sequence[str]) -> str:
    """The table in Markdown, with geometric means, and the machine."""
    heads = ["model", "threads", "ours, ms", *peers, "best peer", "difference"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(row(r, peers) for r in results)]
    for threads, means in geometric_means(results, peers).items():
        lines.append(f"| **geometric mean** | {threads} | | {' | '.join(f'**{m:.2f}**' for m in means)} | |")
    return "\n".join(
        [*lines, f"\nTime of the peer / our time, median (95 % interval). {conditions(peers)}\n"]
    )


def summary(results: Sequence[ModelResult], peers: Sequence[str]) -> str:
    """A short table in Markdown: five models, all numbers of threads in one cell, geometric means."""
    threads = sorted({r.threads for r in results})
    cases = {(r.model, r.threads): r for r in results}
    heads = ["model", "ours, ms", *peers, "best peer"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for model in (name for name in _SHOWN if (name, threads[0]) in cases):
        rows = [cases[model, n] for n in threads]
        columns = [[r.milliseconds["stepwell"] for r in rows]]
        columns += [[r.ratios[p].median if p in r.ratios else nan for r in rows] for p in peers]
        columns.append([best_ratio(r) for r in rows])
        lines.append(f"| {' | '.join([model, *(' · '.join(f'{n:.2f}' for n in c) for c in columns)])} |")
    means = zip(*geometric_means(results, peers).values(), strict=True)
    cells = [" · ".join(f"**{mean:.2f}**" for mean in column) for column in means]
    lines.append(f"| **geometric mean of {len({r.model for r in results})}** | | {' | '.join(cells)} |")
    sides = " · ".join(map(str, threads))
    note = (
        f"Threads: {sides}. Time of the peer / our time, median: above 1 we are faster. {conditions(peers)}"
    )
    return "\n".join([*lines, f"\n{note}\nAll models: [docs/benchmarks.md](docs/benchmarks.md).\n"])


def geometric_means(results: Sequence[ModelResult], peers: Sequence[str]) -> dict[int, list[float]]:
    """By the number of threads: the mean ratio of each peer, and that of the fastest peer of each model."""
    means: dict[int, list[float]] = {}
    for threads in sorted({r.threads for r in results}):
        measured = [r for r in results if r.threads == threads and r.ratios]
        columns = [[r.ratios[p].median for r in measured if p in r.ratios] for p in peers]
        means[threads] = [geometric_mean(c) for c in (*columns, [best_ratio(r) for r in measured])]
    return means


def conditions(peers: Sequence[str]) -> str:
    """The machine, the date and the versions of the engines, in one sentence."""
    versions = ", ".join(f"{p} {version(ENGINES[p].distribution)}" for p in ("stepwell", *peers))
    return f"{machine()}, {date.today()}; {versions}."


def machine() -> str:
    """The processor's name, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    raise SystemExit(main())
