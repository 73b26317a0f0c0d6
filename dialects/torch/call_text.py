"""Calls of torch's operators as JSON: the overload, and arguments by name; operands by their number."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.torch.structure import OperatorOp
from stepwell.dialects.types import dtype_of
from stepwell.runtime.dims import Dim

TENSOR, SIZE, DTYPE = "tensor", "size", "dtype"


def call_text(target: str, arguments: Mapping[str, object], number_of: Callable[[SSAValue], int]) -> str:
    """
    A call as text: `{"arguments": {"dim": 1, "self": {"tensor": 0}}, "target": "aten.cumsum.default"}`.

    Open sizes are `{"size": "N*4"}`, element types `{"dtype": "float32"}`.
    Args: `number_of` numbers the operands.
    """

    def plain(value: object) -> object:
        match value:
            case SSAValue():
                return {TENSOR: number_of(value)}
            case Dim():
                return value.value if value.is_static else {SIZE: str(value)}
            case Attribute():
                return {DTYPE: dtype_of(value).name}
            case list() | tuple():
                return [plain(item) for item in cast("Sequence[object]", value)]
            case _:
                return value

    written = {name: plain(value) for name, value in arguments.items()}
    return json.dumps({"target": target, "arguments": written}, sort_keys=True)


def described_call(op: Operation) -> tuple[str, str] | None:
    """The overload of a call, and the call as text; None for an op whose arguments are not recorded."""
    if isinstance(op, ForeignOp):
        numbers = {value: number for number, value in enumerate(op.operands)}
        name = op.SIGNATURE.name
        return name, call_text(name, _arguments(op), numbers.__getitem__)
    if isinstance(op, OperatorOp) and op.call is not None:
        return op.target.data, op.call.data
    return None


def _arguments(op: ForeignOp) -> Mapping[str, object]:
    """The arguments of a call by name, operands as values."""
    found: dict[str, object] = {}
    for argument in op.SIGNATURE.arguments:
        if not argument.is_tensor:
            found[argument.name] = op.value(argument.name)
        elif argument.is_list:
            found[argument.name] = op.tensors(argument.name)
        else:
            found[argument.name] = op.tensor(argument.name)
    return found
