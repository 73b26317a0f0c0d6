"""The table of accesses for the in-place analysis: the tensors that each op reads, overwrites and views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from xdsl.dialects import arith, func, scf, tensor, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, TensorType, VectorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from stepwell.dialects.linalg_ext import GridOp
from stepwell.dialects.types import Tensor, tensor_of
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class Destination:
    """An operand that an op overwrites, with the result that has the outcome."""

    index: int
    """The operand's position."""
    operand: SSAValue
    result: SSAValue
    is_read: bool
    """Whether the outcome depends on the operand's old contents; otherwise every element is overwritten."""


def is_tensor(value: SSAValue) -> bool:
    """Whether a value is a ranked tensor."""
    # `isinstance` takes ten times as long, and this runs for every value.
    return type(value.type) is TensorType


def has_tensors(op: Operation) -> bool:
    """Whether an op has tensors among its operands or results: most ops of a kernel have vectors."""
    for value in op.operands:
        if type(value.type) is TensorType:
            return True
    return makes_tensors(op)


def makes_tensors(op: Operation) -> bool:
    """Whether an op has tensors among its results."""
    for result in op.results:
        if type(result.type) is TensorType:
            return True
    return False


def destinations(op: Operation) -> Sequence[Destination]:
    """
    The operands of an op that share a buffer with a result unless a conflict forbids it (init operands).
    """
    if not op.results or not is_tensor(op.results[0]):
        return ()
    match op:
        case LinalgStructuredOperation():
            return _structured_destinations(op)
        case GridOp():
            index = list(op.operands).index(op.written)
            return (Destination(index, op.written, op.results[0], False),)
        case vector.TransferWriteOp():
            if op.result is None:
                return ()
            return (Destination(1, op.source, op.result, not _writes_all(op)),)
        case tensor.InsertOp():
            return (Destination(1, op.dest, op.result, True),)
        case tensor.InsertSliceOp():
            return (Destination(1, op.dest, op.result, not _is_whole(op)),)
        case _:
            return ()


def sources(op: Operation) -> Iterator[SSAValue]:
    """
    The tensors whose elements an op reads, without its destinations; a body's captured tensors included.
    """
    if not op.regions and not any(is_tensor(operand) for operand in op.operands):
        return
    match op:
        case LinalgStructuredOperation():
            yield from (
                v for v, arg in zip(op.inputs, op.body.block.args, strict=False) if is_tensor(v) and arg.uses
            )
            for inner in op.body.walk():
                yield from (v for v in inner.operands if is_tensor(v) and not isinstance(inner, tensor.DimOp))
        case GridOp():
            yield from (value for value in op.arguments() if value is not None)
        case tensor.ExtractOp():
            yield op.tensor
        case tensor.InsertSliceOp():
            yield op.source
        case vector.TransferReadOp():
            if is_tensor(op.source):
                yield op.source
        case _:
            pass


def viewed(value: SSAValue) -> SSAValue | None:
    """The tensor of which a value is a view: a slice, or the same elements in another shape or type."""
    match value.owner:
        case tensor.ExtractSliceOp(source=source) | tensor.CastOp(source=source):
            return source
        case tensor.CollapseShapeOp(src=source) | tensor.ExpandShapeOp(src=source):
            return source
        case _:
            return None


def _structured_destinations(op: LinalgStructuredOperation) -> Sequence[Destination]:
    """The outputs of a `linalg` op as destinations; read when its body uses them or not all is written."""
    count = len(op.inputs)
    maps = op.get_indexing_maps().data[count:]
    args = op.body.block.args[count:]
    return tuple(
        Destination(
            count + k, operand, result, bool(args[k].uses) or not covers(maps[k].data, tensor_of(operand))
        )
        for k, (operand, result) in enumerate(zip(op.outputs, op.res, strict=True))
    )


def covers(map: AffineMap, type: Tensor) -> bool:
    """Whether an indexing map reaches every element of its operand, whatever the extents."""
    seen: set[int] = set()
    for expr, extent in zip(map.results, type.get_shape(), strict=True):
        if isinstance(expr, AffineDimExpr) and expr.position not in seen:
            seen.add(expr.position)
        elif not (isinstance(expr, AffineConstantExpr) and expr.value == 0 and extent == 1):
            return False
    return True


def _writes_all(op: vector.TransferWriteOp) -> bool:
    """Whether a `vector.transfer_write` overwrites its whole tensor: same shape, no mask, all indices 0."""
    type = cast("TensorType[Attribute]", op.source.type)
    shape = cast("VectorType[Attribute]", op.vector.type).get_shape()
    if shape != type.get_shape():
        return False
    if op.mask is not None or not op.permutation_map.data.is_minor_identity():
        return False
    return all(_is_zero(index) for index in op.indices)


def _is_zero(index: SSAValue) -> bool:
    """Whether a value is the integer constant 0."""
    op = index.owner
    return isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) and op.value.value.data == 0


def _is_whole(op: tensor.InsertSliceOp) -> bool:
    """Whether a `tensor.insert_slice` replaces its whole destination: static sizes, offsets 0, strides 1."""

    def numbers(attr: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
        return tuple(attr.get_values())

    shape = tensor_of(op.dest).get_shape()
    rank = len(shape)
    return (
        numbers(op.static_sizes) == shape
        and numbers(op.static_offsets) == (0,) * rank
        and numbers(op.static_strides) == (1,) * rank
        and not op.sizes
    )


@dataclass(frozen=True)
class Carried:
    """A tensor that an `scf.for` carries from iteration to iteration."""

    index: int
    """The operand's position."""
    init: SSAValue
    arg: SSAValue
    yielded: SSAValue
    result: SSAValue


def carried_tensors(op: scf.ForOp) -> Sequence[Carried]:
    """The tensors among the values that a loop carries."""
    body = op.body.block
    assert body.last_op is not None
    values = zip(op.iter_args, body.args[1:], body.last_op.operands, op.res, strict=True)
    return [Carried(3 + k, *each) for k, each in enumerate(values) if is_tensor(each[0])]


UPDATES = (vector.TransferWriteOp, tensor.InsertOp, tensor.InsertSliceOp)
"""The ops whose result is their second operand with other elements."""
VIEWS = (tensor.ExtractSliceOp, tensor.CastOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp)
"""The ops whose results are views of tensors, as `viewed` has it."""
# Ops that may have tensors among their operands and results.
_KNOWN = (
    GridOp,
    LinalgStructuredOperation,
    arith.ConstantOp,
    func.ReturnOp,
    scf.ForOp,
    scf.IfOp,
    scf.YieldOp,
    tensor.CastOp,
    tensor.CollapseShapeOp,
    tensor.DimOp,
    tensor.EmptyOp,
    tensor.ExpandShapeOp,
    tensor.ExtractOp,
    tensor.ExtractSliceOp,
    tensor.FromElementsOp,
    tensor.InsertOp,
    tensor.InsertSliceOp,
    tensor.SplatOp,
    vector.TransferReadOp,
    vector.TransferWriteOp,
)


@cache
def may_have_tensors(op_type: type[Operation]) -> bool:
    """Whether ops of a class are converted where they have tensors; most ops of a kernel are on vectors."""
    return issubclass(op_type, _KNOWN)


def refuse_unknown(body: Block) -> None:
    """
    Check that the pass can convert every op on tensors.

    Raises: StepwellError `unsupported-op` for the first other one.
    """
    for op in body.walk():
        if not may_have_tensors(type(op)) and has_tensors(op):
            raise StepwellError("unsupported-op", op, f"{op.name} on tensors cannot be converted to buffers")


def previous(value: SSAValue) -> SSAValue | None:
    """
    The tensor whose buffer a value would reuse: the overwritten operand, or the initial value of a loop.
    """
    op = value.owner
    if isinstance(op, Block):
        loop = op.parent_op()
        if isinstance(loop, scf.ForOp) and isinstance(value, BlockArgument) and value.index > 0:
            return loop.iter_args[value.index - 1]
        return None
    if isinstance(op, scf.ForOp):
        return next(carried.init for carried in carried_tensors(op) if carried.result is value)
    if isinstance(op, UPDATES):
        return op.operands[1]
    return next((d.operand for d in destinations(op) if d.result is value), None)
