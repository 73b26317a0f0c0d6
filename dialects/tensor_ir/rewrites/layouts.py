"""Tensors stored in blocks: packed copies, and readers whose loops are split as the blocks are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import NAME
from stepwell.dialects.tensor_ir.affine_values import affine_value
from stepwell.dialects.tensor_ir.reshapes import collapse
from stepwell.dialects.tensor_ir.rewrites.split_loops import LoopSplit, split_dims, split_of
from stepwell.dialects.tensor_ir.slices import Slice, insert_slice
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    generic,
    single_dim,
    tensor_element,
    tensor_shape,
)

WHOLE, OUTER, INNER = "whole", "outer", "inner"


@dataclass(frozen=True)
class Layout:
    """The places of a tensor's elements: dimensions, and quotients and remainders of some by a number."""

    parts: tuple[tuple[int, str], ...]
    """The dimension of each index of a place, and which part of that it is."""
    blocks: Mapping[int, int]
    """The number by which dimensions are divided."""

    @staticmethod
    def of(map: AffineMap) -> Layout | None:
        """The layout that an index map describes; None for other maps."""
        parts: list[tuple[int, str]] = []
        blocks: dict[int, int] = {}
        for index in map.results:
            match index:
                case AffineDimExpr(position=dim):
                    parts.append((dim, WHOLE))
                case AffineBinaryOpExpr(
                    kind=AffineBinaryOpKind.FloorDiv | AffineBinaryOpKind.Mod as kind,
                    lhs=AffineDimExpr(position=dim),
                    rhs=AffineConstantExpr(value=block),
                ) if block > 0 and blocks.setdefault(dim, block) == block:
                    parts.append((dim, OUTER if kind is AffineBinaryOpKind.FloorDiv else INNER))
                case _:
                    return None
        layout = Layout(tuple(parts), blocks)
        is_whole = sorted(parts) == sorted(layout._expanded(map.num_dims))
        return layout if is_whole else None

    def _expanded(self, rank: int) -> list[tuple[int, str]]:
        """The parts in the order of the tensor's dimensions."""
        return [
            (dim, part)
            for dim in range(rank)
            for part in ((OUTER, INNER) if dim in self.blocks else (WHOLE,))
        ]

    def is_onto(self, value: SSAValue) -> bool:
        """Whether blocks divide the dimensions of a tensor."""
        return all(tensor_shape(value)[dim] % block == 0 for dim, block in self.blocks.items())

    def pack(self, emit: IRBuilder, value: SSAValue, name: str) -> linalg.GenericOp:
        """A copy of a tensor in this layout, as an op of a name; blocks are filled with zeros."""
        shape, element = tensor_shape(value), tensor_element(value)
        if not self.is_onto(value):
            value = _padded(emit, value, [-(-n // self.blocks.get(d, 1)) * self.blocks.get(d, 1)
                                          for d, n in enumerate(shape)])  # fmt: skip
        padded = tensor_shape(value)
        pieces = [(padded[d] // b, b) if (b := self.blocks.get(d)) else () for d in range(len(shape))]
        expanded = split_dims(emit, value, pieces)
        order = self._expanded(len(shape))
        read = [AffineDimExpr(self.parts.index(part)) for part in order]
        sizes = [tensor_shape(expanded)[order.index(part)] for part in self.parts]
        block = Block(arg_types=[element, element])
        block.add_op(linalg.YieldOp(block.args[0]))
        rank = len(order)
        maps = [AffineMap(rank, 0, tuple(read)), AffineMap.identity(rank)]
        kinds = [IteratorTypeAttr.parallel()] * rank
        made = emit.insert(generic([expanded], [emit.empty(element, sizes)], Region(block), maps, kinds))
        made.attributes[NAME] = StringAttr(name)
        made.results[0].name_hint = name
        return made

    def read(self, op: linalg.GenericOp, position: int, packed: SSAValue) -> linalg.GenericOp:
        """An op that reads the packed tensor as an operand, with loops over the parts where possible."""
        value, view = op.inputs[position], Structured.of(op)
        assert view is not None
        loops = {dim: single_dim(view.maps[position].results[dim]) for dim in self.blocks}
        if self.is_onto(value) and None not in loops.values():
            for dim, block in sorted(self.blocks.items()):
                view = Structured.of(op)
                assert view is not None
                loop = loops[dim]
                assert loop is not None
                split = split_of(view, loop, (tensor_shape(value)[dim] // block, block))
                assert split is not None  # the operand itself is indexed by the loop
                op = split_loop(view, split)
            order = self._expanded(len(tensor_shape(value)))
            results = list(op.indexing_maps.data[position].data.results)
            indices = [results[order.index(part)] for part in self.parts]
        else:
            results = list(view.maps[position].results)
            indices = [_part(results[dim], part, self.blocks.get(dim, 1)) for dim, part in self.parts]
        maps = [attr.data for attr in op.indexing_maps]
        maps[position] = AffineMap(maps[position].num_dims, 0, tuple(indices))
        inputs = list(op.inputs)
        inputs[position] = packed
        made = generic(inputs, op.outputs, op.detach_region(op.body), maps, op.iterator_types.data)
        made.attributes |= op.attributes
        IRBuilder.before(op).insert(made)
        _replace(op, made)
        return made


def _part(index: AffineExpr, part: str, block: int) -> AffineExpr:
    if part == WHOLE:
        return index
    return index // block if part == OUTER else index % block


def _padded(emit: IRBuilder, value: SSAValue, sizes: list[int]) -> SSAValue:
    """A tensor of these sizes that begins with a tensor, and is zero after it."""
    shape, element = tensor_shape(value), tensor_element(value)
    empty = emit.empty(element, sizes)
    zero = emit.number(0, element)
    filled = emit.insert(linalg.FillOp([zero], [empty], [empty.type])).results[0]
    return insert_slice(emit, value, filled, Slice((0,) * len(shape), shape, (1,) * len(shape)))


def split_loop(view: Structured, split: LoopSplit) -> linalg.GenericOp:
    """The op with a loop as two loops, on operands whose dimensions are split; results are merged again."""
    op, emit = view.op, IRBuilder.before(view.op)
    assert isinstance(op, linalg.GenericOp)
    operands = [split.operand(emit, v, m) for v, m in zip(op.operands, view.maps, strict=True)]
    maps, count = [split.map(map, view.rank + 1) for map in view.maps], len(view.inputs)
    kinds = [*op.iterator_types.data, op.iterator_types.data[split.dim]]
    body = op.detach_region(op.body)
    for index in [inner for inner in body.block.ops if isinstance(inner, linalg.IndexOp)]:
        if index.dim.value.data == split.dim:
            inside = IRBuilder.before(index)
            dims = {d: inside.value(linalg.IndexOp(d)) for d in (split.outer, split.inner)}
            values = [dims.get(d, 0) for d in range(view.rank + 1)]
            index.result.replace_all_uses_with(inside.materialize(affine_value(inside, split.expr(), values)))
            Rewriter.erase_op(index)
    made = emit.insert(generic(operands[:count], operands[count:], body, maps, kinds))
    made.attributes |= op.attributes
    _replace(op, made, [
        collapse(emit, new, _groups(map, split))
        for new, map in zip(made.results, view.init_maps, strict=True)
    ])  # fmt: skip
    return made


def _groups(map: AffineMap, split: LoopSplit) -> list[list[int]]:
    """The dimensions of a split tensor, in a group for each dimension of the whole tensor."""
    groups: list[list[int]] = []
    at = 0
    for index in map.results:
        count = 2 if single_dim(index) == split.dim else 1
        groups.append([*range(at, at + count)])
        at += count
    return groups


def _replace(op: linalg.GenericOp, made: linalg.GenericOp, results: list[SSAValue] | None = None) -> None:
    """Put an op in place of another one, whose names its results get."""
    hints = [result.name_hint for result in op.results]
    Rewriter.replace_op(op, [], results if results is not None else list(made.results))
    for result, hint in zip(made.results, hints, strict=True):
        result.name_hint = hint
