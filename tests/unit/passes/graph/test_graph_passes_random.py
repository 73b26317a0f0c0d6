"""Random graphs through the graph passes: the same results, every computing op in exactly one kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.graph.fusion.data_flow import computes
from tests.support.samples import examples

Builder = Callable[[st.DataObject, list[SSAValue], StepwellContext], GraphOp | None]


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return tuple(dim.value for dim in dims_of(value.type))


def unary(data: st.DataObject, values: list[SSAValue], ctx: StepwellContext) -> GraphOp:
    kind = data.draw(st.sampled_from([graph.NegOp, graph.TanhOp, graph.SigmoidOp, graph.ReluOp]))
    return kind(data.draw(st.sampled_from(values)))


def binary(data: st.DataObject, values: list[SSAValue], ctx: StepwellContext) -> GraphOp | None:
    kind = data.draw(st.sampled_from([graph.AddOp, graph.MultiplyOp, graph.MaximumOp, graph.SubtractOp]))
    a, b = data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))
    try:
        np.broadcast_shapes(shape_of(a), shape_of(b))
    except ValueError:
        return None
    return kind(a, b)


def movement(data: st.DataObject, values: list[SSAValue], ctx: StepwellContext) -> GraphOp | None:
    x = data.draw(st.sampled_from(values))
    shape = shape_of(x)
    match data.draw(
        st.sampled_from(["transpose", "slice", "expand", "squeeze", "flatten", "concat", "split"])
    ):
        case "transpose":
            return graph.TransposeOp(x, data.draw(st.permutations(range(len(shape)))))
        case "slice":
            starts = [data.draw(st.integers(0, n - 1)) for n in shape]
            limits = [data.draw(st.integers(low + 1, n)) for low, n in zip(starts, shape, strict=True)]
            return graph.SliceOp(x, starts, limits, [data.draw(st.integers(1, 2)) for _ in shape])
        case "expand" if len(shape) < 4:
            return graph.ExpandDimsOp(x, [data.draw(st.integers(0, len(shape)))])
        case "squeeze" if 1 in shape:
            return graph.SqueezeOp(x, [shape.index(1)])
        case "flatten":
            return graph.ReshapeOp(x, [int(np.prod(shape[:1])), int(np.prod(shape[1:]))])
        case "concat" if shape:
            return graph.ConcatOp([x, x], data.draw(st.integers(0, len(shape) - 1)))
        case "split" if shape and shape[-1] > 1:
            return graph.SplitOp(x, len(shape) - 1, [1, shape[-1] - 1])
        case _:
            return None


def heavy(data: st.DataObject, values: list[SSAValue], ctx: StepwellContext) -> GraphOp | None:
    x = data.draw(st.sampled_from(values))
    shape = shape_of(x)
    if not shape:
        return None
    match data.draw(st.sampled_from(["matmul", "softmax", "reduce"])):
        case "matmul":
            weight = np.linspace(-1, 1, shape[-1] * 3, dtype=np.float32).reshape(shape[-1], 3)
            constant = graph.ConstantOp.of(weight, ctx.weights, "w")
            block = x.owner if isinstance(x.owner, Block) else x.owner.parent
            assert block is not None
            block.add_op(constant)
            return graph.MatmulOp(x, constant.result)
        case "softmax":
            return graph.SoftmaxOp(x, len(shape) - 1)
        case _:
            return graph.ReduceOp(x, "max", [0], keep_dims=True)


def branches(data: st.DataObject, values: list[SSAValue], ctx: StepwellContext) -> GraphOp | None:
    """An `if` or a `for` whose bodies read outer values."""
    x = data.draw(st.sampled_from(values))
    block = x.owner if isinstance(x.owner, Block) else x.owner.parent
    assert block is not None
    loops = data.draw(st.booleans())
    number = np.array(data.draw(st.integers(0, 2))) if loops else np.array(data.draw(st.booleans()))
    decides = graph.ConstantOp.of(number, ctx.weights, "n")
    hidden = data.draw(st.booleans())  # from constant folding, by an op that has no known value
    block.add_op(decides)
    decider: SSAValue = decides.result
    if hidden and not loops:
        decider = _flag_of(x, block)
    if loops:
        body = Block(arg_types=[tensor_type(i64, []), x.type])
        last = graph.TanhOp(body.args[1])
        body.add_ops([last, graph.YieldOp([last.result])])
        return graph.ForOp(decider, [x], Region(body))
    regions = [Region(Block()), Region(Block())]
    for region in regions:
        kind = data.draw(st.sampled_from([graph.NegOp, graph.ReluOp]))
        first = kind(x)
        second = kind(first.result)
        region.block.add_ops([first, second, graph.YieldOp([second.result])])
    then_region, else_region = regions
    return graph.IfOp(decider, then_region, else_region)


def _flag_of(x: SSAValue, block: Block) -> SSAValue:
    """Whether any element of a value is positive, as a tensor of rank 0 that nobody knows beforehand."""
    most = graph.ReduceOp(x, "max", list(range(len(shape_of(x)))), keep_dims=False)
    zero = graph.SubtractOp(most.result, most.result)
    flag = graph.LessOp(zero.result, most.result)
    block.add_ops([most, zero, flag])
    return flag.result


def random_module(data: st.DataObject, ctx: StepwellContext) -> ModuleOp:
    """A function of up to a dozen ops on small tensors that returns what nothing else reads."""
    types = [tensor_type(f32, shape) for shape in ((3, 4), (4,), (2, 3, 4))]
    block = Block(arg_types=types)
    values: list[SSAValue] = list(block.args)
    builders: list[Builder] = [unary, unary, binary, binary, movement, movement, heavy, branches]
    for _ in range(data.draw(st.integers(1, 12))):
        op = data.draw(st.sampled_from(builders))(data, values, ctx)
        if op is not None:
            block.add_op(op)
            values += op.results
    results = [v for v in values if isinstance(v.owner, Operation) and v.first_use is None][:4] or values[:1]
    block.add_op(ReturnOp(*results))
    function = FuncOp("main", (types, [value.type for value in results]), Region(block))
    return ModuleOp([function])


PIPELINES = (
    "fold-constant,dead-code-elimination,fuse-ops",
    "to-basic-block-normal-form",
    "to-a-normal-form",
    "to-graph-normal-form",
    "inline,eliminate-common-subexpr,dead-code-elimination",
    "fuse-ops",
    "fuse-ops{max-ops=2}",
    "simplify-expr",
    "eliminate-common-subexpr,simplify-expr,fuse-ops",
    "simplify-expr,fuse-ops,convert-graph-to-linalg",
)


@examples(60)
@given(st.data(), st.sampled_from(PIPELINES))
def test_passes_keep_results(data: st.DataObject, pipeline: str) -> None:
    ctx = StepwellContext()
    module = random_module(data, ctx)
    module.verify()
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 2, shape).astype(np.float32) for shape in ((3, 4), (4,), (2, 3, 4))]
    expected = interpret(module, ctx, "main", inputs)
    run_pipeline(module, pipeline, ctx)
    module.verify()
    for found, wanted in zip(interpret(module, ctx, "main", inputs), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)  # pyright: ignore[reportCallIssue, reportArgumentType]
    if "fuse-ops" in pipeline:
        outside = [op.name for op in main_block(module).ops if computes(op)]
        assert not outside
    before = str(module)
    run_pipeline(module, pipeline, ctx)
    assert str(module) == before, "a pass applied twice changes nothing the second time"


def main_block(module: ModuleOp) -> Block:
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return function.body.block
