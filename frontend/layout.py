"""The layout of a node in its op class: the groups of inputs and outputs at the node's opset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute
from xdsl.irdl import AttrSizedOperandSegments, AttrSizedResultSegments

from stepwell.dialects.onnx import OnnxOp, Parameter, Signature, op_class, parameter_names, signature

T = TypeVar("T")


@dataclass(frozen=True)
class Side:
    """
    The inputs or the outputs of an operator: formal parameters by position, and their groups in the op class.
    """

    formal: tuple[Parameter, ...]
    groups: tuple[int, ...]
    group_count: int
    segmented: bool
    """Whether the op has an attribute with the sizes of its groups."""

    def bind(self, names: Sequence[str], find: Callable[[str], T]) -> tuple[list[T], Attribute | None]:
        """
        The values for a node's names in the order of the op class, and the sizes of the groups for a
        segmented op.

        Raises: ValueError, worded for the model's author, when the names do not fit.
        """
        if not self.segmented and len(names) == len(self.formal) and "" not in names:
            return [find(name) for name in names], None
        groups: list[list[T]] = [[] for _ in range(self.group_count)]
        for position, name in enumerate(names):
            parameter = self._parameter(position, len(names))
            if name:
                groups[self.groups[min(position, len(self.formal) - 1)]].append(find(name))
            elif not parameter.optional:
                raise ValueError(f"`{parameter.name}` is not optional")
        for parameter in self.formal[len(names) :]:
            if not parameter.optional and not (parameter.variadic and parameter.min_arity == 0):
                raise ValueError(f"`{parameter.name}` is missing")
        values = [value for group in groups for value in group]
        return values, segment_sizes(tuple(map(len, groups))) if self.segmented else None

    def _parameter(self, position: int, count: int) -> Parameter:
        """The formal parameter at a position. Raises: ValueError for too many positions."""
        if position < len(self.formal):
            return self.formal[position]
        if not self.formal or not self.formal[-1].variadic:
            raise ValueError(f"at most {len(self.formal)} are possible, found {count}")
        return self.formal[-1]

    def positions(self, sizes: Sequence[int]) -> list[int | None]:
        """
        The inverse of `bind`: the index among the op's values for each position of the node. Absent ones are
        None; those at the end are left out.

        Args: `sizes` of the groups of the op class.
        """
        starts = [sum(sizes[:group]) for group in range(self.group_count)]
        indices: list[int | None] = []
        for parameter, group in zip(self.formal, self.groups, strict=True):
            start, size = starts[group], sizes[group]
            if parameter.variadic:
                indices += range(start, start + size)
            else:
                indices.append(start if size else None)
        while indices and indices[-1] is None:
            indices.pop()
        return indices


@dataclass(frozen=True)
class Layout:
    """The layout of an op class at one opset."""

    op_class: type[OnnxOp]
    signature: Signature
    inputs: Side
    outputs: Side


@cache
def segment_sizes(sizes: tuple[int, ...]) -> Attribute:
    """The sizes of the groups of operands or results, as the attribute of xDSL."""
    return DenseArrayBase.from_list(i32, sizes)


@cache
def layout_of(op_name: str, opset: int) -> Layout | None:
    """The layout of an operator at an opset; None when the opset does not have the operator yet."""
    row = signature(op_name, opset)
    if row is None:
        return None
    made = op_class(op_name)
    operands, results = parameter_names(made)
    options = made.get_irdl_definition().options
    return Layout(
        made,
        row,
        _side(row.inputs, operands, any(isinstance(o, AttrSizedOperandSegments) for o in options)),
        _side(row.outputs, results, any(isinstance(o, AttrSizedResultSegments) for o in options)),
    )


def _side(formal: tuple[Parameter, ...], names: tuple[str, ...], segmented: bool) -> Side:
    return Side(formal, tuple(names.index(p.name) for p in formal), len(names), segmented)
