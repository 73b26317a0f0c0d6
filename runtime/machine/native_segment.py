"""Functions and buffers with which native code calls a segment of a program itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stepwell.runtime.addresses import address_of
from stepwell.runtime.interface import Binding
from stepwell.runtime.machine.call_frame import CallFrame

Shape = tuple[int, ...]


class NativeSegment:
    """A segment that native functions call, for one call at a time."""

    def __init__(
        self,
        code: int,
        frame: CallFrame,
        bind: Callable[[tuple[Shape, ...]], Binding],
        dtypes: Sequence[np.dtype[Any]],
        failure: Callable[[int], BaseException],
    ):
        """
        Args: `code` is the address of its function; `bind` finds the sizes of a call by its inputs' shapes;
        `dtypes` are the outputs' element types, and `failure` makes the error for a status of the code.
        """
        self._code, self._frame, self._bind = code, frame, bind
        self.dtypes, self.failure = dtypes, failure

    def prepare(self, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        """
        Set the sizes of the calls to come. Returns: the shapes of outputs.

        Raises: StepwellError `shape-mismatch`, `too-large`.
        """
        binding = self._bind(shapes)
        self._frame.prepare(binding)
        return binding.array_shapes

    @property
    def addresses(self) -> tuple[int, int, int, int]:
        """The addresses of its code, sizes, context and arena."""
        _, sizes, context = self._frame.addresses
        return self._code, sizes, context, address_of(self._frame.arena)
