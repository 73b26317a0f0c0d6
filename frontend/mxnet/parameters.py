"""The parameters beside a symbol: a list of arrays, then their names."""

from __future__ import annotations

import struct
from math import prod
from pathlib import Path

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.external import ExternalFiles
from stepwell.runtime.interface import Array, dtype_from_name

ELEMENTS = {
    0: "float32",
    1: "float64",
    2: "float16",
    3: "uint8",
    4: "int32",
    5: "int8",
    6: "int64",
    7: "bool",
    12: "bfloat16",
}
"""The element types by their numbers, in arrays and in `__dtype__` of a node."""
_LIST, _V1, _V2, _V3 = 0x112, 0xF993FAC8, 0xF993FAC9, 0xF993FACA
"""The marks of a list, and of arrays of versions 1 to 3; older ones begin with their rank."""
_MAX_RANK = 32


class Parameters:
    """The arrays of a file of parameters by name, views of the mapped file."""

    def __init__(self, path: Path):
        """Read a file. Raises: StepwellError `invalid-weights`, `external-data`."""
        self._name, self._files, self._at = path.name, ExternalFiles(path.parent), 0
        self._data = self._files.whole(path.name)
        self.states = self._files.states
        mark, _, count = self._numbers("<QQQ")
        if mark != _LIST:
            raise self._invalid(f"the file begins with {mark:#x}, and a list of arrays with {_LIST:#x}")
        self._expect_count(count, 8)
        arrays = [self._array() for _ in range(count)]
        (named,) = self._numbers("<Q")
        if named != count:
            raise self._invalid(f"{count} arrays have {named} names")
        names = [self._text() for _ in range(count)]
        self.arrays = {name.partition(":")[2] or name: each for name, each in zip(names, arrays, strict=True)}

    def _array(self) -> Array:
        """The next array: its version, shape, place and type, then its elements."""
        (mark,) = self._numbers("<I")
        if mark in (_V2, _V3):
            (storage,) = self._numbers("<i")
            if storage != 0:
                raise self._invalid(f"an array at byte {self._at} is sparse")
        wide = mark in (_V1, _V2, _V3)
        rank = self._numbers("<I")[0] if wide else mark
        if rank > _MAX_RANK:
            raise self._invalid(f"an array at byte {self._at} has rank {rank}")
        shape = self._numbers(f"<{rank}q" if wide else f"<{rank}I")
        _, _, number = self._numbers("<iii")  # kind of device, its number, element type
        if number not in ELEMENTS or any(size < 0 for size in shape):
            raise self._invalid(f"an array at byte {self._at} has type {number} and shape {list(shape)}")
        dtype = dtype_from_name(ELEMENTS[number])
        return np.frombuffer(self._bytes(prod(shape) * dtype.itemsize), dtype).reshape(shape)

    def _text(self) -> str:
        (size,) = self._numbers("<Q")
        try:
            return str(self._bytes(size), "utf-8")
        except UnicodeDecodeError:
            raise self._invalid(f"a name at byte {self._at} is no text in UTF-8") from None

    def _expect_count(self, count: int, least: int) -> None:
        if count * least > len(self._data):
            raise self._invalid(f"{count} arrays do not fit into the {len(self._data)} bytes of the file")

    def _numbers(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def _bytes(self, count: int) -> memoryview:
        """The next bytes. Raises: StepwellError `invalid-weights` where the file ends before."""
        begin, end = self._at, self._at + count
        if end > len(self._data):
            raise self._invalid(f"the file has {len(self._data)} bytes, and a part of it ends at byte {end}")
        self._at = end
        return self._data[begin:end]

    def _invalid(self, message: str) -> StepwellError:
        return StepwellError("invalid-weights", self._name, message)
