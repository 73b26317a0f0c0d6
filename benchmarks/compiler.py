"""
The speed of the compiler itself: `python -m benchmarks.compiler`.

Operations per second of parsing, printing, verifying and of each pass of level 1, over growing graphs: a
figure that falls as the graph grows is a pass that is not linear. With model names, also cold and warm
compile times. `--chain 3000 15000` measures compilations of products in a row, all by one kernel, instead:
processor time and memory a node, which is what the graph and `@main` cost.
"""

from __future__ import annotations

import json
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

from benchmarks.fresh import Figures, bytecode_note, run_fresh
from benchmarks.zoo import F32_MODELS, model_path
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from stepwell.passes.graph_pipeline import graph_steps
from stepwell.passes.pipelines import text_of

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


_COMPILE = """
import stepwell, stepwell.tools.driver.compile, stepwell.frontend, stepwell.tools.driver.lower
import os, stepwell.lowering.kernels.kernel
start, spent = time.perf_counter(), sum(os.times()[:4])
options = json.loads(sys.argv[3])
model = stepwell.compile(sys.argv[2], **options)
seconds = time.perf_counter() - start
report(wall=seconds, compiling=sum(os.times()[:4]) - spent, kernels=model.image.summary["kernels"])
"""


def compile_cost(path: Path, cache: str, **options: object) -> Figures:
    """
    The cost of a compilation in a fresh process: `wall` seconds, and `compiling` those of processors, workers
    too, both without the imports of this process; `kernels`; `megabytes` of the largest process.
    """
    return run_fresh(_COMPILE, str(path), json.dumps(options), cache=cache)


def model_row(name: str) -> str:
    """A line of the table of models; cold and warm, of which the warm time is a median."""
    path = model_path(name)
    if path is None:
        raise SystemExit(f"no model is named {name}; STEPWELL_MODELS names the folder of models")
    shapes = F32_MODELS[name].input_shapes() if name in F32_MODELS else {}
    with tempfile.TemporaryDirectory() as folder:
        cold, *warm = (compile_cost(path, folder, input_shapes=shapes) for _ in range(4))
    cells = [f"{cold[figure]:.2f}" for figure in ("wall", "compiling")]
    cells += [f"{cold[figure]:.0f}" for figure in ("kernels", "megabytes")]
    return f"| {name} | {' | '.join(cells)} | {np.median([each['wall'] for each in warm]):.2f} |"


def product_chain(size: int) -> bytes:
    """An ONNX model of products in a row, each with the same weight."""
    weight = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"], name=f"n{i}") for i in range(size)]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 8]) for name in ("x0", f"x{size}"))
    graph = helper.make_graph(nodes, "chain", [x], [y], [weight])
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def chain_rows(sizes: Sequence[int], base: int = 10) -> Iterator[tuple[int, float, float]]:
    """Milliseconds and KB that a node of a chain takes, for each size, less what a chain of `base` takes."""
    with tempfile.TemporaryDirectory() as folder:
        costs: list[tuple[float, float]] = []
        for size in (base, *sizes):
            (path := Path(folder) / f"{size}.onnx").write_bytes(product_chain(size))
            cost = compile_cost(path, folder, use_cache=False, processes=1)
            costs.append((cost["compiling"], 1024 * cost["megabytes"]))
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
        heads = "model | cold, s | processor seconds | kernels | peak MB of a process | warm, s"
        print(f"\n{bytecode_note()}| {heads} |\n{'|---' * 6}|")
    for name in args.models:
        print(model_row(name), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
