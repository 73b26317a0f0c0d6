"""The graphs of loops, converted with types that are valid in every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.loops import may_carry, widened
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.builder import builder
from stepwell.lowering.onnx_to_graph.control.regions import RegionLowering, drop
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array


@dataclass
class ConvertedBody:
    """The converted graph of a loop: its arguments and yielded values."""

    region: Region
    carries: list[str]
    """Symbols for sizes that change between iterations; their values are the last arguments."""
    location: LocationAttr
    """The location of the loop, for new ops."""

    @property
    def block(self) -> Block:
        """The block of the region."""
        return self.region.block

    @property
    def yields(self) -> Sequence[SSAValue]:
        """The values that the block yields."""
        return yield_of(self.region).operands

    def emit(self, op: Operation) -> SSAValue:
        """Insert an op at the end of the block; returns its first result."""
        return builder(InsertPoint.before(yield_of(self.region)), self.location).value(op)

    def constant(self, array: Array, weights: WeightStore) -> SSAValue:
        """A constant in the block, at its beginning."""
        start = builder(InsertPoint.at_start(self.block), self.location)
        return start.value(graph.ConstantOp.of(array, weights))

    def finish(self, values: Sequence[SSAValue]) -> None:
        """Replace the yielded values."""
        end = graph.YieldOp(values)
        adopt_location(end, self.location)
        Rewriter.replace_op(yield_of(self.region), end, [])


def converted_body(
    lowering: RegionLowering,
    op: onnx.OnnxOp,
    given: Sequence[Attribute],
    inits: Sequence[SSAValue],
    *,
    carried_at: tuple[int, int],
    fixed: bool = False,
) -> ConvertedBody | None:
    """
    Convert the graph of a loop with argument types that are valid in every iteration.

    Args: `given` are the types of all arguments; those of the carried values, from `carried_at[0]` on, start
    as the types of `inits`. An iteration yields their next values from `carried_at[1]` on. A size that
    changes gets a symbol of its own, and the graph is converted again. Where shapes are `fixed`, like the
    states of Scan, a run-time check requires that the size does not change.
    Returns: None when operators without conversion are left.
    Raises: StepwellError `unsupported-dynamic-rank` for a carried value of changing rank or element type.
    """
    first, yielded = carried_at
    types = list(given)
    names: list[str] = []
    while True:
        trial = op.clone()
        Rewriter.insert_op(trial, InsertPoint.before(op))
        block = trial.regions[0].block
        for arg, type in zip(block.args, types, strict=True):
            _set_argument(arg, type, op.location)
        if not lowering.convert_regions(trial):
            for arg, type in zip(op.regions[0].block.args, types, strict=True):
                _set_argument(arg, type, op.location)
            drop(trial)
            return None
        if fixed:
            _check_shapes(trial, types[first : first + len(inits)], yielded)
        values = yield_of(trial.regions[0]).operands[yielded : yielded + len(inits)]
        changed = False
        for index, (init, value) in enumerate(zip(inits, values, strict=True)):
            type = types[first + index]
            if not may_carry(type, value.type, init.type):
                changed = True
                types[first + index] = widened(
                    op, f"{op.op_type}: carried value {index}", type, value.type, names
                )
        region = trial.detach_region(trial.regions[0])
        drop(trial)
        if not changed:
            for _ in names:
                region.block.insert_arg(IndexType(), len(region.block.args))
            return ConvertedBody(region, names, op.location)
        region.erase()


def _check_shapes(op: onnx.OnnxOp, types: Sequence[Attribute], yielded: int) -> None:
    """Add run-time checks to an iteration that carried values do not change their sizes."""
    end = yield_of(op.regions[0])
    rewriter = PatternRewriter(end)
    for index, type in enumerate(types, start=yielded):
        value = end.operands[index]
        if type.name != TensorType.name or value.type.name != TensorType.name:
            continue
        dims = dims_of(type)
        if len(dims) == len(dims_of(value.type)):
            for size, dim in zip(dims_of(value.type), dims, strict=True):
                what = f"carried value {index - yielded} must keep its size {dim}, found {size}"
                assume_equal(op, size, dim, what, rewriter)
            if dims_of(value.type) != dims:
                end.operands[index] = rewriter.insert(graph.ReshapeOp(value, dims)).result


def _set_argument(arg: BlockArgument, type: Attribute, location: LocationAttr) -> None:
    """
    Set the type of an argument; uses of a declared vector of one element get the scalar reshaped to [1].
    """
    declared = arg.type
    set_type(arg, type)
    if declared.name != TensorType.name or type.name != TensorType.name:
        return
    if len(dims_of(declared)) == 1 and not dims_of(type):
        shaped = graph.ReshapeOp(arg, [1])
        arg.replace_all_uses_with(shaped.result)
        builder(InsertPoint.at_start(arg.block), location).insert(shaped)
        shaped.operands[0] = arg
