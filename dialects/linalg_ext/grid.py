"""The base class of ops that one grid of a device computes: on tensors at level 2, on buffers at level 3."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import plain


class GridOp(IRDLOperation, ABC):
    """
    An op that writes all elements of `init`, on tensors with a result, or on buffers without one.

    `choose-gpu-schedules` gives it levels of blocks and threads, which `tile-to-grid` carries out.
    """

    MEANING: ClassVar[str]
    """The graph op with its numpy meaning."""

    @property
    @abstractmethod
    def written(self) -> SSAValue:
        """The tensor or the buffer for the result."""

    @abstractmethod
    def arguments(self) -> Sequence[SSAValue | None]:
        """The operands of the graph op."""

    def keywords(self) -> Mapping[str, object]:
        """The properties of the graph op, as its numpy meaning takes them."""
        return {name: plain(value) for name, value in self.properties.items()}

    @abstractmethod
    def operations(self) -> int:
        """The arithmetic of a point."""

    @abstractmethod
    def points(self) -> Sequence[tuple[SSAValue, int]]:
        """Operands and axes whose sizes multiply to the number of points."""

    @abstractmethod
    def check(self) -> None:
        """Verify all but the result. Raises: VerifyException."""

    def verify_(self) -> None:
        self.check()
        is_tensor = [isinstance(value.type, TensorType) for value in self.operands]
        wanted = [self.written.type] if is_tensor[-1] else []
        if len(set(is_tensor)) > 1 or [result.type for result in self.results] != wanted:
            raise VerifyException(
                f"{self.name} is on tensors with a result like init, or on buffers with none"
            )
