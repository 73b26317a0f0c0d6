"""Inputs of a model: read from a file of numpy's, or made up, seeded."""

from __future__ import annotations

import lzma
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import IO, TypeVar, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy_format

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable
from stepwell.runtime.interface import MAX_TENSOR_BYTES, Array, Interface, TensorSpec
from stepwell.runtime.machine.arguments import checked_input

FILLS = ("random", "ones", "zeros")
UNNAMED = ""
"""The name of the array of a .npy file."""

_OPEN_SIZES = (1, 2, 8, 32, 64, 512)
"""Strides of networks that add feature maps of several scales, and windows of sound, divide one of these."""
_MOST_ELEMENTS = 1 << 24
"""Of all made-up inputs together."""
_NO_SHAPES: Mapping[str, Sequence[int]] = {}
T = TypeVar("T")
_ENTRY_SUFFIX = ".npy"


def read_arrays(path: Path) -> dict[str, Array]:
    """
    The arrays of a .npz file by name; that of a .npy file is named `UNNAMED`.

    Sizes are checked before memory is asked for: an entry has as many bytes as its shape and element type
    say, and all together fit into this machine's memory. Python objects (pickles) are refused.

    Raises: StepwellError `no-file`, `bad-inputs`.
    """
    try:
        with path.open("rb") as file:
            is_array = file.read(len(npy_format.MAGIC_PREFIX)) == npy_format.MAGIC_PREFIX
            file.seek(0)
            if is_array:
                return {UNNAMED: _read_array(file, path.stat().st_size)}
            with ZipFile(file) as entries:
                _expect_room(sum(entry.file_size for entry in entries.infolist()))
                return dict(_read_entry(entries, entry) for entry in entries.infolist())
    except OSError as error:
        raise unreadable(path, "inputs", error) from None
    except (
        ValueError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        BadZipFile,
        zlib.error,
        lzma.LZMAError,
    ) as error:
        message = f"the inputs cannot be read: {error}"
        help = "write them with numpy.savez"
        raise StepwellError("bad-inputs", str(path), message, help=help) from None


def _read_entry(entries: ZipFile, entry: ZipInfo) -> tuple[str, Array]:
    with entries.open(entry) as file:
        return entry.filename.removesuffix(_ENTRY_SUFFIX), _read_array(file, entry.file_size)


def _read_array(file: IO[bytes], size: int) -> Array:
    """
    The array of a file of `size` bytes in numpy's format. Raises: ValueError, EOFError.

    Source: numpy.lib.format, "Format Version 1.0".
    """
    version = npy_format.read_magic(file)
    read_header = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    if version not in read_header:
        raise ValueError(f"version {version} of the format is not known")
    shape, is_column_major, dtype = read_header[version](file)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded: their elements are Python objects")
    expected = prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or file.tell() + expected != size:
        raise ValueError(f"an array of {dtype}{list(shape)} has {expected} bytes, found {size - file.tell()}")
    array = np.frombuffer(bytearray(file.read(expected)), dtype)
    return array.reshape(shape, order="F" if is_column_major else "C")


def _expect_room(size: int) -> None:
    """Refuse more bytes than this machine's memory has. Raises: ValueError."""
    memory = _memory_bytes()
    if size > memory:
        raise ValueError(f"the arrays have {size} bytes, and this machine's memory has {memory}")


def _memory_bytes() -> int:
    """The machine's memory; on systems without a way to ask, the largest size of a tensor."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return MAX_TENSOR_BYTES


def by_input(arrays: Mapping[str, T], interface: Interface) -> dict[str, T]:
    """Arrays by input name; an unnamed one is the model's only input. Raises: StepwellError `bad-inputs`."""
    if list(arrays) != [UNNAMED]:
        return dict(arrays)
    names = [spec.name for spec in interface.inputs]
    if len(names) != 1:
        message = f"the file has one array, without a name, and the model has {len(names)} inputs"
        help = f"write them with numpy.savez: {', '.join(names) or 'none'}"
        raise StepwellError("bad-inputs", None, message, help=help)
    return {names[0]: arrays[UNNAMED]}


def completed_inputs(
    interface: Interface,
    given: Mapping[str, T],
    seed: int = 0,
    shapes: Mapping[str, Sequence[int]] = _NO_SHAPES,
    fill: str = "random",
) -> dict[str, T | Array]:
    """
    The given inputs, and made-up values of matching sizes for all others.

    Args: `given` may be as `read_arrays` returns arrays; `shapes` are those that options fix, by name.
    Raises: as `by_input` and `made_up_inputs`.
    """
    named = by_input(given, interface)
    sizes = dict(shapes) | {name: np.shape(cast("Array", value)) for name, value in named.items()}
    return {**made_up_inputs(interface, fill, seed, sizes), **named}


def expect_fitting(interface: Interface, arrays: Mapping[str, Array]) -> None:
    """
    Refuse arrays of another shape or element type than the inputs have, whatever nodes make of the sizes.

    Raises: StepwellError `shape-mismatch`, `type-mismatch`.
    """
    for spec in interface.inputs:
        if not spec.is_object:
            checked_input(spec, arrays[spec.name])
    of_shapes = Interface(interface.inputs, (), (), Dim.of(0))
    of_shapes.bind([np.shape(arrays[spec.name]) for spec in interface.inputs])


def made_up_inputs(
    interface: Interface, fill: str, seed: int, sizes: Mapping[str, Sequence[int]] = _NO_SHAPES
) -> dict[str, Array]:
    """
    Arrays for every input: standard normal, small non-negative integers, or a constant.

    Args: `sizes` are shapes of inputs by name, which also fix the symbols that other inputs share; the
    others are those of `made_up_sizes`.
    Raises: StepwellError `extra-input` for a name that no input has, `bad-inputs` for a shape that does not
    fit, and for an input of strings or lists.
    """
    rng = np.random.default_rng(seed)
    names = [spec.name for spec in interface.inputs]
    if unknown := [name for name in sizes if name not in names]:
        message = f"the model has no input {unknown[0]!r}"
        raise StepwellError("extra-input", None, message, note=f"inputs: {', '.join(names)}")
    symbols = _fixed_symbols(interface, sizes) | made_up_sizes(interface, sizes)
    return {
        spec.name: _fill(spec, _shape(spec, sizes.get(spec.name), symbols), fill, rng)
        for spec in interface.inputs
    }


def made_up_sizes(interface: Interface, sizes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """
    The sizes of the symbols that no given shape determines: 1, or the first of a few that the model takes.

    Where none fits, they are 1, and a run says why. Of those that fit, each is 1 if it can be.
    """
    known = _fixed_symbols(interface, sizes)
    used = {symbol: 1 for spec in interface.inputs for dim in spec.dims for symbol in sorted(dim.symbols())}
    ones = {name: 1 for name in used if name not in known}

    def fits(open_sizes: Mapping[str, int]) -> bool:
        symbols = known | dict(open_sizes)
        with suppress(StepwellError):
            shapes = [_shape(spec, sizes.get(spec.name), symbols) for spec in interface.inputs]
            interface.bind(shapes)
            return sum(map(prod, shapes)) <= _MOST_ELEMENTS
        return False

    for size in _OPEN_SIZES if ones else ():
        found = dict.fromkeys(ones, size)
        for name in found:
            if size > 1 and fits(found | {name: 1}):
                found[name] = 1
        if fits(found):
            return found
    return ones


def _fixed_symbols(interface: Interface, sizes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The sizes of symbols that are themselves a dimension of an input of known shape."""
    return {
        str(dim): size
        for spec in interface.inputs
        for dim, size in zip(spec.dims, sizes.get(spec.name, ()), strict=False)
        if not dim.is_static and str(dim) in dim.symbols()
    }


def _shape(spec: TensorSpec, given: Sequence[int] | None, symbols: Mapping[str, int]) -> tuple[int, ...]:
    if given is None:
        return tuple(dim.evaluate(symbols) for dim in spec.dims)
    if len(given) != len(spec.dims) or prod(given) * spec.dtype.itemsize > MAX_TENSOR_BYTES:
        raise StepwellError("bad-inputs", None, f"input {spec.name!r} is {spec}, found shape {list(given)}")
    return tuple(given)


def _fill(spec: TensorSpec, shape: tuple[int, ...], fill: str, rng: np.random.Generator) -> Array:
    if spec.is_object:
        what = f"input {spec.name!r} is {spec.type or 'a tensor of strings'}"
        raise StepwellError("bad-inputs", None, f"{what}: no values of this type can be made up")
    if fill == "ones":
        return np.ones(shape, spec.dtype)
    if fill == "zeros":
        return np.zeros(shape, spec.dtype)
    match spec.dtype.kind:
        case "b":
            return rng.integers(0, 2, shape).astype(spec.dtype)
        case "i" | "u":
            # Small: most integer inputs are indices into some table.
            return rng.integers(0, 8, shape).astype(spec.dtype)
        case _:
            return rng.standard_normal(shape, np.float32).astype(spec.dtype)
