"""A compiled model with kept values: the results of all its calls, read from memory after it has run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from stepwell.runtime.image import KeptBuffer
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.memory import Memory
from stepwell.runtime.model import CompiledModel

Sizes = Callable[[str], "int | None"]
"""The value of a symbol, None for one that is not known."""


@dataclass(frozen=True)
class KeptRun:
    """The memory of an ended call, which no other call uses until its release."""

    outputs: Mapping[str, Array]
    sizes: Mapping[str, int]
    """The values of the symbols of inputs and outputs."""
    arena: Array
    slots: Memory | None
    buffers: Sequence[KeptBuffer]
    release: Callable[[], None]
    """Lets another call use the memory: nothing may read it any more. New memory takes as long as a run."""

    def array(self, number: int, sizes: Sizes) -> Array | None:
        """
        The result with a number in `image.buffers`, as a view of the memory.

        Returns: None for one of unknown size, or in no memory that is left.
        """
        buffer = self.buffers[number]
        names = {name for dim in (*buffer.dims, buffer.offset) for name in dim.symbols()}
        known = {name: size for name in names if (size := sizes(name)) is not None}
        if not buffer.dtype or len(known) < len(names):
            return None
        shape = tuple(dim.evaluate(known) for dim in buffer.dims)
        if buffer.memory == "output":
            output = list(self.outputs.values())[buffer.number]
            return output.reshape(shape) if output.size == prod(shape) else None
        start, memory = 0, None
        if buffer.memory == "arena":
            start, memory = buffer.offset.evaluate(known), self.arena
        elif buffer.memory == "slot" and self.slots is not None:
            memory = self.slots.slot(buffer.number)
        return None if memory is None else _view(memory, start, shape, dtype_from_name(buffer.dtype))


class KeptModel(CompiledModel):
    """A compiled model of which the values of a call can be read."""

    def run_kept(self, feeds: Mapping[str, object]) -> KeptRun:
        """The outputs of a call, and its memory. Raises: as `run`."""
        outputs = self.run(feeds)
        frames = self._frames  # of this number of threads
        frame = frames.pop()  # the next call uses another one
        assert frame.binding is not None
        told = frame.dims[len(frame.binding.symbols) :].tolist()
        sizes = {**frame.binding.values, **dict(zip(self.interface.published, told, strict=False))}
        release = partial(frames.append, frame)
        return KeptRun(outputs, sizes, frame.arena, frame.memory, self.image.buffers, release)


def _view(memory: Array, start: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array | None:
    """Bytes of memory as an array; None where the memory is smaller, since the call never came there."""
    size = prod(shape) * dtype.itemsize
    if start + size > memory.nbytes:
        return None
    return memory[start : start + size].view(dtype).reshape(shape)
