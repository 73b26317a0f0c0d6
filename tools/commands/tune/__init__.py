"""`stepwell tune`: search faster schedules for a model's kernels, and look after databases of them."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError
from stepwell.tools.commands.options import (
    add_compile_options,
    add_seed,
    compile_options,
    load_plugins,
    positive,
)
from stepwell.tools.commands.tune.databases import add_database_arguments, chosen_work
from stepwell.tools.driver.options import check_suffix, expect_source

if TYPE_CHECKING:
    from stepwell.tools.tuning.report import TuningReport

SEARCHES = ("evolve", "random", "grid", "genetic", "optuna")
COST_MODELS = ("ridge", "xgboost", "none")
_SECONDS = 600.0
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_TIME = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, database, budget, search; and what is done with databases."""
    parser.add_argument("model", nargs="?", type=Path, metavar="MODEL", help="a .onnx, .pt2 or .mlir file")
    parser.add_argument(
        "--db", type=Path, metavar="FILE", help="the database to append to (default: MODEL.tuning.jsonl)"
    )
    parser.add_argument(
        "--time", type=seconds, metavar="10m", help="how long in all, in s, m or h (default: 10m)"
    )
    parser.add_argument(
        "--trials", type=positive, metavar="N", help="at most so many candidates are measured"
    )
    parser.add_argument("--kernels", metavar="A,B", help="only kernels of nodes whose names contain these")
    parser.add_argument(
        "--threads", type=thread_counts, default=[1], metavar="1,2",
        help="of kernels; several numbers share the time (default: 1)",
    )  # fmt: skip
    add_seed(parser)
    parser.add_argument("--search", choices=SEARCHES, default="evolve", help="default: evolve")
    parser.add_argument(
        "--cost-model", choices=COST_MODELS, default="ridge", help="ranks candidates (default: ridge)"
    )
    parser.add_argument("--exact", action="store_true", help="only schedules that change no bit of results")
    parser.add_argument(
        "--graph", action="store_true", help="compare choices for the whole model too, such as Winograd"
    )
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N",
        help="processes that compile candidates while one is measured (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help="let workers try candidates: local:N, tls://HOST:PORT or rpc://HOST:PORT",
    )
    for part in ("ca", "cert", "key"):
        parser.add_argument(f"--cluster-{part}", metavar="FILE", help=f"the {part} of TLS for --cluster")
    parser.add_argument(
        "--dry-run", action="store_true", help="list the kernels and the sizes of their spaces, and stop"
    )
    add_database_arguments(parser)
    add_compile_options(parser)


def seconds(text: str) -> float:
    """`90`, `20s`, `10m` or `1h` in seconds. Raises: ArgumentTypeError."""
    match = _TIME.fullmatch(text)
    if match is None or (value := float(match[1]) * _UNITS[match[2]]) <= 0:
        raise ArgumentTypeError(f"expected a time above 0 such as 20s or 10m, found {text!r}")
    return value


def thread_counts(text: str) -> list[int]:
    """Numbers of threads, each once. Raises: ArgumentTypeError."""
    return list(dict.fromkeys(positive(part) for part in text.split(",")))


def run(args: Namespace) -> int:
    """Tune; returns the exit status."""
    if (work := chosen_work(args)) is not None:
        return work(args)
    if args.model is None:
        raise StepwellError(
            "bad-usage", "stepwell tune", "name a MODEL to tune, or what to do with a database"
        )
    return _tune(args)


def _tune(args: Namespace) -> int:
    check_suffix(args.model)
    expect_source(args.model)
    load_plugins(args)
    options = compile_options(args)
    names = [] if args.kernels is None else [name for name in args.kernels.split(",") if name]
    if args.dry_run:
        return _dry_run(args, names)
    from stepwell.tools.commands.tune.progress import shown_tuning

    reports: list[TuningReport] = []
    with shown_tuning(args.time) as progress:
        from stepwell.tools.tuning.fleets.cluster import Security
        from stepwell.tools.tuning.tune import tune

        security = Security(args.cluster_ca, args.cluster_cert, args.cluster_key)
        for number, threads in enumerate(args.threads):
            found = tune(
                args.model, db=args.db, time=_left(args, number), trials=args.trials, kernels=names,
                threads=threads, seed=args.seed, search=args.search, cost_model=args.cost_model,
                exact=args.exact, graph=args.graph, jobs=args.jobs, cluster=args.cluster, security=security,
                report=progress.report, announce=progress.announce, options=options,
            )  # fmt: skip
            reports.append(found)
    args.facts |= (
        reports[0].to_json() if len(reports) == 1 else {"runs": [each.to_json() for each in reports]}
    )
    for found in reports:
        print(found)
    print(f"records are in {reports[0].database}; resume: the same command", file=sys.stderr)
    return 0


def _left(args: Namespace, number: int) -> float | None:
    """The seconds of a number of threads: an equal share of what imports and earlier numbers left."""
    if args.time is None and args.trials is not None:
        return None
    left = (args.time or _SECONDS) - (monotonic() - args.begun)
    return max(0.1, left / (len(args.threads) - number))


def _dry_run(args: Namespace, names: list[str]) -> int:
    from stepwell.tools.tuning.tune import planned

    rows = planned(args.model, names, args.threads[0], compile_options(args))
    args.facts["tasks"] = [row._asdict() for row in rows]
    for row in rows:
        print(f"{row.name}: {row.calls} calls, {row.near} candidates one decision away from the chooser's")
    return 0
