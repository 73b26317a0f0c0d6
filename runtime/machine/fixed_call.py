"""Calls of compiled code on arrays of known sizes that have been checked, without a model's own checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stepwell.runtime.addresses import address_of
from stepwell.runtime.interface import Array, Binding
from stepwell.runtime.machine.call_frame import CallFrame


class FixedCall:
    """
    A compiled function of arrays; a call takes a third of the time of a call of its model.

    It takes arrays of the interface's shapes and element types, and returns one array, or a list. Callers
    that check more write its steps out: arrays without gaps, a frame of `frames`, `main` on its addresses.
    """

    def __init__(
        self,
        main: Callable[..., int],
        inputs: int,
        binding: Binding,
        dtypes: Sequence[np.dtype[Any]],
        make_frame: Callable[[], CallFrame],
        failure: Callable[[int, CallFrame], BaseException],
    ):
        """Args: `inputs` is their number; `dtypes` are those of outputs; `failure` is of a status."""
        self.main, self.failure = main, failure
        self.outputs = list(zip(binding.array_shapes, dtypes, strict=True))
        """The sizes and element types of outputs."""
        self.frames: list[CallFrame] = []
        """Frames that no call uses."""
        self._inputs, self._binding, self._make_frame = inputs, binding, make_frame

    def new_frame(self) -> CallFrame:
        """Another frame, for one more call at a time."""
        frame = self._make_frame()
        frame.prepare(self._binding)
        return frame

    def __call__(self, *arrays: Array) -> object:
        """The result of a call. Raises: as the model."""
        given = [each if each.flags.c_contiguous else np.ascontiguousarray(each) for each in arrays]
        try:
            frame = self.frames.pop()
        except IndexError:
            frame = self.new_frame()
        outputs = [np.empty(shape, dtype) for shape, dtype in self.outputs]
        frame.args[: self._inputs + len(outputs)] = list(map(address_of, (*given, *outputs)))
        if (status := self.main(*frame.addresses)) != 0:
            raise self.failure(status, frame)
        self.frames.append(frame)
        return outputs[0] if len(outputs) == 1 else outputs
