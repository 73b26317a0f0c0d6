"""A PyTorch program as records, whether it was in memory or in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute

from stepwell.runtime.dims import Dim

Array: TypeAlias = npt.NDArray[np.generic]


@dataclass(frozen=True)
class TensorRecord:
    """The element type and the dimensions of a value, in the program's own symbols."""

    element: Attribute
    dims: tuple[Dim, ...]


@dataclass(frozen=True)
class Ref:
    """The value of a name."""

    name: str


@dataclass(frozen=True)
class Node:
    """A call of an operator."""

    name: str
    target: str
    """The overload (`aten.add.Tensor`)."""
    arguments: Mapping[str, object]
    """By name: references, lists of them, and values of `dialects.foreign`."""
    outputs: tuple[tuple[str, TensorRecord], ...]
    module: str = ""
    """The path and the class of the module (`layer1.0 (Conv2d)`)."""
    file: str = ""
    """The file of the user's line that made the call; empty where it is not known."""
    line: int = 0


@dataclass(frozen=True)
class Input:
    """A tensor that the caller gives, or a state."""

    name: str
    """The name of its value in the program."""
    label: str
    """The name for the user: an argument of `forward`, or the path of a leaf in one."""
    type: TensorRecord
    state: str = ""
    """The name of a buffer that the program changes; empty for other values."""
    initial: Array | None = None


@dataclass(frozen=True)
class Output:
    """A result: a value, an open size, or a constant, for the caller or for a state."""

    value: Ref | Dim | Array
    label: str
    state: str = ""


def result_of(value: object) -> Ref | Dim | Array | None:
    """The result of a model for one of the program, a number as rank 0; None for text and the like."""
    if isinstance(value, Ref | Dim):
        return value
    return np.array(value) if isinstance(value, bool | int | float) else None


@dataclass
class TorchProgram:
    """A whole program."""

    name: str
    """The name in diagnostics."""
    inputs: list[Input] = field(default_factory=list[Input])
    weights: dict[str, tuple[str, Array]] = field(default_factory=dict[str, tuple[str, Array]])
    """Parameters, buffers and constants by the name of their value: their own name, and their elements."""
    nodes: list[Node] = field(default_factory=list[Node])
    outputs: list[Output] = field(default_factory=list[Output])
    written: dict[str, str] = field(default_factory=dict[str, str])
    """The parameters that the program writes, by the names of their new values."""
    ranges: dict[str, tuple[int, int | None]] = field(default_factory=dict[str, tuple[int, int | None]])
    """The least and the largest value of symbols."""
    guards: Sequence[str] = ()
    """What torch assumed about sizes beyond ranges, as text."""
    symbol_names: dict[str, str] = field(default_factory=dict[str, str])
    """The user's names of symbols."""
    version: str = ""
    """The version of torch that exported the program."""

    def label_of(self, name: str) -> str:
        """The name for the user of the input that is a value of the program."""
        return next((each.label for each in self.inputs if each.name == name), name)


Items: TypeAlias = Sequence[object]
