"""The base of ops with a formula for one element: axes, sizes with names of the op's own, and regions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import prop_def, region_def, var_operand_def, var_result_def

from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.types import Tensor, dims_of, signless
from stepwell.runtime.dims import Dim

Sizes: TypeAlias = ArrayAttr[StringAttr]
"""Dimension expressions over the sizes that an expression names for itself, as text."""


class FormulaOp(GraphOp, ABC):
    """An op whose `body` computes one element at the indices along axes, from elements of the inputs."""

    inputs = var_operand_def()
    outputs = var_result_def()
    formula = prop_def(StringAttr)
    sizes = prop_def(ArrayAttr[Sizes])
    axes = prop_def(Sizes)
    reduce = prop_def(Sizes)
    identity = prop_def(ArrayAttr[Attribute])
    elements = prop_def(ArrayAttr[Attribute])
    body = region_def("single_block")
    combine = region_def()

    @property
    def axis_dims(self) -> list[Dim]:
        """The extents of the axes, in the op's own names."""
        return dims_in(self.axes)

    @property
    def reduce_dims(self) -> list[Dim]:
        """The extents of the axes that are reduced, in the op's own names."""
        return dims_in(self.reduce)

    @property
    def indices(self) -> Sequence[SSAValue]:
        """The arguments of the body for the axes, those that are reduced last."""
        return self.body.block.args[: len(self.axes) + len(self.reduce)]

    @property
    def tensors(self) -> Sequence[SSAValue]:
        """The arguments of the body for the inputs."""
        return self.body.block.args[len(self.axes) + len(self.reduce) :]

    def input_dims(self, position: int) -> list[Dim]:
        """The shape of an input, in the op's own names."""
        return dims_in(self.sizes.data[position])


def bindings_of(inputs: Sequence[SSAValue], sizes: Iterable[Sizes]) -> Mapping[str, Dim]:
    """The dimensions of inputs by the names of an op's own: known ones are preferred."""
    found: dict[str, Dim] = {}
    for value, own in zip(inputs, sizes, strict=True):
        for dim, size in zip(dims_of(value.type), own, strict=True):
            if (name := size.data).isidentifier() and _better(dim, found.get(name)):
                found[name] = dim
    return found


def _better(dim: Dim, known: Dim | None) -> bool:
    """Whether a dimension says more than the one that is known: a number, or else a name."""
    if known is None:
        return True
    return known.is_unknown or (dim.is_static and not known.is_static)


def argument_type(input: Tensor, sizes: Sizes) -> Tensor:
    """The level-2 type of an input in the body: numbers where its sizes are numbers, and `?` for others."""
    shape = [int(size.data) if size.data.isdecimal() else DYNAMIC_INDEX for size in sizes]
    return TensorType(signless(input.element_type), shape)


def sizes_attr(dims: Iterable[Dim]) -> Sizes:
    """Dimension expressions as an attribute that no pass renames: their names are the op's own."""
    return ArrayAttr([StringAttr(str(dim)) for dim in dims])


def dims_in(sizes: Sizes) -> list[Dim]:
    """The dimension expressions of an attribute."""
    return [Dim.of(int(size.data) if size.data.isdecimal() else size.data) for size in sizes]
