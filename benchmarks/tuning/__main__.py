"""
Gains and costs of tuning: `python -m benchmarks.tuning`, on a machine that does nothing else.

Four parts: `models` of the zoo and `kernels` in which hand search gained, tuned by `stepwell.tune` as users
call it; `noise`: copies of one kernel, each gain among which is false; `costs`: a large database, an import,
a custom operator. Gains are ratios of interleaved runs, those of the choosers by themselves are shown apart;
with `--before FOLDER`, a checkout of before this work, these are of all code since then.
What was measured is kept in `--folder`: the same command goes on where it was ended, and prints all of it.
Models come in the order of what is expected: unet_small, transformers, others; one that fails is tried again.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tuning.costs import measure_costs
from benchmarks.tuning.noise import false_gains
from benchmarks.tuning.results import PARTS, Results, bounds, table
from benchmarks.tuning.searches import continued, tuned_kernels, tuned_models
from benchmarks.zoo import REPOSITORY

_FOLDER = REPOSITORY / "benchmarks" / "results" / "tuning"
_PAGE = REPOSITORY / "docs" / "scheduling" / "tuning.md"
_BEGIN = "<!-- figures: written by `python -m benchmarks.tuning --readme` -->"
_END = "<!-- end of figures -->"
_INTERRUPTED = 130


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.tuning", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART", help="default: all")
    parser.add_argument("--time", type=float, default=600.0, help="seconds for a model (default: 600)")
    parser.add_argument("--threads", type=_numbers, default=[1, 2], metavar="1,2", help="default: 1,2")
    parser.add_argument("--models", default="", metavar="A,B", help="of the zoo, or files (default: all)")
    parser.add_argument(
        "--before", type=Path, metavar="FOLDER", help="the code of before, against which gains count"
    )
    parser.add_argument("--match", default="", help="only kernels and models whose name contains this")
    parser.add_argument("--runs", type=int, default=20, help="of false gains (default: 20)")
    parser.add_argument(
        "--readme", action="store_true", help="write the bounds into docs/scheduling/tuning.md"
    )
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="default: %(default)s")
    return parser.parse_args(argv)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def put_in(page: Path, text: str) -> None:
    """Replace the text between the marks of a page."""
    head, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    end = rest.partition(_END)[2]
    page.write_text(f"{head}{_BEGIN}\n\n{text.strip()}\n\n{_END}{end}", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is not known, and print tables in Markdown; returns 1 where a bound does not hold."""
    args = _arguments(argv)
    args.folder.mkdir(parents=True, exist_ok=True)
    results, parts = Results(args.folder / "results.jsonl"), args.parts or PARTS
    try:
        _measure(results, parts, args)
        status = 0
    except KeyboardInterrupt:
        status = _INTERRUPTED
    print("\n" + table(results))
    if results.failed:
        print(f"failed: {'; '.join(results.failed)}")
    if args.readme and not status:
        put_in(_PAGE, table(results).partition("\n\n")[0])
    return status or int(bool(results.failed) or not all(bound.holds for bound in bounds(results)))


def _measure(results: Results, parts: Sequence[str], args: Namespace) -> None:
    """Measure the parts that are asked for, short ones first."""
    if "costs" in parts:
        with continued(results, "costs"):
            measure_costs(results, args.folder)
    if "kernels" in parts:
        tuned_kernels(results, args.folder, args.time, args.match, args.before)
    if "noise" in parts:
        false_gains(results, args.folder, args.runs)
    if "models" in parts:
        tuned_models(results, args.folder, args.time, args.threads, args.models, args.match, args.before)


if __name__ == "__main__":
    raise SystemExit(main())
