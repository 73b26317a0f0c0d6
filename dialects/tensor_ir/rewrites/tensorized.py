"""Code in place of the tiles of a structured op: the loops around it, and slices of the tile's operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.reshapes import collapse, consecutive_groups
from stepwell.dialects.tensor_ir.slices import Slice, insert_slice
from stepwell.dialects.tensor_ir.structured import Structured, tensor_shape
from stepwell.dialects.tensor_ir.tiles import Tile, TileLoop, build_loops, cut, dim_size
from stepwell.dialects.types import tensor_of


@dataclass(frozen=True)
class OuterLoop:
    """A loop around the tiles, which its step divides."""

    dim: int
    step: int
    is_parallel: bool
    is_unrolled: bool


@dataclass(frozen=True)
class Tensorized:
    """A structured op whose tiles a function computes."""

    view: Structured
    loops: tuple[OuterLoop, ...]
    """From the outermost one; loops of one dimension are blocks in blocks."""
    sizes: tuple[int, ...]
    """The tile."""
    code: FuncOp
    arguments: Mapping[int, int]
    """Maps arguments of the function to operands of the op; the last ones are its inits."""

    def write(self) -> None:
        """Build the loops with the code inside, in place of the op."""
        emit, op = IRBuilder.before(self.view.op), self.view.op
        final = self._nest(emit, self.loops, {}, list(self.view.inits))
        for result, value in zip(op.results, final, strict=True):
            value.name_hint = result.name_hint
            result.replace_all_uses_with(value)
        op.detach()
        op.erase()

    def _nest(
        self,
        emit: IRBuilder,
        loops: Sequence[OuterLoop],
        tiles: Mapping[int, Tile],
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """The loops inside of the tiles of those outside."""
        if not loops:
            return self._tile(emit, tiles, carried)
        loop, *inner = loops
        block = tiles.get(loop.dim, Tile(0, self.view.extents[loop.dim] or 0))
        built = TileLoop(
            loop.dim, loop.step, block.offset, emit.plus(block.offset, block.size),
            parallel=loop.is_parallel, has_rest=False, unrolled=loop.is_unrolled,
        )  # fmt: skip
        return build_loops(emit, [built], None, tiles, carried, lambda e, t, c: self._nest(e, inner, t, c))

    def _tile(
        self, emit: IRBuilder, tiles: Mapping[int, Tile], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The code of a tile, and what it computes as slices of the carried tensors."""
        view, block = self.view, self.code.body.block
        whole = {d: tiles.get(d, Tile(0, size)) for d, size in enumerate(self.sizes)}
        operands = [*view.inputs, *carried]
        reached = [self._slice(emit, value, at, whole) for at, value in enumerate(operands)]
        values = {
            argument: self._argument(emit, operands[at], reached[at], block.args[argument].type)
            for argument, at in self.arguments.items()
        }
        mapper: dict[SSAValue, SSAValue] = {block.args[n]: value for n, value in values.items()}
        *body, last = block.ops
        for op in body:
            emit.insert(op.clone(value_mapper=mapper))
        made = [mapper.get(value, value) for value in last.operands]
        written: list[SSAValue] = []
        for new, into, at in zip(made, carried, reached[len(view.inputs) :], strict=True):
            written.append(_inserted(emit, new, into, at))
        return written

    def _slice(self, emit: IRBuilder, value: SSAValue, at: int, tiles: Mapping[int, Tile]) -> Slice | None:
        """The slice of an operand; None for numbers and tensors without dimensions."""
        shape = tensor_shape(value)
        if not shape:
            return None
        found, _ = cut(emit, self.view, value, self.view.maps[at], tiles)
        sizes: list[Index] = [dim_size(emit, value, axis) for axis in range(len(shape))]
        return found or Slice((0,) * len(shape), tuple(sizes), (1,) * len(shape))

    @staticmethod
    def _argument(emit: IRBuilder, value: SSAValue, at: Slice | None, type: Attribute) -> SSAValue:
        """A slice as an argument of the code."""
        if not isinstance(value.type, TensorType):
            return value
        shape = type.get_shape() if isinstance(type, TensorType) else ()
        found = value if at is None else _reduced_slice(emit, value, at, _reduced(at.sizes, shape))
        if not isinstance(type, TensorType):
            return emit.value(tensor.ExtractOp(found, [], type))
        if tensor_shape(found) == tuple(shape):
            return found
        groups = consecutive_groups(map(len, _groups(shape)))
        return emit.value(tensor.ExpandShapeOp(found, [], groups, shape, _typed(found, shape)))


def _typed(value: SSAValue, shape: Sequence[int]) -> TensorType[Attribute]:
    return TensorType(tensor_of(value).element_type, shape)


def _reduced(sizes: Sequence[Index], shape: Sequence[int]) -> Sequence[int]:
    """The shape of a slice for a tensor of the code: that shape, or without dimensions of size 1."""
    known = [size for size in sizes if isinstance(size, int)]
    left = list(shape)
    for size in known:
        if left and size == left[0]:
            left.pop(0)
        elif size != 1:
            left = [0]
    if not left:
        return shape
    return [size for size in known if size != 1] or [1]


def _reduced_slice(emit: IRBuilder, value: SSAValue, at: Slice, shape: Sequence[int]) -> SSAValue:
    """A slice without some of its dimensions of size 1."""
    block = at.offsets, at.sizes, at.strides
    return emit.value(tensor.ExtractSliceOp(value, *block, _typed(value, shape)))


def _groups(shape: Sequence[int]) -> list[list[int]]:
    """The dimensions of a shape, those of size 1 in the groups of others, or in one of their own."""
    groups: list[list[int]] = [[]]
    for axis, size in enumerate(shape):
        if size != 1 and any(shape[each] != 1 for each in groups[-1]):
            groups.append([])
        groups[-1].append(axis)
    return groups


def _inserted(emit: IRBuilder, value: SSAValue, into: SSAValue, at: Slice | None) -> SSAValue:
    """A tensor with a slice replaced by what the code returns."""
    if at is None:
        return value
    shape = tensor_shape(value)
    if len(_reduced(at.sizes, shape)) < len(shape):
        value = collapse(emit, value, _groups(shape))
    return insert_slice(emit, value, into, at)
