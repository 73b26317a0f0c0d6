"""
The speed of the compiler itself: `python -m benchmarks.compiler`.

Operations per second of parsing, printing, verifying and of each pass of level 1, over growing graphs: a
figure that falls as the graph grows is a pass that is not linear. With model names, also cold and warm
compile times. `--chain 3000 15000` measures compilations of products in a row, all by one kernel, instead:
processor time and memory a node, which is what the graph and `@main` cost.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from time import process_time

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.printer import Printer

from benchmarks.zoo import F32_MODELS, model_path
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import graph_steps, text_of
from stepwell.runtime.environment import CACHE

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
    """The processor time of a single run of `work`, which other processes hardly affect."""
    start = process_time()
    work()
    return process_time() - start


def fan_out(size: int) -> ModuleOp:
    """A graph of `size` ops: half of them on the same value, the rest their sum, pair by pair."""
    type = tensor_type(f32, ["N", 64])
    main = func.FuncOp("main", ([type], [type]))
    block = main.body.block
    values: list[SSAValue] = []
    for index in range(size // 2):
        block.add_op(op := graph.LeakyReluOp(block.args[0], (index + 1) / size))  # no two are the same
        values.append(op.results[0])
    while len(values) > 1:
        pairs = [graph.AddOp(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        block.add_ops(pairs)
        values = [pair.results[0] for pair in pairs] + values[2 * len(pairs) :]
    block.add_op(func.ReturnOp(values[0]))
    return ModuleOp([main])


SHAPES = {"chain": chain, "fan-out": fan_out}


def graph_rows(sizes: Sequence[int], make: Callable[[int], ModuleOp]) -> list[tuple[str, list[float]]]:
    """Thousands of ops per second of each step, for each size."""
    ctx = StepwellContext()
    pipeline = text_of(graph_steps(2, ctx.target))
    steps = list(dict.fromkeys(pipeline.split(",")))
    for step in steps:
        run_pipeline(make(4), step, ctx)  # imports shall not be measured
    rows: dict[str, list[float]] = {}

    def measure(name: str, work: Callable[..., object], *operands: object) -> None:
        rows.setdefault(name, []).append(size / seconds(partial(work, *operands)) / 1e3)

    for size in sizes:
        module, text = make(size), StringIO()
        measure("print", Printer(text).print_op, module)
        measure("verify", verify_module, module)
        measure("parse", parse_module, ctx, text.getvalue())
        for step in steps:
            measure(step, run_pipeline, make(size), step, ctx)
        measure("the whole graph pipeline", run_pipeline, make(size), pipeline, ctx)
    return list(rows.items())


def compile_seconds(name: str, folder: str) -> float:
    """Seconds of `stepwell.compile` of a model in a fresh process, imports left out."""
    path = model_path(name)
    shapes = F32_MODELS[name].input_shapes()
    program = (
        "import sys, time, stepwell, stepwell.tools.driver.compile\n"
        "import stepwell.frontend, stepwell.lowering.kernels.kernel\n"
        "start = time.perf_counter()\n"
        f"stepwell.compile({str(path)!r}, input_shapes={shapes!r})\n"
        "print(time.perf_counter() - start)\n"
    )
    environment = {**os.environ, CACHE.name: folder}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def product_chain(size: int) -> bytes:
    """An ONNX model of products in a row, each with the same weight."""
    weight = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"], name=f"n{i}") for i in range(size)]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 8]) for name in ("x0", f"x{size}"))
    graph = helper.make_graph(nodes, "chain", [x], [y], [weight])
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def compile_cost(path: Path) -> tuple[float, int]:
    """Processor seconds of a compilation in a fresh process without caches, and its peak of memory in KB."""
    program = (
        "import resource, sys, time, stepwell, stepwell.tools.driver\n"
        "import stepwell.frontend, stepwell.lowering.kernels.kernel, stepwell.tools.driver.lower\n"
        "start = time.process_time()\n"
        "stepwell.compile(sys.argv[1], use_cache=False, processes=1)\n"
        "print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes)


def chain_rows(sizes: Sequence[int], base: int = 10) -> Iterator[tuple[int, float, float]]:
    """Milliseconds and KB that a node of a chain takes, for each size, less what a chain of `base` takes."""
    with tempfile.TemporaryDirectory() as folder:
        costs: list[tuple[float, int]] = []
        for size in (base, *sizes):
            (path := Path(folder) / f"{size}.onnx").write_bytes(product_chain(size))
            costs.append(compile_cost(path))
    first, *others = costs
    for size, cost in zip(sizes, others, strict=True):
        nodes = size - base
        yield size, 1e3 * (cost[0] - first[0]) / nodes, (cost[1] - first[1]) / nodes


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print tables in Markdown; returns the exit status."""
    parser = ArgumentParser(prog="benchmarks.compiler", description=__doc__)
    parser.add_argument("models", nargs="*", help="models to compile cold and warm")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument(
        "--chain", type=int, nargs="+", metavar="NODES", help="compile chains of nodes instead"
    )
    args = parser.parse_args(argv)
    if args.chain:
        print("| nodes | ms a node | KB a node |\n|---|---|---|")
        for size, milliseconds, kilobytes in chain_rows(args.chain):
            print(f"| {size} | {milliseconds:.2f} | {kilobytes:.1f} |", flush=True)
        return 0
    for shape, make in SHAPES.items():
        print(f"\n| {shape}: thousand ops per second | {' | '.join(f'{s} ops' for s in args.sizes)} |")
        print("|---" * (len(args.sizes) + 1) + "|")
        for name, figures in graph_rows(args.sizes, make):
            print(f"| {name} | {' | '.join(f'{f:.1f}' for f in figures)} |", flush=True)
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
