"""
Reader of artifacts of version 1, which contain object files and one function, and no code of a thread pool.

Layout, little endian: magic, u32 header length, 16-byte BLAKE2b of header and code, JSON header, code, then
the weights at 4096-byte alignment, each aligned to 64.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from stepwell.runtime.files.container import MAGIC_OF_VERSION_1, Bytes
from stepwell.runtime.image import MAIN, Entry, ModelImage, Variant
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.json_values import as_list, as_mapping, as_shape, as_size, as_sizes, as_text, as_texts
from stepwell.runtime.link.code import Code, ObjectFiles
from stepwell.runtime.link.elf import is_elf
from stepwell.runtime.link.linker import link

_DIGEST_BYTES = 16
_PREFIX = struct.Struct(f"<{len(MAGIC_OF_VERSION_1)}sI{_DIGEST_BYTES}s")
_PAGE_BYTES = 4096
_WEIGHT_ALIGNMENT = 64
_MAX_HEADER_BYTES = 64 << 20


def read(data: Bytes) -> ModelImage:
    """
    The image in an artifact of version 1.

    Raises: ValueError, KeyError, TypeError or struct.error for a file that is none, cut off, or damaged.
    """
    _, header_bytes, digest = _PREFIX.unpack(data[: _PREFIX.size].tobytes())
    start = _PREFIX.size + header_bytes
    if header_bytes > _MAX_HEADER_BYTES or start > data.size:
        raise ValueError("the header is longer than the file: it was cut off")
    header = data[_PREFIX.size : start].tobytes()
    fields = as_mapping(json.loads(header))
    object_sizes = as_sizes(fields["objects"])
    sizes = [*object_sizes, *(as_size(as_mapping(c)["bytes"]) for c in as_list(fields["callees"]))]
    if start + sum(sizes) > data.size:
        raise ValueError("the code is longer than the file: it was cut off")
    code = data[start : start + sum(sizes)].tobytes()
    if hashlib.blake2b(header + code, digest_size=_DIGEST_BYTES).digest() != digest:
        raise ValueError("the checksum of header and code is wrong: the file is damaged")
    pieces: list[bytes] = []
    for size in sizes:
        pieces.append(code[:size])
        code = code[size:]
    claims = [as_mapping(claim) for claim in as_list(fields["weights"])]
    weights = _weights(data, start + sum(sizes), claims)
    variant = Variant(
        as_text(fields["triple"]),
        as_texts(fields["features"]),
        _code(pieces[: len(object_sizes)]),
        as_text(fields["entry"]),
    )
    numbers = list(range(len(weights)))
    entry = Entry.from_json({**fields, "weights": numbers}, pieces[len(object_sizes) :], (variant,))
    ir = {level: as_text(program) for level, program in as_mapping(fields["ir"]).items()}
    return ModelImage({MAIN: entry}, weights, as_mapping(fields["summary"]), ir=ir)


def _code(objects: Sequence[bytes]) -> Code:
    return link(objects) if all(map(is_elf, objects)) else ObjectFiles(tuple(objects))


def _weights(data: Bytes, position: int, claims: Sequence[Mapping[str, object]]) -> tuple[Array, ...]:
    weights: list[Array] = []
    for claim in claims:
        size = as_size(claim["bytes"])
        position += -position % (_WEIGHT_ALIGNMENT if weights else _PAGE_BYTES)
        if position + size > data.size:
            raise ValueError("the weights are longer than the file: it was cut off")
        view = data[position : position + size]
        if _checksum(view) != claim["sum"]:
            raise ValueError("the checksum of a weight is wrong: the file is damaged")
        dtype, shape = dtype_from_name(as_text(claim["dtype"])), as_shape(claim["shape"])
        weights.append(cast(Array, view.view(dtype).reshape(shape)))
        position += size
    return tuple(weights)


def _checksum(view: Bytes) -> int:
    """The wrapping sum of the 8-byte words of some bytes and of the bytes after the last whole word."""
    whole = view.size // 8 * 8
    words = int(np.add.reduce(view[:whole].view(np.uint64), dtype=np.uint64)) if whole else 0
    return (words + int(view[whole:].sum(dtype=np.uint64))) & 0xFFFFFFFFFFFFFFFF
