"""Kernels as source text: the numbers that a launch passes after the buffers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from stepwell.runtime.devices.base import Argument, View
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.json_values import as_dim, as_list, as_mapping, as_size, as_sizes, as_text

T = TypeVar("T")
_OF_32_BITS = ("i32", "int")
"""The types of indices in WGSL and OpenCL C."""
ENABLE_SUBGROUPS = "enable subgroups;"
"""The directive of the standard for reductions over subgroups."""
FIRST_BLOCK = "first_block"
"""The constant of a shader from which its blocks along x count; 0 unless a grid is several dispatches."""


class Scalar(NamedTuple):
    """A number after the buffers: an argument of the kernel, or a size of such an argument."""

    type: str
    argument: int
    dim: int | None


class SourceKernel(NamedTuple):
    """A kernel as text."""

    name: str
    text: str
    block: tuple[int, ...]
    buffers: tuple[int, ...]
    """The arguments that are buffers, in the order of their bindings."""
    scalars: tuple[Scalar, ...]
    needs_infinity: bool
    iterations: Dim
    """The iterations of loops of a thread, at most; `n0` is the first of `scalars`."""

    def views(self, arguments: Sequence[Argument]) -> list[View]:
        """The buffers of a launch. Raises: StepwellError `bad-artifact` for other arguments."""
        found = [arguments[number] for number in self.buffers if number < len(arguments)]
        views = [each for each in found if isinstance(each, View)]
        if len(views) != len(self.buffers):
            raise self._unfit("buffers")
        return views

    def numbers(self, arguments: Sequence[Argument]) -> list[tuple[str, float]]:
        """The types and values of the numbers of a launch. Raises: StepwellError `bad-artifact`."""
        return [(scalar.type, self._number(scalar, arguments)) for scalar in self.scalars]

    def most_iterations(self, arguments: Sequence[Argument]) -> int:
        """
        The iterations of loops of a thread in a launch, at most.

        Raises: StepwellError `bad-artifact` for a number that the kernel does not take.
        """
        found = enumerate(self.numbers(arguments))
        numbers = {f"n{i}": int(value) for i, (type, value) in found if type in _OF_32_BITS}
        if not self.iterations.symbols() <= numbers.keys():
            raise self._unfit("fewer numbers")
        return self.iterations.evaluate(numbers)

    def _number(self, scalar: Scalar, arguments: Sequence[Argument]) -> float:
        """A number of a launch."""
        value = arguments[scalar.argument] if scalar.argument < len(arguments) else None
        if isinstance(value, View):
            axis = scalar.dim or 0
            found = value.shape[axis] if axis < len(value.shape) else None
        else:
            found = value if value is None or isinstance(value, int) else value.item()
        if found is None or (scalar.type in _OF_32_BITS and not -(1 << 31) <= found < 1 << 31):
            raise self._unfit(f"a number of type {scalar.type}")
        return found

    def _unfit(self, wanted: str) -> StepwellError:
        message = f"a launch of @{self.name} has no arguments that fit: it takes {wanted}"
        return StepwellError("bad-artifact", None, message)


def read_kernels(code: bytes) -> Mapping[str, SourceKernel]:
    """The kernels of code, by name. Raises: StepwellError `bad-artifact` for anything else."""
    try:
        described = as_mapping(json.loads(code))
        return {name: _kernel(name, as_mapping(kernel)) for name, kernel in described.items()}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StepwellError("bad-artifact", None, f"the code of a device part is wrong: {error}") from None


def kernel_named(kernels: Mapping[str, T], name: str) -> T:
    """A loaded kernel. Raises: StepwellError `bad-artifact` for a name that the code does not have."""
    if (found := kernels.get(name)) is None:
        raise StepwellError("bad-artifact", None, f"the code of a device part has no kernel {name!r}")
    return found


def _kernel(name: str, described: Mapping[str, object]) -> SourceKernel:
    scalars: list[Scalar] = []
    for entry in as_list(described["scalars"]):
        type, argument, dim = as_list(entry, 3)
        scalars.append(Scalar(as_text(type), as_size(argument), None if dim is None else as_size(dim)))
    return SourceKernel(
        name,
        as_text(described["text"]),
        as_sizes(described["block"], 3),
        as_sizes(described["buffers"]),
        tuple(scalars),
        described["infinity"] is True,
        as_dim(described.get("iterations", [])),
    )
