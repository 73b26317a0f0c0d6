"""Models whose calls run on guarded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepwell.runtime.interface import Array
from stepwell.runtime.machine.call_frame import CallFrame
from stepwell.runtime.memory import LargeOutputs
from stepwell.runtime.model import CompiledModel, Shapes
from stepwell.runtime.rpc.guarded import GuardedMemory
from stepwell.runtime.sessions.states import Targets

_WORKSPACE = "the workspace"


class _GuardedOutputs(LargeOutputs):
    """Outputs between inaccessible pages."""

    def __init__(self, memory: GuardedMemory):
        super().__init__()
        self._memory = memory

    def new(self, place: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        return self._memory.new(shape, dtype, f"output {place}")


class GuardedModel(CompiledModel):
    """
    A compiled model whose inputs, outputs and workspace are between inaccessible pages.

    Consecutive calls on the same shapes use the same pages.
    """

    _guarded_shapes: Shapes | None = None
    _memory: GuardedMemory

    def call_on_all(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """
        The outputs of a call on all inputs of the code, states included; the next call overwrites them.

        Raises: StepwellError as calling does; `stray-write`.
        """
        shapes = tuple(array.shape for array in arrays)
        if shapes != self._guarded_shapes:
            self._frames.clear()  # with the memory of the call before: the workspace ends at another place
            self._guarded_shapes, self._memory = shapes, GuardedMemory()
        self._memory.spoil(_WORKSPACE)
        inputs = [self._memory.copy(array, f"input {i}") for i, array in enumerate(arrays)]
        outputs = self._invoke(inputs, Targets())
        self._memory.check()
        return outputs

    def _new_frame(self) -> CallFrame:
        frame = super()._new_frame()
        frame.outputs = _GuardedOutputs(self._memory)
        frame.new_arena = lambda size: self._memory.new((size,), np.dtype(np.uint8), _WORKSPACE)
        return frame
