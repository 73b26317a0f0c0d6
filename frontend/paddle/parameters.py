"""The parameters of an inference program: tensors in one file, in the order of their names."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np

from stepwell.frontend.paddle.schema import ELEMENTS, SCHEMA
from stepwell.frontend.protobuf import read_message
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.external import ExternalFiles
from stepwell.runtime.interface import Array, dtype_from_name

_MAX_LEVELS = 16
_MAX_DESCRIPTION = 4096


class Parameters:
    """The tensors of a file of parameters, views of the mapped file."""

    def __init__(self, path: Path, names: Sequence[str]):
        """
        Read the file beside a program. Args: `names` are the names of its parameters.

        Raises: StepwellError `invalid-weights`, `external-data`.
        """
        self._name, self._files, self._at = path.name, ExternalFiles(path.parent), 0
        self._data = self._files.whole(path.name) if names else memoryview(b"")
        self.states = self._files.states
        self.arrays = {name: self._tensor(name) for name in sorted(names)}
        if self._at != len(self._data):
            raise self._invalid(f"{len(self._data) - self._at} bytes are left after {len(names)} parameters")

    def _tensor(self, name: str) -> Array:
        """The next tensor: version, levels, description, elements."""
        version, levels = self._numbers("<IQ", name)
        if version != 0 or levels > _MAX_LEVELS:
            raise self._invalid(f"{name!r} has version {version} and {levels} levels at byte {self._at}")
        for _ in range(levels):
            (size,) = self._numbers("<Q", name)
            self._bytes(size, name)
        version, size = self._numbers("<Ii", name)
        if version != 0 or not 0 <= size <= _MAX_DESCRIPTION:
            raise self._invalid(f"{name!r} has a description of {size} bytes at byte {self._at}")
        described = read_message(self._bytes(size, name), SCHEMA, "TensorDesc", self._name)
        element, shape = ELEMENTS.get(described.integer("data_type")), described.numbers("dims")
        if element is None or any(size < 0 for size in shape):
            raise self._invalid(f"{name!r} has type {described.integer('data_type')} and shape {shape}")
        dtype = dtype_from_name(element)
        return np.frombuffer(self._bytes(prod(shape) * dtype.itemsize, name), dtype).reshape(shape)

    def _numbers(self, form: str, name: str) -> tuple[int, ...]:
        return struct.unpack(form, self._bytes(struct.calcsize(form), name))

    def _bytes(self, count: int, name: str) -> memoryview:
        """The next bytes. Raises: StepwellError `invalid-weights` where the file ends before."""
        begin, end = self._at, self._at + count
        if end > len(self._data):
            raise self._invalid(f"the file has {len(self._data)} bytes, and {name!r} ends at byte {end}")
        self._at = end
        return self._data[begin:end]

    def _invalid(self, message: str) -> StepwellError:
        return StepwellError("invalid-weights", self._name, message)
