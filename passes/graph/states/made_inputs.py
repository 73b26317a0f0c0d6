"""Inputs of a decoder that follow from the length of its states: masks of tokens, positions, lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph_ir.state import NAME, argument_attributes, set_argument_attributes
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.passes.context import remark
from stepwell.passes.graph.states.cache_ops import Meaning, lengths_in
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

_TOKENS: Mapping[str, int] = {"input_ids": 1, "inputs_embeds": 1, "decoder_input_ids": 1, "tokens": 1}
"""Inputs of new tokens, with the axis that counts them."""
_MASKS = ("attention_mask", "decoder_attention_mask")
_POSITIONS = ("position_ids", "cache_position", "decoder_position_ids")
NEW = "new_length"
"""The symbol of the number of new tokens where the model has no name for it."""

Rename = Callable[[FuncOp, Mapping[str, Dim]], None]


class Known(NamedTuple):
    """The length of the states of a program, and where ops are built that read it."""

    length: SSAValue
    past: Dim
    capacity: Dim
    builder: Builder


def make_inputs(main: FuncOp, known: Known, states: Sequence[BlockArgument], rename: Rename) -> Dim | None:
    """
    Compute the inputs that follow from the length, and remove them.

    A mask of tokens is all ones, since the rows of a batch have one length; positions count from the length;
    an operator with a cache gets lengths in the form that it has them in. Without an input of new tokens,
    masks and positions stay inputs.
    Returns: the number of new tokens.
    """
    given = {
        name.data: argument
        for argument, each in zip(main.body.block.args, argument_attributes(main), strict=True)
        if isinstance(name := each.data.get(NAME), StringAttr) and argument not in states
    }
    new = _new_positions(given)
    if new is None and (op := next((op for op in main.walk() for _ in lengths_in(op)), None)) is not None:
        message = "an operator takes the length of a cache, and no input counts new tokens"
        raise StepwellError(
            "state-mismatch", op, message, help=f"name one of the inputs {', '.join(_TOKENS)}"
        )
    if new is None:
        remark(main, f"no input counts new tokens ({', '.join(_TOKENS)}): masks and positions stay inputs")
        return None
    roles = {
        value: meaning
        for op in main.walk()
        for value, meaning in lengths_in(op)
        if isinstance(value, BlockArgument) and value.owner is main.body.block
    }
    maker = _Maker(known, new)
    for name, argument in given.items():
        if (made := maker.made(name, argument, roles.get(argument), main, rename)) is not None:
            argument.replace_all_uses_with(made)
            made.name_hint = argument.name_hint
            _remove(main, argument)
    return new


def _new_positions(given: Mapping[str, BlockArgument]) -> Dim | None:
    """The number of new tokens of a call, as the shape of an input has it."""
    for name, axis in _TOKENS.items():
        argument = given.get(name)
        if argument is None or (type := tensor_type_of(argument)) is None:
            continue
        dims = list(dims_of(type))
        if axis >= len(dims):
            continue
        if dims[axis].is_unknown:
            dims[axis] = Dim.symbol(NEW)
            set_type(argument, tensor_type(type.element_type, dims))
        return dims[axis]
    return None


def tensor_type_of(value: SSAValue) -> Tensor | None:
    """The type of a tensor of known rank; None for other values."""
    return cast(Tensor, value.type) if value.type.name == TensorType.name else None


class _Maker:
    """Builds the values of inputs."""

    def __init__(self, known: Known, new: Dim):
        self._known, self._new = known, new

    def made(
        self, name: str, argument: BlockArgument, role: Meaning | None, main: FuncOp, rename: Rename
    ) -> SSAValue | None:
        """The value of an input; None for one that does not follow from the length."""
        if (type := tensor_type_of(argument)) is None:
            return None
        dims = dims_of(type)
        if role is not None:
            return self._lengths(role, type)
        if name in _MASKS and len(dims) == 2:
            total = self._known.past + self._new
            if not dims[1].is_static and str(dims[1]) in dims[1].symbols():
                rename(main, {str(dims[1]): total})
            return self._spread(self._number(Dim.of(1)), [dims[0], total], type.element_type)
        if name in _POSITIONS and dims and dims[-1] == self._new:
            return self._positions(type)
        return None

    def _positions(self, type: Tensor) -> SSAValue:
        """Positions from the length on, along the last axis."""
        dims = dims_of(type)
        shape = [*[Dim.of(1)] * (len(dims) - 1), self._new]
        counted = self._insert(graph.IotaOp(shape, len(dims) - 1, i64))
        found = self._insert(graph.AddOp(counted, self._number(self._known.past)))
        return self._spread(found, dims, type.element_type)

    def _lengths(self, meaning: Meaning, type: Tensor) -> SSAValue:
        """A number for all rows."""
        number = self._number(meaning.of(self._known.past, self._new))
        return self._spread(number, dims_of(type), type.element_type)

    def _number(self, dim: Dim) -> SSAValue:
        """A size as an i64 of rank 0."""
        return self._insert(graph.ReshapeOp(self._insert(graph.ExtentsOp([dim])), []))

    def _spread(self, value: SSAValue, dims: Sequence[Dim], element: Attribute) -> SSAValue:
        if element != i64:
            value = self._insert(graph.CastOp(value, element))
        return self._insert(graph.BroadcastToOp(value, list(dims))) if dims else value

    def _insert(self, op: GraphOp) -> SSAValue:
        return self._known.builder.insert(op).results[0]


def _remove(main: FuncOp, argument: BlockArgument) -> None:
    """Take an unused argument out of a function; the caller sets the function's type."""
    attributes = argument_attributes(main)
    del attributes[argument.index]
    main.body.block.erase_arg(argument)
    set_argument_attributes(main, attributes)
