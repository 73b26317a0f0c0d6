"""Layouts of values: which feature maps a program stores in blocks, and the same in the model's layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import Tensor, dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.interface import Array
from stepwell.runtime.layout import Layout, parse_layout, plain_layout, to_layout

_PLAIN_RANKS = range(3, 6)
_CHANNELS = 1
"""The axis of channels in the model's layout; blocks may have more of them than the model."""
_REORDERING = (graph.LayoutTransformOp, graph.TransposeOp, graph.ReshapeOp, graph.MatmulOp, CallOp)
"""Ops whose results have other axes than their operands, even where the extents are equal."""


def layouts_of(module: ModuleOp) -> dict[SSAValue, Layout]:
    """
    The layouts of the values that a program of level 1 stores in blocks or in another order of axes.

    Layout transforms and ops with a layout say it; all other ops but those that reorder elements preserve it
    from their operands to results of the same rank, and the other way round.
    """
    return {value: layout for value, layout in _all_layouts(module).items() if not _is_plain(layout)}


def feature_maps_of(module: ModuleOp) -> Set[SSAValue]:
    """The values of a program of level 1 whose axes are batch, channels and space: those with a layout."""
    return _all_layouts(module).keys()


def _all_layouts(module: ModuleOp) -> dict[SSAValue, Layout]:
    """The layouts of all feature maps, that of the model included."""
    found: dict[SSAValue, Layout] = {}
    groups = _Groups()
    for op in module.walk():
        for value, layout in _said(op):
            found.setdefault(groups.of(value), layout)
        for one, other in _same(op):
            groups.join(one, other, found)
    members = ((value, found.get(groups.of(value))) for value in groups.members())
    return {value: layout for value, layout in members if layout is not None}


def _is_plain(layout: Layout) -> bool:
    return any(str(layout) == plain_layout("NC", rank - 2) for rank in _PLAIN_RANKS)


def _said(op: Operation) -> Iterator[tuple[SSAValue, Layout]]:
    """The layouts of operands and results that an op itself names."""
    if isinstance(op, graph.LayoutTransformOp):
        yield op.input, parse_layout(op.source.data)
        yield op.result, parse_layout(op.target.data)
        return
    data = op.properties.get("data_layout")
    if not isinstance(data, StringAttr):
        return
    out = op.properties.get("out_layout")
    yield op.operands[0], parse_layout(data.data)
    for result in op.results:
        yield result, parse_layout(out.data if isinstance(out, StringAttr) else data.data)


def _same(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The pairs of values of one layout at an op: of its body's arguments, or of equal rank."""
    if isinstance(op, graph.FusedOp | graph.CompositeOp):
        yield from zip(op.operands, op.body.block.args, strict=True)
        yielded = op.body.block.last_op
        if yielded is not None:
            yield from zip(op.results, yielded.operands, strict=True)
    elif not isinstance(op, _REORDERING) and "data_layout" not in op.properties:
        for result in op.results:
            for operand in op.operands:
                if _rank(operand) == _rank(result) >= min(_PLAIN_RANKS) and _last(operand) == _last(result):
                    yield operand, result


def _rank(value: SSAValue) -> int:
    type = value.type
    return len(dims_of(cast(Tensor, type))) if type.name == TensorType.name else -1


def _last(value: SSAValue) -> object:
    return dims_of(value.type)[-1]


class _Groups:
    """Sets of values of one layout, joined by union and find."""

    def __init__(self) -> None:
        self._parent: dict[SSAValue, SSAValue] = {}

    def of(self, value: SSAValue) -> SSAValue:
        """The value that stands for the set of a value."""
        root = value
        while (parent := self._parent.setdefault(root, root)) is not root:
            root = parent
        while value is not root:
            self._parent[value], value = root, self._parent[value]
        return root

    def join(self, one: SSAValue, other: SSAValue, layouts: dict[SSAValue, Layout]) -> None:
        """Merge two sets, unless their layouts differ."""
        a, b = self.of(one), self.of(other)
        if a is b or (a in layouts and b in layouts and layouts[a] != layouts[b]):
            return
        self._parent[b] = a
        if b in layouts:
            layouts.setdefault(a, layouts.pop(b))

    def members(self) -> Iterable[SSAValue]:
        """All values that were asked about."""
        return list(self._parent)


def in_model_layout(
    array: Array, layout: Layout | None, shape: Sequence[int], *, is_feature_map: bool = True
) -> Array | None:
    """
    An array in the model's layout, without the padding of blocks; None if it does not have that shape.

    Args: an array that is no feature map in the model, such as the result of a `Transpose` that became a
    layout transform, keeps its axes as they are stored.
    """
    layout = layout if is_feature_map else None
    if layout is not None and array.ndim == layout.rank:
        letters = tuple(sorted(layout.letters, key=_in_order))
        array = to_layout(array, layout, Layout(tuple((letter, 0) for letter in letters)))
    if array.ndim != len(shape) or any(a < s for a, s in zip(array.shape, shape, strict=True)):
        return None
    if layout is None:
        return array if array.shape == tuple(shape) else None
    cut = array[tuple(slice(size) for size in shape)]
    return np.ascontiguousarray(cut) if _only_channels_are_cut(array, shape) else None


def may_have_shape(dims: Sequence[Dim], layout: Layout | None, wanted: Sequence[Dim]) -> bool:
    """Whether `in_model_layout` finds an array of these dimensions to have a shape, where sizes are known."""
    if layout is not None and len(dims) == layout.rank:
        extents = layout.logical(dims)
        dims = [extents[letter] for letter in sorted(layout.letters, key=_in_order)]
    return len(dims) == len(wanted) and all(
        a == b
        or not (a.is_static and b.is_static)
        or (layout is not None and axis == _CHANNELS and a.value > b.value)
        for axis, (a, b) in enumerate(zip(dims, wanted, strict=True))
    )


def _in_order(letter: str) -> int:
    """The position of an axis in the model's layout: batch, channels, then the spatial axes."""
    return "NCUVDHW".index(letter) if letter in "NCUVDHW" else len("NCUVDHW")


def _only_channels_are_cut(array: Array, shape: Sequence[int]) -> bool:
    return all(
        a == s for axis, (a, s) in enumerate(zip(array.shape, shape, strict=True)) if axis != _CHANNELS
    )
