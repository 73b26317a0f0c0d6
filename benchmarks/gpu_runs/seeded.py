"""Files without the arrays that recipes make again: weights are seeds, not bytes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_runs.draws import Draw
from stepwell.runtime.interface import dtype_from_name

SUFFIX = ".seeded.npz"
_HEAD_BYTES = 64
_LEAST_FREE_BYTES = 8 << 30
"""More than the files of the largest case."""


@dataclass(frozen=True)
class Piece:
    """The bytes of a drawn array in a file."""

    begin: int
    draw: Draw
    dtype: str
    is_transposed: bool

    def contents(self) -> bytes:
        """The bytes."""
        return _form(self.draw.array(), self.dtype, self.is_transposed)


class WrongDigest(ValueError):
    """A restored file with other bytes than the original."""


def store(file: Path, draws: Sequence[Draw], to: Path) -> int:
    """Store a file without the bytes of drawn arrays in it; returns the size of what is stored."""
    data = file.read_bytes()
    pieces = _found(data, draws)
    rest: list[bytes] = []
    end = 0
    rows: list[list[object]] = []
    for piece, size in pieces:
        rest.append(data[end : piece.begin])
        end = piece.begin + size
        rows.append([piece.begin, piece.draw.to_json(), piece.dtype, piece.is_transposed])
    rest.append(data[end:])
    about = {"digest": hashlib.sha256(data).hexdigest(), "pieces": rows}
    arrays = (np.frombuffer(each, np.uint8) for each in (b"".join(rest), json.dumps(about).encode()))
    np.savez_compressed(to, **dict(zip(("rest", "about"), arrays, strict=True)))
    return to.stat().st_size


def restore(stored: Path, to: Path) -> Path:
    """
    Make a file again; returns its path.

    Raises: WrongDigest where an array has other bits than where it was stored.
    """
    with np.load(stored) as arrays:
        rest, about = arrays["rest"].tobytes(), json.loads(arrays["about"].tobytes())
    digest = hashlib.sha256()
    at, end = 0, 0
    with to.open("wb") as file:

        def write(data: bytes) -> None:
            file.write(data)
            digest.update(data)

        for begin, draw, dtype, is_transposed in about["pieces"]:
            write(rest[at : at + begin - end])
            at += begin - end
            contents = Piece(begin, Draw.of_json(draw), dtype, is_transposed).contents()
            write(contents)
            end = begin + len(contents)
        write(rest[at:])
    if digest.hexdigest() != about["digest"]:
        to.unlink()
        raise WrongDigest(f"{stored.name} makes other bytes here than where it was prepared")
    return to


class Restored:
    """Files that were made again, in a folder: each is made once, as long as the disk has space for all."""

    def __init__(self, stored: Path, folder: Path):
        self.stored = stored
        self._folder = folder

    def file(self, name: str, suffix: str) -> Path:
        """The stored file of a name, with a suffix. Raises: as `restore`."""
        to = self._folder / f"{name}{suffix}"
        if not to.exists():
            restore(self.stored / name, to.with_suffix(".made")).replace(to)
        return to

    def make_room(self) -> None:
        """Drop all files where the next one might have no space; models that map them keep theirs."""
        if shutil.disk_usage(self._folder).free < _LEAST_FREE_BYTES:
            for file in self._folder.iterdir():
                file.unlink()


def _found(data: bytes, draws: Sequence[Draw]) -> list[tuple[Piece, int]]:
    """The places of drawn arrays in a file, in order, with their sizes."""
    found: list[tuple[Piece, int]] = []
    last = 0
    for draw in draws:
        for dtype, is_transposed, contents in _forms(draw):
            if (begin := _place(data, contents, last)) is not None:
                found.append((Piece(begin, draw, dtype, is_transposed), len(contents)))
                last = begin + len(contents)
                break
    found.sort(key=lambda each: each[0].begin)
    ends = [0, *(piece.begin + size for piece, size in found)]
    return [each for each, end in zip(found, ends, strict=False) if each[0].begin >= end]


def _place(data: bytes, contents: bytes, first: int) -> int | None:
    """The place of bytes, searched after the last array that was found: weights keep their order."""
    for begin in (first, 0):
        at = data.find(contents[:_HEAD_BYTES], begin)
        while at >= 0:
            if data.startswith(contents, at):
                return at
            at = data.find(contents[:_HEAD_BYTES], at + 1)
    return None


def _forms(draw: Draw) -> Iterator[tuple[str, bool, bytes]]:
    """The forms in which compilers store an array: as it is, transposed, rounded."""
    array = draw.array()
    dtypes = [draw.dtype, *(("bfloat16", "float16") if draw.dtype == "float32" else ())]
    for dtype in dtypes:
        for is_transposed in (False, True)[: 1 + (array.ndim == 2)]:
            yield dtype, is_transposed, _form(array, dtype, is_transposed)


def _form(array: Any, dtype: str, is_transposed: bool) -> bytes:
    """The bytes of a form of an array."""
    made = array if array.dtype == dtype_from_name(dtype) else array.astype(dtype_from_name(dtype))
    return np.ascontiguousarray(made.T if is_transposed else made).tobytes()
