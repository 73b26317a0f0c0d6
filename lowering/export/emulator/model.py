"""Models for other CPUs, called through an emulator: exported programs that read the arrays of a call."""

from __future__ import annotations

import shlex
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np

from stepwell.lowering.export.emulator.boards import Board, board_command, board_of, expect_fitting
from stepwell.lowering.export.emulator.library import library_program
from stepwell.lowering.export.emulator.program import BASE, emulated_program, words
from stepwell.lowering.export.emulator.wasm import emulated_files
from stepwell.lowering.export.files import ExportOptions, Program, program_parts, wasm_model
from stepwell.lowering.export.names import caller_symbols
from stepwell.runtime.abi import ARENA_ALIGNMENT, EntryStatus
from stepwell.runtime.abi import CallField as Field
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array, Binding, Interface
from stepwell.runtime.machine.arguments import checked_input
from stepwell.runtime.machine.target import described
from stepwell.runtime.targets.cpu import level_of
from stepwell.runtime.targets.triples import arch_of, system_of

_NAME = "model"
_HEAP_BYTES, _BOARD_HEAP_BYTES = 1 << 26, 1 << 20
"""The memory for what depends on data, on a system and on a board."""
_SECONDS = 600
_PACKAGES = {"qemu-system-arm": "qemu-system-arm", "qemu": "qemu-user", "node": "nodejs"}


class EmulatedModel:
    """A model of another CPU: `run` calls it as `CompiledModel.run` does, on one emulated thread."""

    def __init__(self, image: ModelImage, library: Path | None = None):
        """
        Args: `image` for a target of the table; `library` is the exported file that it is of.
        Raises: StepwellError `missing-emulator`; as an export.
        """
        self.image = image
        self._entry = image.main
        variant = self._entry.variants[0]
        self.interface: Interface = self._entry.interface
        self.command, self._board = _emulator(variant.triple, variant.features)
        self._base = self._board.memory if self._board else BASE
        self._heap_bytes = _BOARD_HEAP_BYTES if self._board else _HEAP_BYTES
        self._weight_bytes = 0
        self._pointer_bytes = described(variant.triple, variant.features).pointer_bytes
        options = ExportOptions(_NAME)
        if arch_of(variant.triple) == "wasm32":
            self._files = emulated_files(_NAME, wasm_model(image, options))
        elif library is not None:
            program = library_program(library, variant, self._arguments)
            self._files = {_NAME: b"".join(map(bytes, program))}
        else:
            parts = program_parts(image, options, Program(self._board))
            self._weight_bytes = parts.weight_bytes
            if self._board is not None:
                expect_fitting(self._board, 0, self._weight_bytes)
            program = emulated_program(parts, self._board)
            self._files = {_NAME: b"".join(map(bytes, program))}

    @property
    def _arguments(self) -> int:
        """The number of arguments of the function that runs the model."""
        return 3 + bool(caller_symbols(self._entry)) + bool(self.interface.published)

    def run(self, feeds: Mapping[str, object]) -> dict[str, Array]:
        """
        The outputs by name.

        Raises: StepwellError as a call of the model, `emulator-failed` where the program ends otherwise.
        """
        specs = self.interface.inputs
        arrays = [checked_input(spec, feeds[spec.name]) for spec in specs]
        binding = self.interface.bind([array.shape for array in arrays])
        picture = _Picture(self._pointer_bytes, self._base)
        outputs, header = self._laid_out(picture, arrays, binding)
        if self._board is not None:
            expect_fitting(self._board, len(picture.data), self._weight_bytes)
        data = self._emulated(words(header) + bytes(picture.data))
        (status,) = struct.unpack_from("<q", data)
        memory = data[8:]
        if status:
            raise self._failure(status, memory, picture, header)
        shapes = self._shapes(memory, header, binding)
        found: dict[str, Array] = {}
        for spec, place, shape in zip(self.interface.outputs, outputs, shapes, strict=True):
            if place < 0:  # the address of an array that was allocated is where the pointer to it is
                place = picture.pointer(memory, -place - self._base)
            count = prod(shape)
            start = place - self._base
            view = np.frombuffer(memory[start : start + count * spec.dtype.itemsize], spec.dtype)
            found[spec.name] = view.reshape(shape)
        return found

    def _laid_out(
        self, picture: _Picture, arrays: Sequence[Array], binding: Binding
    ) -> tuple[list[int], list[int]]:
        """The addresses of outputs, negated of pointers to them, and the header."""
        interface = self.interface
        inputs = [picture.add(array.tobytes()) for array in arrays]
        places: list[int] = []
        for spec, shape in zip(interface.outputs, binding.output_shapes, strict=True):
            size = 8 if shape is None else prod(shape) * spec.dtype.itemsize
            places.append(picture.add(bytes(size)) * (-1 if shape is None else 1))
        pools = [picture.add(bytes(size)) for size in self._entry.pools.values()]
        workspace = picture.add(bytes(0 if pools else binding.arena_bytes))
        addresses = [picture.pointers(inputs), picture.pointers([abs(place) for place in places])]
        if symbols := caller_symbols(self._entry):
            addresses.append(picture.words([binding.values[name] for name in symbols]))
        if interface.published:
            addresses.append(picture.words([0] * len(interface.published)))
        heap = picture.words([0, 0])
        memories = Field.MEMORIES.offset(self._pointer_bytes)
        call = picture.add(bytes(memories + 8 * len(pools)))
        for number, place in enumerate(pools):
            picture.store(call + memories + number * self._pointer_bytes, place)
        for field, value in (
            (Field.WORKSPACE, workspace),
            (Field.WORKSPACE_BYTES, binding.arena_bytes),
            (Field.USER, heap),
        ):
            picture.store(call + field.offset(self._pointer_bytes), value)
        hook = call + Field.ALLOCATE.offset(self._pointer_bytes)
        if self._entry.slots:
            begin = picture.add(bytes(self._heap_bytes))
            picture.store_words(heap, [begin, begin + self._heap_bytes])
        header = [len(picture.data), *addresses, call]
        return places, [*header, *[0] * (7 - len(header)), hook]

    def _shapes(self, memory: bytes, header: Sequence[int], binding: Binding) -> list[tuple[int, ...]]:
        """The shapes of outputs, with the sizes that the call found."""
        published = self.interface.published
        place = header[3 + bool(caller_symbols(self._entry))] - self._base
        found = struct.unpack_from(f"<{len(published)}q", memory, place) if published else ()
        values = {**binding.values, **dict(zip(published, found, strict=True))}
        pairs = zip(self.interface.outputs, binding.output_shapes, strict=True)
        return [tuple(d.evaluate(values) for d in s.dims) if shape is None else shape for s, shape in pairs]

    def _failure(
        self, status: int, memory: bytes, picture: _Picture, header: Sequence[int]
    ) -> StepwellError | InternalError:
        """The error of a status of the call."""
        place = header[self._arguments] - self._base + Field.VALUES.offset(self._pointer_bytes)
        if 0 < status <= len(self._entry.errors):
            return self._entry.errors[status - 1].error(*struct.unpack_from("<2q", memory, place))
        if status == EntryStatus.NO_MEMORY:
            message = f"what depends on data takes more than {self._heap_bytes} bytes"
            return StepwellError("out-of-memory", None, message)
        return InternalError(None, f"the exported program returned {status}")

    def _emulated(self, data: bytes) -> bytes:
        """The bytes that the program writes for its input."""
        with tempfile.TemporaryDirectory(prefix="stepwell-") as folder:
            paths = [Path(folder, name) for name in self._files]
            for path, contents in zip(paths, self._files.values(), strict=True):
                path.write_bytes(contents)
                path.chmod(0o700)
            command = [*self.command, *map(str, paths)]
            try:
                done = subprocess.run(command, input=data, capture_output=True, timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                raise StepwellError(
                    "emulator-failed", None, f"the program still ran after {_SECONDS} s"
                ) from None
        if done.returncode or len(done.stdout) < 8:
            lines = done.stderr.decode("utf-8", "replace").splitlines()[:5]
            message = f"the exported program ended with status {done.returncode}"
            note = [shlex.join(self.command) or "run here", *lines]
            raise StepwellError("emulator-failed", None, message, note=note)
        return done.stdout


class _Picture:
    """The memory of a call under construction, as it is at an address."""

    def __init__(self, pointer_bytes: int, base: int):
        self.data = bytearray()
        self._base = base
        self._format = "<I" if pointer_bytes == 4 else "<Q"
        self._pointer_bytes = pointer_bytes

    def add(self, data: bytes) -> int:
        """Append bytes; returns their address, a multiple of the alignment."""
        self.data += bytes(-len(self.data) % ARENA_ALIGNMENT)
        place = len(self.data)
        self.data += data
        return self._base + place

    def pointers(self, addresses: Sequence[int]) -> int:
        """Append a struct of pointers."""
        return self.add(b"".join(struct.pack(self._format, address) for address in addresses))

    def words(self, values: Sequence[int]) -> int:
        """Append a struct of i64."""
        return self.add(struct.pack(f"<{len(values)}q", *values))

    def store(self, address: int, value: int) -> None:
        """Write a pointer, or a number of its size."""
        struct.pack_into(self._format, self.data, address - self._base, value)

    def store_words(self, address: int, values: Sequence[int]) -> None:
        """Write i64."""
        struct.pack_into(f"<{len(values)}q", self.data, address - self._base, *values)

    def pointer(self, memory: bytes, place: int) -> int:
        """A pointer in the memory after a call."""
        return int(struct.unpack_from(self._format, memory, place)[0])


def _emulator(triple: str, features: Sequence[str]) -> tuple[list[str], Board | None]:
    """The command before a program's path, and its board. Raises: StepwellError `missing-emulator`."""
    row = level_of(arch_of(triple), frozenset(features))
    if row is None or row.emulator == "none" or system_of(triple) in ("windows", "apple"):
        message = f"no emulator runs programs for {triple} here"
        help = "export the model, and run it there"
        raise StepwellError("missing-emulator", None, message, help=help)
    if row.emulator == "native":
        return [], None
    board = board_of(row.emulator)
    command = shlex.split(row.emulator) if board is None else board_command(row.emulator)
    if shutil.which(command[0]) is None:
        package = next(package for name, package in _PACKAGES.items() if command[0].startswith(name))
        raise StepwellError(
            "missing-emulator",
            None,
            f"{row.name} is emulated by {command[0]}, which is not on PATH",
            help=f"install the package {package} of your system",
        )
    return command, board
