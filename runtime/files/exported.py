"""
Exported files: the suffixes of those that programs in C link or load, and shared libraries in Python again.

A library has a section with the description of its model. Its code needs no other, so it is mapped as that of
artifacts: the system's loader would give a program the old library again where a file is written anew.
Source: System V ABI, chapter 4.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
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
from stepwell.runtime.link.elf import ELF32, ELF64, elf_class, machine_of

SYSTEM_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "linux": (".o", ".a", ".so"),
    "windows": (".o", ".a", ".dll"),
    "apple": (".o", ".a", ".dylib"),
    "none": (".o", ".a"),
}
"""The suffixes of objects, static and shared libraries for each system."""
CODE_SUFFIXES = tuple(dict.fromkeys(suffix for each in SYSTEM_SUFFIXES.values() for suffix in each))
WASM_SUFFIXES = (".wasm", ".tgz")
SOURCE_SUFFIX = ".c"
PROJECT_SUFFIX = ".tar"
EXPORT_SUFFIXES = (*CODE_SUFFIXES, SOURCE_SUFFIX, *WASM_SUFFIXES, PROJECT_SUFFIX)
"""The suffixes of files that programs link, load or compile: machine code, C, WebAssembly, a project."""
LIBRARY_SUFFIX = ".so"
EXPORT_SCHEMA = "stepwell-export/1"
JSON_SECTION, WEIGHTS_SECTION = ".stepwell", ".rodata"
"""The sections of a library with the description of its model, and with its weights."""
_SHARED = 3
Bytes = npt.NDArray[np.uint8]


class _Place(NamedTuple):
    """A section: in a file, and its address in the memory of a program."""

    offset: int
    size: int
    address: int = 0


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
        # The weights of an export are those of the function, in its order.
        function = {**as_mapping(about["function"]), "weights": list(range(len(arrays)))}
        return ModelImage({MAIN: entry(function, f"{name}_{MAIN}")}, arrays, as_mapping(about["summary"]))
    order, texts = as_texts(as_mapping(about["summary"])[LIBRARY]), as_mapping(about["functions"])
    functions = {own: entry(as_mapping(texts[own]), f"{name}_{own}_{MAIN}") for own in order}
    if any(number >= len(arrays) for each in functions.values() for number in each.weights):
        raise ValueError("a function refers to a weight that it does not have")
    return ModelImage(functions, arrays, {LIBRARY: list(functions)})


def _code(data: Bytes, sections: Mapping[str, _Place], symbol: str) -> LinkedCode:
    """The code of a library, of which one function is called."""
    text, symbols, names = (sections[name] for name in (".text", ".dynsym", ".dynstr"))
    elf = elf_class(machine_of(data[:64].tobytes()))
    contents = data[text.offset : text.offset + text.size].tobytes()
    texts = data[names.offset : names.offset + names.size].tobytes()
    rows = data[symbols.offset : symbols.offset + symbols.size].tobytes()
    if len(rows) % elf.symbol.size:
        raise ValueError("its table of symbols ends in the middle of a row")
    for row in elf.symbol.iter_unpack(rows):
        address, size = (row[4], row[5]) if elf is ELF64 else (row[1], row[2])
        if texts[row[0] : texts.find(b"\0", row[0])].decode("utf-8", "replace") == symbol:
            place = address - text.address, size
            end = text.size + -text.size % min(PAGE_BYTES.values())
            return LinkedCode(contents, text.size, end, (), {symbol: place}).checked()
    raise ValueError(f"it has no function {symbol!r}")


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
