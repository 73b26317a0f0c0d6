"""A plugin for the tests of operators of other domains: a function, an op class, a pattern."""

from stepwell.plugin import (
    IntegerAttr,
    Op,
    PatternRewriter,
    RewritePattern,
    SSAValue,
    TensorType,
    constant,
    dims_of,
    graph,
    i64,
    lower,
    onnx,
    onnx_op,
    op,
    op_type_rewrite_pattern,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    tensor_type,
    value_of,
)


@onnx_op("check.functions", "Cube")
def cube(rewriter: PatternRewriter, x: SSAValue, *, scale: float = 1.0) -> graph.MultiplyOp:
    """The third power, times a number."""
    square = graph.MultiplyOp(x, x).result
    return graph.MultiplyOp(graph.MultiplyOp(square, x).result, constant(rewriter, scale, like=x))


@onnx_op("check.functions", "Cube", since=3)
def cube_of_three(rewriter: PatternRewriter, x: SSAValue) -> graph.MultiplyOp:
    """Without the number."""
    return graph.MultiplyOp(graph.MultiplyOp(x, x).result, x)


@onnx_op("check.functions", "Norm", types=lambda x, bias=None, *, axis: (x.type, tensor_type(i64, [])))
def norm(
    rewriter: PatternRewriter, x: SSAValue, bias: SSAValue | None = None, *, axis: int
) -> tuple[SSAValue, SSAValue]:
    """Softmax with a bias, and the number of elements along its axis."""
    biased = x if bias is None else graph.AddOp(x, bias).result
    length = constant(rewriter, dims_of(x.type)[axis].value)
    return graph.SoftmaxOp(biased, axis % len(dims_of(x.type))).result, length


@onnx_op("check.functions", "Sum")
def total(rewriter: PatternRewriter, *inputs: SSAValue) -> SSAValue:
    """The sum of any number of inputs, constants at the end added up here."""
    numbers = [value for each in inputs if (value := value_of(each)) is not None]
    values = [each for each in inputs if value_of(each) is None]
    for each in (*values[1:], *([constant(rewriter, sum(numbers))] if numbers else [])):
        values[0] = graph.AddOp(values[0], each).result
    return values[0]


@onnx_op("check.ops", "Shift")
@op("operated.shift")
class ShiftOp(Op):
    """A shift by one number, after another shift by a tensor."""

    x = operand_def(TensorType)
    by = opt_operand_def(TensorType)
    result = result_def(TensorType)
    number = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))


@lower(ShiftOp)
def lower_shift(op: ShiftOp, rewriter: PatternRewriter) -> SSAValue:
    """`operated.shift` → one or two additions."""
    value = op.x if op.by is None else graph.AddOp(op.x, op.by).result
    return graph.AddOp(value, constant(rewriter, op.number.value.data, like=op.x)).result


@onnx_op("check.patterns", "Branch")
class BranchLowering(RewritePattern):
    """An operator with a graph, whose output is dropped where nothing but the input is known."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CallOp, rewriter: PatternRewriter) -> None:
        if op.graphs is not None:
            rewriter.replace(op, graph.NegOp(op.inputs[0]))
