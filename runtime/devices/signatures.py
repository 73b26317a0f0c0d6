"""The parameters of kernels in the code of devices: in PTX a comment above each kernel names them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepwell.runtime.devices.base import Argument, View
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.json_values import as_size

POINTER = "ptr"
_LINE = "parameters: "
_ENTRY = re.compile(r"^// parameters: (.*)\n\.visible \.entry (\w+)\(", re.MULTILINE)
_PARAMETER = re.compile(r"([a-z]+\d*) (\d+)(?:\.(\d+))?")
_ARCH = re.compile(r"^\.target (\w+)$", re.MULTILINE)
_TYPES: Mapping[str, Any] = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel on the device."""

    argument: int
    """The argument of the kernel's op."""
    type: str
    """`ptr`, or the type of a number: `i64`, `f32`, …"""
    dim: int | None = None
    """The dimension of that argument whose size it is; None for the argument itself."""

    def __str__(self) -> str:
        return f"{self.type} {self.argument}" + ("" if self.dim is None else f".{self.dim}")


def signature_line(parameters: Sequence[Parameter]) -> str:
    """The parameters of a kernel as a comment: `parameters: i64 0, ptr 1, i64 1.0`."""
    return _LINE + ", ".join(map(str, parameters))


def signatures_of(text: str) -> Mapping[str, tuple[Parameter, ...]]:
    """The parameters of each kernel of PTX. Raises: StepwellError `bad-artifact`."""
    found = {name: tuple(_parameters(line)) for line, name in _ENTRY.findall(text)}
    entries = text.count(".visible .entry ")
    if len(found) != entries:
        message = f"PTX has {entries} kernels, and comments with the parameters of {len(found)}"
        raise StepwellError("bad-artifact", None, message)
    return found


def parameters_from(line: str) -> tuple[Parameter, ...]:
    """The parameters of a line of `signature_line`. Raises: StepwellError `bad-artifact`."""
    if not line.startswith(_LINE):
        raise StepwellError("bad-artifact", None, f"code does not name its parameters, but {line!r}")
    return tuple(_parameters(line.removeprefix(_LINE)))


def _parameters(line: str) -> list[Parameter]:
    """The parameters of a comment. Raises: StepwellError `bad-artifact`."""
    made: list[Parameter] = []
    for piece in line.split(", ") if line else ():
        found = _PARAMETER.fullmatch(piece)
        if found is None or (found[1] != POINTER and found[1] not in _TYPES):
            raise StepwellError("bad-artifact", None, f"code names a parameter {piece!r}")
        made.append(Parameter(as_size(int(found[2])), found[1], None if found[3] is None else int(found[3])))
    return made


def arch_of(text: str) -> str:
    """The architecture of PTX: `sm_80`. Raises: StepwellError `bad-artifact`."""
    if (found := _ARCH.search(text)) is None:
        raise StepwellError("bad-artifact", None, "PTX names no architecture")
    return found[1]


def passed(kernel: str, parameters: Sequence[Parameter], arguments: Sequence[Argument]) -> list[View | Any]:
    """
    The values of a launch for each parameter: an array, or a number of the parameter's type.

    Raises: StepwellError `bad-artifact` for arguments of other kinds than the parameters.
    """
    values: list[View | Any] = []
    for parameter in parameters:
        given = arguments[parameter.argument] if parameter.argument < len(arguments) else None
        is_array = isinstance(given, View)
        rank = len(given.shape) if is_array else 0
        if given is None or is_array != (parameter.type == POINTER or parameter.dim is not None):
            raise _unfit(kernel, parameter)
        if parameter.dim is not None and parameter.dim >= rank:
            raise _unfit(kernel, parameter)
        if parameter.type == POINTER:
            values.append(given)
            continue
        number: Any = (
            given.shape[parameter.dim] if isinstance(given, View) and parameter.dim is not None else given
        )
        try:
            values.append(_TYPES[parameter.type](number))
        except OverflowError:
            raise _unfit(kernel, parameter) from None
    return values


def _unfit(kernel: str, parameter: Parameter) -> StepwellError:
    message = f"a launch of @{kernel} has no argument that fits the parameter `{parameter}`"
    return StepwellError("bad-artifact", None, message)
