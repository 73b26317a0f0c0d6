"""
Loading of exported files into Python: shared libraries that programs in C load.

A library has a section with the description of its model. Its code needs no other, so it is mapped as that of
artifacts: the system's loader would give a program the old library again where a file is written anew.
Source: System V ABI, chapter 4.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable
from stepwell.runtime.image import LIBRARY, MAIN, Entry, ModelImage, Variant
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.json_values import as_list, as_mapping, as_shape, as_text, as_texts
from stepwell.runtime.link.code import PAGE_BYTES, LinkedCode
from stepwell.runtime.link.elf import ELF32, ELF64, ElfClass, elf_class, machine_of

EXPORT_SCHEMA = "stepwell-export/1"
JSON_SECTION, WEIGHTS_SECTION = ".stepwell", ".rodata"
"""The sections of a library with the description of its model, and with its weights."""
_SHARED, _LOAD = 3, 1
Bytes = npt.NDArray[np.uint8]


class _Place(NamedTuple):
    """A section: in a file, and its address in the memory of a program."""

    offset: int
    size: int
    address: int = 0


class Segment(NamedTuple):
    """A part of a library that a loader maps: in the file, and its address in the memory of a program."""

    offset: int
    size: int
    address: int
    flags: int


class LibraryMemory(NamedTuple):
    """A library as a loader sees it."""

    contents: bytes
    segments: tuple[Segment, ...]
    functions: Mapping[str, int]
    """The address of each function by name."""
    has_weights: bool
    """Whether the weights are in it, not in a file that programs bind."""


def load_exported(path: str | os.PathLike[str]) -> ModelImage:
    """
    The image of an exported library.

    Raises: StepwellError `no-file`, `bad-artifact` for a file that is no library of ours or is damaged.
    """
    place = os.path.abspath(path)
    try:
        data = np.memmap(place, dtype=np.uint8, mode="r").view(np.ndarray)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise unreadable(Path(place), "library", error) from None
        raise _damaged(place, error) from None
    try:
        return _image(data, place)
    except (ValueError, KeyError, TypeError, struct.error, RecursionError) as error:
        raise _damaged(place, error) from None


def _damaged(place: str, error: Exception) -> StepwellError:
    message = f"this is no whole library of Stepwell's: {error}"
    return StepwellError("bad-artifact", place, message, help="export the model again")


def _image(data: Bytes, place: str) -> ModelImage:
    """The image of a library's bytes. Raises: ValueError, KeyError, TypeError where they contradict."""
    sections = _sections(data)
    about = _description(data, sections)
    weights, name = as_mapping(about["weights"]), as_text(about["name"])
    arrays = _arrays(_weights(data, sections, as_text(weights["place"]), place), as_list(weights["arrays"]))

    def entry(function: Mapping[str, object], symbol: str) -> Entry:
        code = _code(data, sections, symbol)
        variant = Variant(as_text(about["triple"]), as_texts(about["features"]), code, symbol)
        callees = [b""] * len(as_list(function["callees"]))  # whose code a program has
        return Entry.from_json(function, callees, (variant,))

    if "functions" not in about:
        # An export has the function's weights, in the function's order.
        function = {**as_mapping(about["function"]), "weights": list(range(len(arrays)))}
        return ModelImage({MAIN: entry(function, f"{name}_{MAIN}")}, arrays, as_mapping(about["summary"]))
    order, texts = as_texts(as_mapping(about["summary"])[LIBRARY]), as_mapping(about["functions"])
    functions = {own: entry(as_mapping(texts[own]), f"{name}_{own}_{MAIN}") for own in order}
    if any(number >= len(arrays) for each in functions.values() for number in each.weights):
        raise ValueError("a function refers to a weight that it does not have")
    return ModelImage(functions, arrays, {LIBRARY: list(functions)})


def library_memory(path: str | os.PathLike[str]) -> LibraryMemory:
    """
    The segments and functions of an exported library, which `load_exported` has read before.

    Raises: StepwellError `bad-artifact` for a damaged one.
    """
    contents = Path(path).read_bytes()
    try:
        data = np.frombuffer(contents, np.uint8)
        sections, elf = _sections(data), elf_class(machine_of(contents))
        fields = elf.header.unpack_from(contents)
        rows = [(int(fields[5]) + number * int(fields[9])) for number in range(int(fields[10]))]
        segments = [_segment(elf, contents, row) for row in rows]
        mapped = tuple(each for each in segments if each is not None)
        functions = {name: address for name, address, _ in _symbols(data, sections)}
        has_weights = as_mapping(_description(data, sections)["weights"])["place"] == "embed"
        return LibraryMemory(contents, mapped, functions, has_weights)
    except (ValueError, KeyError, struct.error) as error:
        raise _damaged(str(path), error) from None


def _segment(elf: ElfClass, contents: bytes, row: int) -> Segment | None:
    """
    The segment of a row of the program table; None for a segment that is not mapped. Raises: ValueError.
    """
    if elf is ELF64:
        kind, flags, offset, address, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", contents, row)
    else:
        kind, offset, address, _, size, _, flags, _ = struct.unpack_from("<IIIIIIII", contents, row)
    if kind != _LOAD:
        return None
    if offset + size > len(contents):
        raise ValueError("a segment ends after the file: it was cut off")
    return Segment(offset, size, address, flags)


def _code(data: Bytes, sections: Mapping[str, _Place], symbol: str) -> LinkedCode:
    """The code of a library, of which one function is called."""
    text = sections[".text"]
    contents = data[text.offset : text.offset + text.size].tobytes()
    for name, address, size in _symbols(data, sections):
        if name == symbol:
            place = address - text.address, size
            end = text.size + -text.size % min(PAGE_BYTES.values())
            return LinkedCode(contents, text.size, end, (), {symbol: place}).checked()
    raise ValueError(f"it has no function {symbol!r}")


def _symbols(data: Bytes, sections: Mapping[str, _Place]) -> Iterator[tuple[str, int, int]]:
    """The name, address and size of each dynamic symbol. Raises: ValueError."""
    symbols, names = sections[".dynsym"], sections[".dynstr"]
    elf = elf_class(machine_of(data[:64].tobytes()))
    texts = data[names.offset : names.offset + names.size].tobytes()
    rows = data[symbols.offset : symbols.offset + symbols.size].tobytes()
    if len(rows) % elf.symbol.size:
        raise ValueError("its table of symbols ends in the middle of a row")
    for row in elf.symbol.iter_unpack(rows):
        address, size = (row[4], row[5]) if elf is ELF64 else (row[1], row[2])
        yield texts[row[0] : texts.find(b"\0", row[0])].decode("utf-8", "replace"), address, size


def _description(data: Bytes, sections: Mapping[str, _Place]) -> Mapping[str, object]:
    if JSON_SECTION not in sections:
        raise ValueError(f"it has no section {JSON_SECTION}")
    offset, size, _ = sections[JSON_SECTION]
    about = as_mapping(json.loads(data[offset : offset + size].tobytes()))
    if about.get("schema") != EXPORT_SCHEMA:
        raise ValueError(f"its description is not {EXPORT_SCHEMA}")
    return about


def _weights(data: Bytes, sections: Mapping[str, _Place], where: str, path: str) -> Bytes:
    """The bytes of the weights: of the library, or of the file beside it."""
    if where == "embed":
        offset, size, _ = sections.get(WEIGHTS_SECTION, _Place(0, 0))
        return data[offset : offset + size]
    beside = Path(path).with_suffix(".weights")
    try:
        if not beside.stat().st_size:
            return np.empty(0, np.uint8)
        return np.memmap(beside, dtype=np.uint8, mode="r").view(np.ndarray)
    except OSError as error:
        raise unreadable(beside, "weights", error) from None


def _arrays(data: Bytes, claims: Sequence[object]) -> tuple[Array, ...]:
    """The weights as arrays, each from a multiple of the alignment on."""
    arrays, end = list[Array](), 0
    for row in claims:
        claim = as_mapping(row)
        dtype, shape = dtype_from_name(as_text(claim["dtype"])), as_shape(claim["shape"])
        start = end + -end % ARENA_ALIGNMENT
        end = start + prod(shape) * dtype.itemsize
        if end > data.size:
            raise ValueError("the weights are longer than their section: it was cut off")
        arrays.append(cast(Array, data[start:end].view(dtype).reshape(shape)))
    return tuple(arrays)


def _sections(data: Bytes) -> Mapping[str, _Place]:
    """The sections of an ELF library by name, each inside of the file. Raises: ValueError, struct.error."""
    contents = memoryview(data.data)
    elf = ELF32 if bytes(contents[: len(ELF32.ident)]) == ELF32.ident else ELF64
    if len(contents) < elf.header.size or bytes(contents[: len(elf.ident)]) != elf.ident:
        raise ValueError("it is no ELF file")
    fields = elf.header.unpack_from(contents)
    kind, start, row_bytes, count, names = (int(fields[i]) for i in (1, 6, 11, 12, 13))
    if kind != _SHARED or row_bytes != elf.section.size or names >= count:
        raise ValueError("it is no shared library")
    if start + count * row_bytes > len(contents):
        raise ValueError("its section table is outside of the file: it was cut off")
    rows = [elf.section.unpack_from(contents, start + number * row_bytes) for number in range(count)]
    for row in rows:
        if row[4] + row[5] > len(contents):
            raise ValueError("a section ends after the file: it was cut off")
    texts = bytes(contents[rows[names][4] : rows[names][4] + rows[names][5]])
    found: dict[str, _Place] = {}
    for row in rows[1:]:
        end = texts.find(b"\0", row[0])
        if not row[0] <= end:
            raise ValueError("a name is outside of the table of names")
        found[texts[row[0] : end].decode("utf-8", "replace")] = _Place(row[4], row[5], row[3])
    return found
