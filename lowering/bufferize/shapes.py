"""The extents of a tensor as dimension expressions, found by following it to the op that defines them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.accesses import previous, viewed
from stepwell.lowering.bufferize.index_forms import IndexForms
from stepwell.lowering.bufferize.layouts import groups_of, kept_dims
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import InternalError


def extents_of(value: SSAValue, forms: IndexForms) -> tuple[Dim, ...]:
    """
    The extents of a tensor; those known at run time only as expressions over symbols and index values.

    Raises: InternalError for a tensor whose extents are not declared anywhere.
    """
    shape = tensor_of(value).get_shape()
    if DYNAMIC_INDEX not in shape:
        return tuple(Dim.of(n) for n in shape)
    found = _found(value, forms)
    return tuple(d if n == DYNAMIC_INDEX else Dim.of(n) for n, d in zip(shape, found, strict=True))


def _found(value: SSAValue, forms: IndexForms) -> Sequence[Dim]:
    """The extents of a tensor from the defining op, or from the tensor whose buffer it reuses."""
    match value.owner:
        case tensor.EmptyOp() as op:
            return _fill_in(tensor_of(value).get_shape(), [forms.of(size) for size in op.dynamic_sizes])
        case tensor.SplatOp() as op:
            return _fill_in(tensor_of(value).get_shape(), [forms.of(size) for size in op.dynamicSizes])
        case tensor.ExtractSliceOp() as op:
            sizes = forms.mixed(op.static_sizes, op.sizes)
            kept = kept_dims(op.static_sizes.get_values(), tensor_of(value).get_shape())
            return [sizes[i] for i in kept or ()]
        case tensor.ExpandShapeOp() as op:
            return forms.mixed(op.static_output_shape, op.dynamic_output_shape)
        case tensor.CollapseShapeOp() as op:
            inner = extents_of(op.src, forms)
            return [
                reduce(Dim.__mul__, (inner[i] for i in g), Dim.of(1)) for g in groups_of(op.reassociation)
            ]
        case scf.IfOp() as op:
            yielded = op.true_region.block.last_op
            assert yielded is not None
            pairs = zip(op.results, yielded.operands, strict=True)
            return extents_of(next(operand for result, operand in pairs if result is value), forms)
        case _:
            source = viewed(value) or previous(value)
            return extents_of(source, forms) if source is not None else _declared(value, forms)


def _fill_in(shape: Sequence[int], dynamic: Sequence[Dim]) -> list[Dim]:
    """A shape with dynamic extents replaced by expressions, in order."""
    rest = iter(dynamic)
    return [next(rest) if n == DYNAMIC_INDEX else Dim.of(n) for n in shape]


def _declared(value: SSAValue, forms: IndexForms) -> Sequence[Dim]:
    """The declared extents of a kernel's argument. Raises: InternalError for another value."""
    if value not in forms.declared:
        raise InternalError(value.owner, f"extents of {value.type} are not declared")
    return forms.declared[value]
