"""Loops of structured ops made longer: operands with padding after them, and results without theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects import arith, tensor
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.arith import SelectOp
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.combiners import Combiner, combiner_of
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    generic,
    linear,
    single_dim,
    tensor_element,
    tensor_shape,
)
from stepwell.dialects.tensor_ir.tiles import dim_size

_Fold: TypeAlias = Callable[[Sequence[float]], float]
_FOLDS: Mapping[type[Operation], _Fold] = {
    arith.AddfOp: lambda x: x[0] + x[1],
    arith.AddiOp: lambda x: x[0] + x[1],
    arith.SubfOp: lambda x: x[0] - x[1],
    arith.SubiOp: lambda x: x[0] - x[1],
    arith.MulfOp: lambda x: x[0] * x[1],
    arith.MuliOp: lambda x: x[0] * x[1],
    arith.ExtFOp: lambda x: x[0],
    arith.ExtSIOp: lambda x: x[0],
    arith.ExtUIOp: lambda x: x[0],
    arith.SIToFPOp: lambda x: x[0],
    arith.UIToFPOp: lambda x: x[0],
}
"""Ops whose results for padding are known."""


@dataclass(frozen=True)
class PaddedLoop:
    """
    A loop of an op with more iterations: those after the old ones compute what nothing reads, or, of a sum,
    add the neutral element.
    """

    view: Structured
    dim: int
    extent: int

    @cached_property
    def combiner(self) -> Combiner | None:
        """That of a summed loop; None for a loop whose iterations are independent."""
        return None if self.view.parallel[self.dim] else combiner_of(self.view.body)

    @cached_property
    def fill(self) -> float | None:
        """The number after the elements of inputs; None: 0, and a condition leaves steps of a sum out."""
        if self.combiner is None:
            return 0
        for number in (0.0, float(self.combiner.neutral)):
            if self._result_of(self.combiner.value, number) == self.combiner.neutral:
                return number
        return None

    def shape(self, position: int) -> list[int]:
        """The sizes of an operand with padding, `DYNAMIC_INDEX` where they are known at run time."""
        sizes = list(tensor_shape(self.view.op.operands[position]))
        for axis, index in enumerate(self.view.maps[position].results):
            terms = linear(index)
            if terms is None or self.dim not in terms.dims:
                continue
            moved = dict(terms.terms)[self.dim] * (self.extent - self._old)
            sizes[axis] = self.extent if single_dim(index) == self.dim else sizes[axis] + moved
        return sizes

    @property
    def _old(self) -> int:
        extent = self.view.extents[self.dim]
        assert extent is not None
        return extent

    def write(self) -> linalg.GenericOp:
        """The op with the longer loop, in place of the op."""
        view, emit = self.view, IRBuilder.before(self.view.op)
        op = view.op
        assert isinstance(op, linalg.GenericOp)
        count = len(view.inputs)
        operands = [self._operand(emit, value, at) for at, value in enumerate(op.operands)]
        if self.fill is None:
            self._guard()
        body = op.detach_region(op.body)
        made = generic(operands[:count], operands[count:], body, view.maps, op.iterator_types.data)
        made.attributes |= op.attributes
        emit.insert(made)
        for old, new, map in zip(op.results, made.results, view.init_maps, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(self._result(emit, old, new, map))
        op.detach()
        op.erase()
        return made

    def _result_of(self, value: SSAValue, number: float) -> float | None:
        """The value that steps after the old ones have, if inputs are a number there; None: not known."""
        if isinstance(value, BlockArgument):
            return number if self._is_padded_with(value, number) else None
        assert isinstance(value, OpResult)
        fold = next((fold for kind, fold in _FOLDS.items() if isinstance(value.op, kind)), None)
        parts = [self._result_of(operand, number) for operand in value.op.operands]
        known = [part for part in parts if part is not None]
        return None if fold is None or len(known) < len(parts) else fold(known)

    def _is_padded_with(self, value: BlockArgument, number: float) -> bool:
        """Whether the elements of an operand after the old ones are a number."""
        if value.owner is not self.view.body or value.index >= len(self.view.inputs):
            return False
        assert self.combiner is not None
        is_of_type = number == 0 or value.type == self.combiner.value.type
        indices = self.view.maps[value.index].results
        return is_of_type and any(single_dim(index) == self.dim for index in indices)

    def _operand(self, emit: IRBuilder, value: SSAValue, position: int) -> SSAValue:
        """An operand with padding after its elements."""
        old, new = tensor_shape(value), self.shape(position)
        if list(old) == new:
            return value
        element = tensor_element(value)
        sizes: list[Index] = [
            size if size != was else dim_size(emit, value, axis)
            for axis, (size, was) in enumerate(zip(new, old, strict=True))
        ]
        empty = emit.empty(element, sizes)
        if isinstance(value.owner, tensor.EmptyOp):
            return empty
        if isinstance(fill := value.owner, linalg.FillOp):
            return emit.insert(linalg.FillOp(list(fill.inputs), [empty], [empty.type])).results[0]
        number = emit.number(self.fill or 0, element)
        filled = emit.insert(linalg.FillOp([number], [empty], [empty.type])).results[0]
        return insert_slice(emit, value, filled, _whole(emit, value))

    def _result(self, emit: IRBuilder, old: SSAValue, new: SSAValue, map: AffineMap) -> SSAValue:
        """A result without padding."""
        if old.type == new.type:
            return new
        sizes: list[Index] = [
            self._old if single_dim(index) == self.dim else dim_size(emit, new, axis)
            for axis, index in enumerate(map.results)
        ]
        return extract_slice(emit, new, Slice((0,) * len(sizes), tuple(sizes), (1,) * len(sizes)))

    def _guard(self) -> None:
        """Let steps after the old ones add the neutral element."""
        combiner = self.combiner
        assert combiner is not None
        inside = IRBuilder.before(combiner.op)
        index = inside.value(linalg.IndexOp(self.dim))
        is_old = inside.compare("slt", index, inside.materialize(self._old))
        neutral = inside.number(combiner.neutral, combiner.value.type)
        chosen = inside.value(SelectOp(is_old, combiner.value, neutral))
        at = [operand is combiner.value for operand in combiner.op.operands].index(True)
        combiner.op.operands[at] = chosen


def _whole(emit: IRBuilder, value: SSAValue) -> Slice:
    shape = tensor_shape(value)
    sizes = tuple(dim_size(emit, value, axis) for axis in range(len(shape)))
    return Slice((0,) * len(shape), sizes, (1,) * len(shape))
