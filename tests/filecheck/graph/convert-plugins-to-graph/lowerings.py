"""A plugin for the tests of lowerings: ops of a dialect whose lowerings are functions and a pattern."""

from collections.abc import Sequence

from stepwell.plugin import (
    Attribute,
    FloatAttr,
    Op,
    PatternRewriter,
    Pure,
    RewritePattern,
    SSAValue,
    TensorType,
    VerifyException,
    constant,
    dims_of,
    f32,
    graph,
    lower,
    op,
    op_type_rewrite_pattern,
    operand_def,
    prop_def,
    result_def,
    tensor_of,
    tensor_type,
    traits_def,
)


@op("lowered.clamp")
class ClampOp(Op):
    """The elements between two numbers."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    low = prop_def(FloatAttr.constr(f32))
    high = prop_def(FloatAttr.constr(f32))
    traits = traits_def(Pure())
    assembly_format = "$x `between` $low `and` $high attr-dict `:` type($x) `->` type($result)"

    def check(self) -> None:
        if self.low.value.data > self.high.value.data:
            raise VerifyException(f"nothing is between {self.low.value.data} and {self.high.value.data}")


@lower(ClampOp, to="graph")
def lower_clamp(op: ClampOp, rewriter: PatternRewriter) -> SSAValue:
    """A maximum, then a minimum."""
    least = graph.MaximumOp(op.x, constant(rewriter, op.low.value.data, like=op.x)).result
    return graph.MinimumOp(least, constant(rewriter, op.high.value.data, like=op.x)).result


@op("lowered.hard_swish")
class HardSwishOp(Op):
    """x * clamp(x / 6 + 1 / 2, 0, 1)."""

    x = operand_def(TensorType)
    result = result_def(TensorType)


@lower(HardSwishOp)
class HardSwishLowering(RewritePattern):
    """By another op of the dialect."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: HardSwishOp, rewriter: PatternRewriter) -> None:
        sixth = rewriter.insert(graph.MultiplyOp(op.x, constant(rewriter, 1 / 6, like=op.x))).result
        shifted = rewriter.insert(graph.AddOp(sixth, constant(rewriter, 0.5, like=op.x))).result
        gate = rewriter.insert(ClampOp(shifted, low=0.0, high=1.0)).result
        rewriter.replace(op, graph.MultiplyOp(op.x, gate))


@op("lowered.rows")
class RowsOp(Op):
    """The sum of each row."""

    x = operand_def(TensorType)
    result = result_def(TensorType)

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(tensor_of(self.x).element_type, dims_of(self.x.type)[:-1])]


@lower(RowsOp)
def lower_rows(op: RowsOp, rewriter: PatternRewriter) -> graph.ReduceOp:
    """A reduction, which keeps the dimension where the op says so."""
    rank = len(dims_of(op.x.type))
    return graph.ReduceOp(op.x, "sum", [rank - 1], keep_dims="keep" in op.attributes)


@op("lowered.nothing")
class NothingOp(Op):
    """An op whose lowering forgets its result."""

    x = operand_def(TensorType)
    result = result_def(TensorType)


@lower(NothingOp)
def lower_nothing(op: NothingOp, rewriter: PatternRewriter) -> None:
    """Builds an op, and returns nothing."""
    rewriter.insert(graph.ReluOp(op.x))


@op("lowered.kept")
class KeptOp(Op):
    """An op that a backend may compute, and nothing else."""

    x = operand_def(TensorType)
    result = result_def(TensorType)


@op("lowered.other_type")
class OtherTypeOp(Op):
    """An op whose pattern replaces it by another type."""

    x = operand_def(TensorType)
    result = result_def(TensorType)


@lower(OtherTypeOp)
class OtherTypeLowering(RewritePattern):
    """By a comparison."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: OtherTypeOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, graph.LessOp(op.x, op.x))


@op("lowered.by_itself")
class ByItselfOp(Op):
    """An op whose function replaces it, as a pattern does."""

    x = operand_def(TensorType)
    result = result_def(TensorType)


@lower(ByItselfOp)
def lower_by_itself(op: ByItselfOp, rewriter: PatternRewriter) -> None:
    """A relu."""
    rewriter.replace(op, graph.ReluOp(op.x))
