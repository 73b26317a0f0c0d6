"""Runs of device parts: weights are uploaded once, commands bound to sizes once, then copies and launches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, cast

import numpy as np

from stepwell.runtime.backends import HostFunction
from stepwell.runtime.devices.arrays import DeviceArray
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
from stepwell.runtime.devices.places import (
    OnDevice,
    input_space,
    needs_arena,
    on_arrays,
    output_space,
    passed_on,
)
from stepwell.runtime.devices.profiling import CURRENT, DeviceTimes
from stepwell.runtime.devices.resident import host_outputs, keep_residents, resident_input
from stepwell.runtime.devices.table import device
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, dtype_from_name

_MOST_BINDINGS = 32
"""The most tuples of sizes whose commands are remembered; the least recently used one is dropped."""


def load_part(code: bytes | memoryview) -> HostFunction:
    """The function that runs a device part; the first call opens the device. Raises: `bad-artifact`."""
    return PartRunner(DevicePart.from_bytes(code))


class PartRunner:
    """A part with its memory on a device, from the first call on."""

    def __init__(self, part: DevicePart, on: Device | None = None):
        """Args: `on` is used instead of the device that the part names."""
        self.part = part
        self._on = on
        self._device: Device | None = None
        self._program: object = None
        self._weights: Memory | None = None
        self._arena: Memory | None = None
        self._bindings: OrderedDict[tuple[int, ...], tuple[int, list[Command]]] = OrderedDict()
        self._moved: OrderedDict[tuple[tuple[int, ...], OnDevice], list[Command]] = OrderedDict()
        """Commands for inputs and outputs in arrays of the device, by sizes and by the numbers of these."""
        self._recordings: OrderedDict[tuple[int, ...], tuple[Any, Sequence[Memory]]] = OrderedDict()
        """Recordings by sizes and by the memory of arrays, which each contains; all use the current arena."""
        self._given_back = 0
        """The number of recordings that were freed for later ones."""
        if not part.symbols:
            self._bind(())

    def __call__(self, inputs: Sequence[object], outputs: list[object]) -> None:
        """
        Read the inputs, run the commands, fill the outputs; an output of None is replaced by an array of the
        device.

        Raises: StepwellError of the device.
        """
        found = self._device or self._on or device(self.part.device)
        expect_usable(found)
        arrays = [_readable(resident_input(each), found) for each in inputs]
        sizes, made = self._sizes(arrays), host_outputs(outputs)
        with found.lock:
            try:
                self._call(found, sizes, arrays, made)
            except BaseException:
                self.release()
                raise
        keep_residents(outputs, made)
        for number, output in enumerate(outputs):
            if output is None:
                outputs[number] = made[number]

    def _call(
        self,
        found: Device,
        sizes: tuple[int, ...],
        inputs: Sequence[Array | DeviceArray],
        outputs: list[object],
    ) -> None:
        """Run the commands for some sizes on a device whose lock the caller has."""
        self._ready(found)
        arena_bytes, commands = self._bind(sizes)
        chosen = OnDevice(
            tuple(number for number, each in enumerate(inputs) if isinstance(each, DeviceArray)),
            tuple(number for number, each in enumerate(outputs) if each is None),
        )
        spaces: dict[str, Memory] = {}
        if self._weights is not None:
            spaces[WEIGHTS] = self._weights
        if any(chosen):
            spaces |= self._arrays_of(found, commands, sizes, inputs, outputs)
            commands = self._on_arrays(sizes, chosen, commands)
        if needs_arena(commands):
            spaces[ARENA] = self._arena_of(found, arena_bytes)
        if (times := CURRENT.get()) is not None:
            for command in commands:
                begin = perf_counter()
                self._run(found, spaces, command, inputs, outputs)
                found.synchronize()
                _note(times, command, perf_counter() - begin, self.part.device)
            return
        inside = [each for each in commands if isinstance(each, Launch | Copy)]
        for command in commands:
            if not isinstance(found, ReplayDevice) or not isinstance(command, Launch | Copy):
                self._run(found, spaces, command, inputs, outputs)
            elif command is inside[0]:
                found.replay(self._recording(found, sizes, spaces, inside))
        found.synchronize()

    def _arrays_of(
        self,
        found: Device,
        commands: Sequence[Command],
        sizes: tuple[int, ...],
        inputs: Sequence[Array | DeviceArray],
        outputs: list[object],
    ) -> dict[str, Memory]:
        """The memory of inputs and outputs that are arrays of the device; allocates the outputs."""
        spaces: dict[str, Memory] = {}
        for number, array in enumerate(inputs):
            if isinstance(array, DeviceArray):
                spaces[input_space(number)] = array.memory
        same, symbols = passed_on(commands), dict(zip(self.part.symbols, sizes, strict=True))
        for number, output in enumerate(outputs):
            if output is not None:
                continue
            read = inputs[same[number]] if number in same else None
            about = self.part.outputs[number]
            shape = [dim.evaluate(symbols) for dim in about.dims]
            made = read if isinstance(read, DeviceArray) else None
            made = made or found.new_array(shape, dtype_from_name(about.dtype))
            outputs[number] = made
            spaces[output_space(number)] = made.memory
        return spaces

    def _on_arrays(
        self, sizes: tuple[int, ...], chosen: OnDevice, commands: Sequence[Command]
    ) -> list[Command]:
        """The commands for some sizes with arrays of the device."""
        key = sizes, chosen
        if key not in self._moved:
            self._moved[key] = on_arrays(commands, chosen)
            if len(self._moved) > _MOST_BINDINGS:
                self._moved.popitem(last=False)
        return self._moved[key]

    def _recording(
        self,
        found: ReplayDevice,
        sizes: tuple[int, ...],
        spaces: Mapping[str, Memory],
        commands: Sequence[Command],
    ) -> Any:
        """The device's recording of commands for some sizes and memory, made at first use."""

        def run() -> None:
            for command in commands:
                self._run(found, spaces, command, (), [])

        # The memory is referenced, so that no other has its id.
        arrays = [memory for space, memory in spaces.items() if space not in (ARENA, WEIGHTS)]
        key = (*sizes, *map(id, arrays))
        if key not in self._recordings:
            self._recordings[key] = found.record(run), arrays
            if len(self._recordings) > _MOST_BINDINGS:
                self._forget(found, next(iter(self._recordings)))
                self._given_back += 1
                if self._given_back == _MOST_BINDINGS:
                    _warn_of_recordings(self.part.name)
        self._recordings.move_to_end(key)
        return self._recordings[key][0]

    def _forget(self, found: Device, *keys: tuple[int, ...]) -> None:
        """Give recordings back."""
        for key in keys:
            recording, _ = self._recordings.pop(key)
            if isinstance(found, ReplayDevice):
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
            self._device.arrays.clear()
            self._device = self._weights = self._arena = self._program = None

    def _sizes(self, inputs: Sequence[Array | DeviceArray]) -> tuple[int, ...]:
        """The sizes of the symbols, in their order."""
        where = self.part.sizes_input
        return tuple(
            int(np.asarray(inputs[number]).reshape(-1)[axis])
            if number == where
            else inputs[number].shape[axis]
            for number, axis in self.part.symbols.values()
        )

    def _ready(self, found: Device) -> None:
        """Load the code and upload the weights, once."""
        if self._device is not None:
            return
        self._device = found
        if any(isinstance(command, Launch) for command in self.part.commands):
            where = f"@{self.part.name}"
            format, code = code_of_formats(found.formats, self.part.codes, self.part.device, where)
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
            self._bindings.popitem(last=False)
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
        self,
        found: Device,
        spaces: Mapping[str, Memory],
        command: Command,
        inputs: Sequence[Array | DeviceArray],
        outputs: list[object],
    ) -> None:
        """Run a command with numbers, on memory by its name."""

        def view(array: Slice) -> View:
            shape = tuple(size.value for size in array.shape)
            return View(spaces[array.space], array.offset.value, dtype_from_name(array.dtype), shape)

        match command:
            case CopyIn():
                to, array = view(command.to), cast(Array, inputs[command.number])
                self._expect(array, to, f"input {command.number}")
                found.copy_in(to.memory, to.offset, as_bytes(array))
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


def _warn_of_recordings(name: str) -> None:
    """Warn the user's program: recordings cost more than they save."""
    from stepwell.runtime.warned import warn

    text = f"the device part @{name} has recorded its launches for {2 * _MOST_BINDINGS} combinations of sizes"
    advice = f"and of arrays, of which {_MOST_BINDINGS} are kept: pad inputs to fewer sizes, or reuse arrays"
    warn(f"{text} {advice}", RuntimeWarning)


def _readable(value: object, found: Device) -> Array | DeviceArray:
    """An input as an array of the device, or as a contiguous one of the host."""
    if isinstance(value, DeviceArray):
        return value if value.device is found else value.numpy()
    return np.ascontiguousarray(cast(Array, value))


def _note(times: DeviceTimes, command: Command, seconds: float, on: str) -> None:
    """Add a command, run on a device of a name, to a profile."""
    if isinstance(command, Launch):
        arrays = {(each.space, each.offset): each for each in command.arguments if isinstance(each, Slice)}
        times.add(command.kernel, seconds)
        times.add_arrays(command.kernel, sum(each.nbytes.value for each in arrays.values()), on)
        if command.operations is not None:
            times.add_operations(command.kernel, command.operations.value)
        return
    times.copied_bytes += (command.source if isinstance(command, CopyOut) else command.to).nbytes.value
    times.copy_seconds += seconds


def _number(found: Number) -> Argument:
    """An index as it is, or a number of its type."""
    if isinstance(found.value, Dim):
        return found.value.value
    return cast(Argument, dtype_from_name(found.dtype).type(found.value))
