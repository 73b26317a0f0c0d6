"""
How fast the compiler itself is: `python -m benchmarks.compiler`.

Operations per second of parsing, printing, verifying and of each pass of level 1, over growing graphs: a
figure that falls as the graph grows is a pass that is not linear. With model names, also cold and warm
compile times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from io import StringIO
from time import perf_counter

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.parser import Parser
from xdsl.printer import Printer

from benchmarks.zoo import F32_MODELS, model_path
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.types import tensor_type
from stepwell.passes import run_pipeline
from stepwell.tools.pipelines import graph_pipeline

SIZES = (1_000, 10_000, 50_000)


def chain(size: int) -> ModuleOp:
    """A graph of `size` elementwise ops, each on the results of the two before it."""
    type = tensor_type(f32, ["N", 64])
    main = func.FuncOp("main", ([type, type], [type]))
    block = main.body.block
    before, last = block.args[0], block.args[1]
    for index in range(size):
        op = graph.AddOp(last, before) if index % 2 else graph.ReluOp(last)
        block.add_op(op)
        before, last = last, op.results[0]
    block.add_op(func.ReturnOp(last))
    return ModuleOp([main])


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, once."""
    start = perf_counter()
    work()
    return perf_counter() - start


def graph_rows(sizes: Sequence[int]) -> list[tuple[str, list[float]]]:
    """Thousands of ops per second of each step, for each size."""
    rows: dict[str, list[float]] = {}
    for size in sizes:
        ctx = StepwellContext()
        module = chain(size)
        text = StringIO()
        steps: list[tuple[str, Callable[[], object]]] = [
            ("print", lambda m=module, t=text: Printer(t).print_op(m)),
            ("verify", module.verify),
        ]
        for name, step in steps:
            rows.setdefault(name, []).append(size / seconds(step) / 1e3)
        source = text.getvalue()
        rows.setdefault("parse", []).append(
            size / seconds(lambda s=source, c=ctx: Parser(c, s).parse_module()) / 1e3
        )
        for step in graph_pipeline(2, ctx.target).split(","):
            fresh = chain(size)
            taken = seconds(lambda m=fresh, p=step, c=ctx: run_pipeline(m, p, c))
            rows.setdefault(step, []).append(size / taken / 1e3)
    return list(rows.items())


def compile_seconds(name: str, folder: str) -> float:
    """Seconds of `stepwell.compile` of a model in a fresh process, imports left out."""
    path = model_path(name)
    shapes = F32_MODELS[name].input_shapes()
    program = (
        "import sys, time, stepwell, stepwell.tools.driver\n"
        "import stepwell.frontend, stepwell.lowering.kernel\n"
        "start = time.perf_counter()\n"
        f"stepwell.compile({str(path)!r}, input_shapes={shapes!r})\n"
        "print(time.perf_counter() - start)\n"
    )
    environment = {**os.environ, "STEPWELL_CACHE": folder}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print two tables in Markdown; returns the exit status."""
    parser = ArgumentParser(prog="benchmarks.compiler", description=__doc__)
    parser.add_argument("models", nargs="*", help="models to compile cold and warm")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    args = parser.parse_args(argv)
    print(f"| thousand ops per second | {' | '.join(f'{s} ops' for s in args.sizes)} |")
    print("|---" * (len(args.sizes) + 1) + "|")
    for name, figures in graph_rows(args.sizes):
        print(f"| {name} | {' | '.join(f'{f:.1f}' for f in figures)} |")
    if args.models:
        print("\n| model | cold, s | warm, s |\n|---|---|---|")
    for name in args.models:
        with tempfile.TemporaryDirectory() as folder:
            cold = compile_seconds(name, folder)
            warm = float(np.median([compile_seconds(name, folder) for _ in range(3)]))
        print(f"| {name} | {cold:.2f} | {warm:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
