"""Structured ops on buffers as loops with maps, and the computation of their elements by one thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerType, MemRefType, NoneAttr
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.gpu.attributes import WORKGROUP
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.affine_values import affine_value
from stepwell.dialects.tensor_ir.reshapes import consecutive_groups
from stepwell.dialects.tensor_ir.structured import single_dim


@dataclass(frozen=True, eq=False)
class Nest:
    """A `linalg.generic` or `linalg.fill` on buffers."""

    op: GenericOp | FillOp
    maps: tuple[AffineMap, ...]
    """The map of each operand, inputs first."""
    parallel: tuple[bool, ...]
    """Whether the iterations of each loop are independent."""

    @staticmethod
    def of(op: Operation) -> Nest | None:
        """The loops of an op; None when it is no structured op on buffers."""
        if isinstance(op, GenericOp) and not op.results:
            kinds = tuple(kind.data is IteratorType.PARALLEL for kind in op.iterator_types)
            maps = tuple(map.data for map in op.indexing_maps)
            return None if any(map.num_symbols for map in maps) else Nest(op, maps, kinds)
        if isinstance(op, FillOp) and not op.results:
            rank = len(buffer_type(op.outputs[0]).get_shape())
            return Nest(op, (AffineMap(rank, 0, ()), AffineMap.identity(rank)), (True,) * rank)
        return None

    @property
    def outputs(self) -> Sequence[SSAValue]:
        """The buffers that are written."""
        return self.op.outputs

    @property
    def inputs(self) -> Sequence[SSAValue]:
        """The operands that are read only."""
        return self.op.inputs

    @property
    def output_maps(self) -> tuple[AffineMap, ...]:
        """The maps of the outputs."""
        return self.maps[len(self.inputs) :]

    @cached_property
    def captured(self) -> set[SSAValue]:
        """The roots of buffers that the body reads at indices of its own, as a gather does."""
        values = (value for op in self.op.body.walk() for value in op.operands)
        return {root_of(value) for value in values if is_buffer(value)}

    @cached_property
    def sources(self) -> list[tuple[SSAValue, int] | None]:
        """
        For each loop, an operand and a dimension with its extent; dimensions of known size are preferred.
        """
        found: list[tuple[SSAValue, int] | None] = [None] * len(self.parallel)
        for value, map in zip(self.op.operands, self.maps, strict=True):
            for position, expr in enumerate(map.results):
                if (loop := single_dim(expr)) is None:
                    continue
                is_known = buffer_type(value).get_shape()[position] != DYNAMIC_INDEX
                if found[loop] is None or is_known:
                    found[loop] = (value, position)
        return found

    @cached_property
    def extents(self) -> list[int | None]:
        """The iterations of each loop; None where they are known at run time only."""
        sizes = [
            DYNAMIC_INDEX if at is None else buffer_type(at[0]).get_shape()[at[1]] for at in self.sources
        ]
        return [None if size == DYNAMIC_INDEX else size for size in sizes]

    def extent(self, build: IRBuilder, loop: int) -> Index:
        """The iterations of a loop."""
        if (known := self.extents[loop]) is not None:
            return known
        source = self.sources[loop]
        assert source is not None
        return size_of(build, *source)

    def has_extents(self) -> bool:
        """Whether an operand has the extent of each loop."""
        return None not in self.sources


def buffer_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a buffer."""
    return cast("MemRefType[Attribute]", value.type)


def size_of(build: IRBuilder, buffer: SSAValue, axis: int) -> Index:
    """A size of a buffer."""
    size = buffer_type(buffer).get_shape()[axis]
    return build.value(memref.DimOp(buffer, build.materialize(axis))) if size == DYNAMIC_INDEX else size


def shared_array(build: IRBuilder, element: Attribute, shape: Sequence[int], name: str) -> SSAValue:
    """New memory of the block."""
    memory = build.value(memref.AllocOp.get(element, shape=shape, memory_space=WORKGROUP))
    memory.name_hint = name
    return memory


def is_buffer(value: SSAValue) -> bool:
    """Whether a value is a buffer."""
    return isinstance(value.type, MemRefType)


def root_of(value: SSAValue) -> SSAValue:
    """The buffer that a view is of."""
    while isinstance(value, OpResult) and value.op.operands and is_buffer(value.op.operands[0]):
        value = value.op.operands[0]
    return value


_RESHAPES = (memref.CastOp, memref.CollapseShapeOp, memref.ExpandShapeOp)
"""Views of all elements of a buffer, in the same order."""


def has_whole_bytes(value: SSAValue) -> bool:
    """Whether elements of a buffer have whole bytes, as memory of a block and vectors have them."""
    element = buffer_type(value).element_type
    return isinstance(element, AnyFloat) or (isinstance(element, IntegerType) and element != IntegerType(1))


def is_dense(value: SSAValue) -> bool:
    """Whether a value is a whole buffer in row-major order, with elements of whole bytes."""
    type = buffer_type(value)
    if not has_whole_bytes(value) or not type.get_shape() or type.layout != NoneAttr():
        return False
    while isinstance(value, OpResult) and isinstance(value.op, _RESHAPES):
        value = value.op.operands[0]
    return value is root_of(value) and buffer_type(value).layout == NoneAttr()


def has_aligned_rows(value: SSAValue, extent: Index, count: int) -> bool:
    """
    Whether each row of a dense buffer begins at a multiple of `count` elements.

    Args: `extent` is the extent of the loop along a row, which is also the row's length.
    """
    if not isinstance(extent, int) or extent % count or not is_dense(value):
        return False
    return buffer_type(value).get_shape()[-1] == extent


def flat_view(build: IRBuilder, value: SSAValue) -> SSAValue:
    """A dense buffer with a single dimension."""
    type = buffer_type(value)
    shape = type.get_shape()
    if len(shape) == 1:
        return value
    size = DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)
    flat = MemRefType(type.element_type, [size], memory_space=type.memory_space)
    properties = {"reassociation": consecutive_groups([len(shape)])}
    return build.value(
        memref.CollapseShapeOp.create(operands=[value], result_types=[flat], properties=properties)
    )


def load_element(build: IRBuilder, operand: SSAValue, map: AffineMap, indices: Sequence[Index]) -> SSAValue:
    """The element of an operand at a point of the loops; the operand itself if it is a number."""
    if not is_buffer(operand):
        return operand
    places = [build.materialize(affine_value(build, expr, indices)) for expr in map.results]
    return build.value(memref.LoadOp.get(operand, places))


def store_element(
    build: IRBuilder, value: SSAValue, buffer: SSAValue, map: AffineMap, indices: Sequence[Index]
) -> None:
    """Store an element at a point of the loops."""
    places = [build.materialize(affine_value(build, expr, indices)) for expr in map.results]
    build.insert(memref.StoreOp.get(value, buffer, places))


def computed(
    build: IRBuilder, nest: Nest, operands: Sequence[SSAValue], indices: Sequence[Index]
) -> list[SSAValue]:
    """The results of an op's body for elements of its operands, at a point of its loops."""
    body = nest.op.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, operands, strict=True))
    for op in body.ops:
        if isinstance(op, YieldOp):
            return [values.get(value, value) for value in op.operands]
        if isinstance(op, IndexOp):
            values[op.result] = build.materialize(indices[op.dim.value.data])
        elif isinstance(op, arith.ConstantOp):
            values[op.result] = build.constant(op.value, op.result.type)
        else:
            build.insert(op.clone(values))
    return []


def split_number(build: IRBuilder, number: Index, extents: Sequence[Index]) -> list[Index]:
    """The indices of nested loops from the number of an iteration, the last loop fastest."""
    found: list[Index] = []
    for position in reversed(range(len(extents))):
        extent = extents[position]
        index = number
        if extent == 1:
            index = 0
        elif position:
            if isinstance(extent, int):
                index, number = build.remainder(number, extent), build.quotient(number, extent)
            else:
                index = build.binary(arith.RemUIOp, number, extent)
                number = build.binary(arith.DivUIOp, number, extent)
        found.insert(0, index)
    return found


def product_of(build: IRBuilder, extents: Sequence[Index]) -> Index:
    """The product of extents."""
    total: Index = 1
    for extent in extents:
        total = build.times(total, extent)
    return total
