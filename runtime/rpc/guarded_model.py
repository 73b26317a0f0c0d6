"""Models whose calls run on guarded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepwell.runtime.interface import Array
from stepwell.runtime.machine.call_frame import CallFrame
from stepwell.runtime.memory import LargeOutputs
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.guarded import GuardedMemory
from stepwell.runtime.sessions.states import Targets


class _GuardedOutputs(LargeOutputs):
    """Outputs between inaccessible pages."""

    def __init__(self, memory: GuardedMemory):
        super().__init__()
        self._memory = memory

    def new(self, place: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        return self._memory.new(shape, dtype, f"output {place}")


class GuardedModel(CompiledModel):
    """A compiled model whose inputs, outputs and workspace are between inaccessible pages."""

    def call_on_all(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """
        The outputs of a call on all inputs of the code, states included.

        Raises: StepwellError as calling does; `stray-write`.
        """
        self._memory = GuardedMemory()
        inputs = [self._memory.copy(array, f"input {i}") for i, array in enumerate(arrays)]
        outputs = self._invoke(inputs, Targets())
        self._memory.check()
        self._frames.clear()  # with the memory of this call
        return outputs

    def _new_frame(self) -> CallFrame:
        frame = super()._new_frame()
        frame.outputs = _GuardedOutputs(self._memory)
        frame.new_arena = lambda size: self._memory.new((size,), np.dtype(np.uint8), "the workspace")
        return frame
