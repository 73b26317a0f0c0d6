"""A device that writes down each call, and may fail at one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwell.runtime.devices.base import Argument, Bytes, Device, DeviceInfo, Memory, Triple, View
from stepwell.runtime.errors import StepwellError


class RecordingDevice(Device):
    """
    A device in memory of the host, whose kernels do nothing.

    Args: `fails_at` is the number of the call that raises, and all after it.
    """

    kind = "recording"
    formats = ("gpu",)

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.held: set[int] = set()
        self._fails_at = fails_at

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if self._fails_at is not None and len(self.calls) > self._fails_at:
            raise StepwellError("driver", None, f"the device is gone at call {len(self.calls) - 1}: {call}")

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo("recording:0", self.kind, "writes down each call")

    def allocate(self, nbytes: int) -> Memory:
        self._note(f"allocate {nbytes}")
        memory = Memory(nbytes, bytearray(nbytes))
        self.held.add(id(memory.handle))
        return memory

    def free(self, memory: Memory) -> None:
        self.held.remove(id(memory.handle))
        self._note(f"free {memory.nbytes}")
        memory.handle = None

    def copy_in(self, memory: Memory, offset: int, array: Bytes) -> None:
        self._note(f"copy in {array.size} at {offset} of {memory.nbytes}")
        memory.handle[offset : offset + array.size] = array.tobytes()

    def copy_out(self, memory: Memory, offset: int, array: Bytes) -> None:
        self._note(f"copy out {array.size} from {offset} of {memory.nbytes}")
        array[...] = list(memory.handle[offset : offset + array.size])

    def copy(self, source: Memory, offset: int, to: Memory, to_offset: int, nbytes: int) -> None:
        self._note(f"copy {nbytes} from {offset} to {to_offset}")

    def load(self, code: bytes, format: str) -> object:
        self._note(f"load {format}")
        return None

    def launch(
        self,
        program: Any,
        kernel: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int,
        arguments: Sequence[Argument],
    ) -> None:
        for each in arguments:
            assert not isinstance(each, View) or id(each.memory.handle) in self.held
        places = [f"{a.offset}" if isinstance(a, View) else repr(a) for a in arguments]
        self._note(f"launch {kernel} {grid} {block} ({', '.join(places)})")
