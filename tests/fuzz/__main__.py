"""
Fuzzing from the command line: `python -m tests.fuzz model 0:200` runs the random models of these seeds.

Each case runs in a process that may crash or hang; outcomes are kept in a file, so that a run can be resumed,
and a failing model is written beside it, cut down to what fails. The exit status is 1 when something fails.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.zoo import F32_MODELS
from tests.conformance.__main__ import resumed, run_cases
from tests.conformance.outcome import Outcome
from tests.conformance.process import CaseProcess
from tests.fuzz.passes import pipelines
from tests.fuzz.process import FOREIGN, KEPT, SERVER
from tests.fuzz.reproduce import reproduce

LIMIT_S = 60
_ZOO_LIMIT_S = 900
"""Whole models in the interpreter."""
SIZES = {
    "model": 2000,
    "groups": 2000,
    "pass": 1000,
    "zoo": len(F32_MODELS),
    "file": 1000,
    "artifact": 2000,
    "object": 500,
    "bytecode": 2000,
    "formula": 2000,
    **dict.fromkeys((*KEPT, *FOREIGN), 500),
    "tflite": 1000,
}
"""How many seeds there are of each kind; for `zoo`, models."""
KINDS = tuple(SIZES)
# A model may need what is not there yet, and says so; all else is a finding.
FINE = ("native", "error")


def main(argv: Sequence[str] | None = None) -> int:
    """Run cases and sum up; returns the exit status."""
    args = _arguments(argv)
    shard, shards = map(int, args.shard.split("/"))
    first, _, behind = args.seeds.partition(":")
    names = names_of(args.kind, range(int(first), int(behind)))[shard - 1 :: shards]
    known = resumed(args.results) if args.resume else {}
    outcomes = {name: known[name] for name in names if name in known}
    left = [name for name in names if name not in outcomes]
    print(f"{len(names)} cases, {len(left)} to run", flush=True)
    limit = _ZOO_LIMIT_S if args.kind == "zoo" else LIMIT_S
    for outcome in run_cases(left, args.processes, args.results, lambda: CaseProcess(limit, SERVER)):
        outcomes[outcome.name] = outcome
        if outcome.status not in FINE or args.verbose:
            print(f"{outcome.name}: {outcome.status} {outcome.reason} ({outcome.seconds} s)", flush=True)
        if outcome.status not in FINE:
            print("  written to", reproduce(outcome.name, args.results.with_suffix("")), flush=True)
    return _sum_up(list(outcomes.values()))


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seeds", help="FIRST:BEHIND; of models for `zoo`")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--shard", default="1/1", help="I/N: every N-th case, from the I-th on")
    parser.add_argument("--results", type=Path, default=Path("build/fuzz.jsonl"))
    parser.add_argument("--resume", action="store_true", help="keep the outcomes that the file has")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each case")
    return parser.parse_args(argv)


def names_of(kind: str, seeds: range) -> list[str]:
    """The names of the cases of a kind; of passes and models of the zoo, with each pass."""
    match kind:
        case "pass":
            return [f"pass:{pipeline}:{seed}" for seed in seeds for pipeline in pipelines()]
        case "zoo":
            models = list(F32_MODELS)[seeds.start : seeds.stop]
            return [f"zoo:{pipeline}:{model}" for model in models for pipeline in pipelines()]
        case _:
            return [f"{kind}:{seed}" for seed in seeds]


def _sum_up(outcomes: Sequence[Outcome]) -> int:
    print(dict(Counter(o.status for o in outcomes).most_common()))
    for reason, times in Counter(o.reason for o in outcomes if o.status == "error").most_common(12):
        print(f"  {times} x {reason}")
    return 1 if any(o.status not in FINE for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
