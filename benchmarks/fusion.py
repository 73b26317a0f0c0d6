"""
The gain of fusion: `python -m benchmarks.fusion MODEL…` times each model with fusion and without.

Without fusion each op is a kernel of its own (`fuse-ops{max-ops=1}`). Both run in turn, round by round, with
one thread; the ratio of their times is printed with its 95 % interval. The exit status is 1 when a model is
slower with fusion: the upper end of the interval is below 1.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial

import stepwell
from benchmarks.zoo import F32_MODELS, Model, model_path
from stepwell.passes.context import PassContext
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.interleaved import Ratio, interleave, ratio
from stepwell.tools.measure.peers import Runner

ROUNDS = 20


def compiled(model: Model, *, fused: bool, threads: int) -> CompiledModel:
    """A compiled model of the zoo, with fusion or with a kernel for each op."""
    path = model_path(model.name)
    if path is None:
        raise SystemExit(f"{model.name}: STEPWELL_MODELS names no folder that has it")
    with PassContext(config={} if fused else {"fuse-ops.max-ops": 1}):
        return stepwell.compile(path, input_shapes=model.input_shapes(), threads=threads)


def gain(model: Model, *, rounds: int = ROUNDS, threads: int = 1) -> Ratio:
    """The ratio of a model's time without fusion to that with fusion."""
    runners: dict[str, Runner] = {
        name: partial(_call, compiled(model, fused=name == "with", threads=threads), model.feeds())
        for name in ("with", "without")
    }
    times = interleave(runners, rounds)
    return ratio(times["without"], times["with"])


def _call(model: CompiledModel, feeds: dict[str, Array]) -> Sequence[Array]:
    return list(model.run(feeds).values())


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table in Markdown; returns the exit status."""
    parser = ArgumentParser(prog="benchmarks.fusion", description=__doc__)
    parser.add_argument("models", nargs="*", default=list(F32_MODELS), help="default: all of the zoo")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args(argv)
    print("| model | time without fusion / with | |\n|---|---|---|")
    status = 0
    for name in args.models:
        found = gain(F32_MODELS[name], rounds=args.rounds, threads=args.threads)
        slower = found.high < 1
        status |= slower
        print(f"| {name} | {found} | {'SLOWER' if slower else ''} |", flush=True)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
