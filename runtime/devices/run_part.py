"""Runs of device parts: weights are uploaded once, commands bound to sizes once, then copies and launches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, cast

import numpy as np

from stepwell.runtime.backends import HostFunction
from stepwell.runtime.devices.base import (
    Argument,
    Device,
    Memory,
    ReplayDevice,
    View,
    as_bytes,
    code_of_formats,
    expect_usable,
)
from stepwell.runtime.devices.commands import (
    ARENA,
    WEIGHTS,
    Command,
    Copy,
    CopyIn,
    CopyOut,
    Launch,
    Number,
    Slice,
    bound,
)
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.profiling import CURRENT, DeviceTimes
from stepwell.runtime.devices.table import device
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, dtype_from_name

_MOST_BINDINGS = 32
"""Commands are kept for so many tuples of sizes; the least recently used ones go."""


def load_part(code: bytes) -> HostFunction:
    """The function of a device part; the device is asked for at the first call. Raises: `bad-artifact`."""
    return PartRunner(DevicePart.from_bytes(code))


class PartRunner:
    """A part with its memory on a device, from the first call on."""

    def __init__(self, part: DevicePart, on: Device | None = None):
        """Args: `on` is a device in place of the one that the part names."""
        self.part = part
        self._on = on
        self._device: Device | None = None
        self._program: object = None
        self._weights: Memory | None = None
        self._arena: Memory | None = None
        self._bindings: OrderedDict[tuple[int, ...], tuple[int, list[Command]]] = OrderedDict()
        self._recordings: dict[tuple[int, ...], Any] = {}
        """Recordings of the device by sizes, all with the present arena."""
        if not part.symbols:
            self._bind(())

    def __call__(self, inputs: Sequence[object], outputs: list[object]) -> None:
        """Read the inputs, run the commands, fill the outputs. Raises: StepwellError of the device."""
        arrays = [np.ascontiguousarray(cast(Array, each)) for each in inputs]
        sizes = self._sizes(arrays)
        found = self._device or self._on or device(self.part.device)
        expect_usable(found)
        with found.lock:
            try:
                self._call(found, sizes, arrays, outputs)
            except BaseException:
                self.release()
                raise

    def _call(
        self, found: Device, sizes: tuple[int, ...], inputs: Sequence[Array], outputs: list[object]
    ) -> None:
        """Run the commands for some sizes on a device, which has the lock."""
        self._ready(found)
        arena_bytes, commands = self._bind(sizes)
        arena = self._arena_of(found, arena_bytes)
        if (times := CURRENT.get()) is not None:
            for command in commands:
                begin = perf_counter()
                self._run(found, arena, command, inputs, outputs)
                found.synchronize()
                _note(times, command, perf_counter() - begin)
            return
        inside = [each for each in commands if isinstance(each, Launch | Copy)]
        for command in commands:
            if not isinstance(found, ReplayDevice) or not isinstance(command, Launch | Copy):
                self._run(found, arena, command, inputs, outputs)
            elif command is inside[0]:
                found.replay(self._recording(found, sizes, lambda: self._all(found, arena, inside)))
        found.synchronize()

    def _all(self, found: Device, arena: Memory, commands: Sequence[Command]) -> None:
        """Run commands that do not need the host's arrays."""
        for command in commands:
            self._run(found, arena, command, (), [])

    def _recording(self, found: ReplayDevice, sizes: tuple[int, ...], run: Callable[[], None]) -> Any:
        """The device's recording for some sizes, made at first use."""
        if sizes not in self._recordings:
            self._recordings[sizes] = found.record(run)
        return self._recordings[sizes]

    def _forget(self, found: Device, *sizes: tuple[int, ...]) -> None:
        """Give recordings back."""
        for each in sizes:
            recording = self._recordings.pop(each, None)
            if recording is not None and isinstance(found, ReplayDevice):
                with suppress(StepwellError):
                    found.forget(recording)

    def release(self) -> None:
        """Free the memory on the device; a later call allocates it again."""
        if self._device is None:
            return
        with self._device.lock:
            self._forget(self._device, *self._recordings)
            for memory in (self._weights, self._arena):
                if memory is not None:
                    with suppress(StepwellError):  # of a device that is gone, whose memory is
                        self._device.free(memory)
            if self._program is not None:
                with suppress(StepwellError):
                    self._device.unload(self._program)
            self._device = self._weights = self._arena = self._program = None

    def _sizes(self, inputs: Sequence[Array]) -> tuple[int, ...]:
        """The sizes of the symbols, in their order."""
        where = self.part.sizes_input
        return tuple(
            int(inputs[number].reshape(-1)[axis]) if number == where else inputs[number].shape[axis]
            for number, axis in self.part.symbols.values()
        )

    def _ready(self, found: Device) -> None:
        """Load the code and upload the weights, once."""
        if self._device is not None:
            return
        self._device = found
        format, code = code_of_formats(found.formats, self.part.codes, self.part.device, f"@{self.part.name}")
        self._program = found.load(code, format)
        if self.part.weights:
            self._weights = found.allocate(len(self.part.weights))
            found.copy_in(self._weights, 0, np.frombuffer(self.part.weights, np.uint8))

    def _bind(self, sizes: tuple[int, ...]) -> tuple[int, list[Command]]:
        """The bytes of the arena and the commands for some sizes."""
        if sizes in self._bindings:
            self._bindings.move_to_end(sizes)
            return self._bindings[sizes]
        symbols = dict(zip(self.part.symbols, sizes, strict=True))
        try:
            arena = self.part.arena.evaluate(symbols)
            spaces = {ARENA: arena, WEIGHTS: len(self.part.weights)}
            made = [bound(command, symbols, spaces) for command in self.part.commands]
        except (KeyError, ValueError, ZeroDivisionError) as error:
            message = f"the commands of @{self.part.name} need a size that is not there: {error}"
            raise StepwellError("bad-artifact", None, message) from None
        self._bindings[sizes] = arena, [command for command in made if command is not None]
        if len(self._bindings) > _MOST_BINDINGS:
            oldest, _ = self._bindings.popitem(last=False)
            if self._device is not None:
                self._forget(self._device, oldest)
        return self._bindings[sizes]

    def _arena_of(self, found: Device, nbytes: int) -> Memory:
        """Memory of at least some bytes, which later calls use too."""
        if self._arena is None or self._arena.nbytes < nbytes:
            if (old := self._arena) is not None:
                self._forget(found, *self._recordings)
                self._arena = None
                found.free(old)
            self._arena = found.allocate(max(nbytes, 1))
        return self._arena

    def _run(
        self, found: Device, arena: Memory, command: Command, inputs: Sequence[Array], outputs: list[object]
    ) -> None:
        """Run a command with numbers."""

        def view(array: Slice) -> View:
            memory = arena if array.space == ARENA else cast(Memory, self._weights)
            shape = tuple(size.value for size in array.shape)
            return View(memory, array.offset.value, dtype_from_name(array.dtype), shape)

        match command:
            case CopyIn():
                to = view(command.to)
                self._expect(inputs[command.number], to, f"input {command.number}")
                found.copy_in(to.memory, to.offset, as_bytes(inputs[command.number]))
            case CopyOut():
                source, output = view(command.source), cast(Array, outputs[command.number])
                self._expect(output, source, f"output {command.number}")
                found.copy_out(source.memory, source.offset, as_bytes(output))
            case Copy():
                source, to = view(command.source), view(command.to)
                found.copy(source.memory, source.offset, to.memory, to.offset, to.nbytes)
            case Launch():
                arguments = [
                    view(each) if isinstance(each, Slice) else _number(each) for each in command.arguments
                ]
                grid, block = (tuple(size.value for size in sizes) for sizes in (command.grid, command.block))
                kernel, shared = command.kernel, command.shared.value
                found.launch(self._program, kernel, grid, block, shared, arguments)  # pyright: ignore[reportArgumentType]  # of three sizes each

    def _expect(self, array: Array, wanted: View, name: str) -> None:
        """Require an array of some bytes. Raises: StepwellError `wrong-result`."""
        if array.nbytes != wanted.nbytes:
            message = f"{name} of @{self.part.name} has {array.nbytes} bytes, expected {wanted.nbytes}"
            raise StepwellError("wrong-result", None, message)


def _note(times: DeviceTimes, command: Command, seconds: float) -> None:
    """Add a command to a profile."""
    if isinstance(command, Launch):
        times.add(command.kernel, seconds)
        return
    times.copied_bytes += (command.source if isinstance(command, CopyOut) else command.to).nbytes.value
    times.copy_seconds += seconds


def _number(found: Number) -> Argument:
    """An index as it is, or a number of its type."""
    if isinstance(found.value, Dim):
        return found.value.value
    return cast(Argument, dtype_from_name(found.dtype).type(found.value))
