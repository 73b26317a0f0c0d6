"""
The artifact: a compiled model as one file, loaded in milliseconds by the runtime alone.

Layout, little endian: magic, u32 header length, 16-byte BLAKE2b of header and code, JSON header (interface,
target, sections), code (object files), then the weights at 4096-byte alignment, each aligned to 64, so that a
process maps them and several processes share them. Every claim of the header is checked against the file
before it is used. An artifact contains machine code: loading one means trusting its author, as with a shared
library.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from time import perf_counter
from typing import IO, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import whole_file
from stepwell.runtime.host import Callee, HostValue
from stepwell.runtime.interface import Array, Interface, dtype_from_name
from stepwell.runtime.timing import TimedCall

_LOG = logging.getLogger(__name__)
_MAGIC = b"STEPWELL\x01\n"
_DIGEST_BYTES = 16
_PREFIX = struct.Struct(f"<{len(_MAGIC)}sI{_DIGEST_BYTES}s")
_PAGE_BYTES = 4096
_WEIGHT_ALIGNMENT = 64
MAX_HEADER_BYTES = 64 << 20


@dataclass(frozen=True)
class RuntimeErrorRow:
    """The meaning of a nonzero return code of compiled code: error code, message, and the node at fault."""

    code: str
    message: str
    where: str


@dataclass(frozen=True)
class ModelImage:
    """The contents of a compiled model (code, weights, interface), in memory or mapped from an artifact."""

    interface: Interface
    objects: tuple[bytes, ...]
    """Object files; symbols resolve among them."""
    entry: str
    """Symbol of the compiled `main`."""
    weights: tuple[Array, ...]
    """In the order of `main`'s globals, each at 64-byte alignment."""
    triple: str
    features: tuple[str, ...]
    """CPU features that the code uses."""
    errors: tuple[RuntimeErrorRow, ...] = ()
    callees: tuple[Callee, ...] = ()
    """The functions outside of compiled code that `main` calls."""
    slots: int = 0
    """The number of slots, allocations of `main` whose size depends on data; those of outputs come first."""
    objects_per_call: int = 0
    """The number of Python objects of a call; inputs come first."""
    output_objects: tuple[int | None, ...] = ()
    """The index among these objects for each output, None for an array; empty when all outputs are arrays."""
    timed: tuple[TimedCall, ...] = ()
    """The calls of kernels and of the host in `main`, in order, when it records their times."""
    summary: Mapping[str, object] = field(default_factory=dict[str, object])
    """Facts for users: nodes, kernels, sizes."""
    effort: Mapping[str, object] = field(default_factory=dict[str, object])
    """The effort of this compilation: `seconds` of each step, `cached kernels`. Not stored."""
    ir: Mapping[str, str] = field(default_factory=dict[str, str])
    """The IR at each level as text, if asked for."""


def save(image: ModelImage, path: str | os.PathLike[str]) -> None:
    """
    Write an artifact: to a temporary file beside `path`, then renamed.

    Raises: StepwellError `cannot-write` (read-only folder, full disk); nothing is left half written.
    """
    with whole_file(path) as file:
        _write(image, file)


def image_bytes(image: ModelImage) -> bytes:
    """The bytes of an artifact, for a model that is part of another artifact."""
    buffer = BytesIO()
    _write(image, buffer)
    return buffer.getvalue()


def _write(image: ModelImage, file: IO[bytes]) -> None:
    header, code = _encode_header(image)
    digest = hashlib.blake2b(header + code, digest_size=_DIGEST_BYTES).digest()
    file.write(_PREFIX.pack(_MAGIC, len(header), digest))
    file.write(header)
    file.write(code)
    for index, array in enumerate(image.weights):
        file.write(b"\0" * (-file.tell() % (_WEIGHT_ALIGNMENT if index else _PAGE_BYTES)))
        file.write(_bytes_view(array).data)


def load_image(path: str | os.PathLike[str], *, verify_weights: bool = True) -> ModelImage:
    """
    Map an artifact. The weights stay in the file and are shared between processes.

    Raises: StepwellError `bad-artifact` for a file that is none, truncated or damaged; `no-file`.
    """
    place, start = str(path), perf_counter()
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        is_there = not isinstance(error, OSError)
        reason = str(error) if is_there else error.strerror
        raise StepwellError(
            "bad-artifact" if is_there else "no-file", place, f"cannot read the artifact: {reason}"
        ) from None
    image = _checked_image(data, place, verify_weights)
    _LOG.debug("artifact %s read: %d bytes, %.2f ms", place, data.size, 1e3 * (perf_counter() - start))
    return image


def image_of_bytes(data: bytes, place: str) -> ModelImage:
    """The image that `image_bytes` wrote. Raises: StepwellError `bad-artifact`."""
    return _checked_image(np.frombuffer(data, np.uint8), place, verify_weights=True)


def _checked_image(data: npt.NDArray[np.uint8], place: str, verify_weights: bool) -> ModelImage:
    try:
        return _decode(data, verify_weights)
    except (ValueError, KeyError, TypeError, IndexError, struct.error, RecursionError) as error:
        raise StepwellError(
            "bad-artifact",
            place,
            f"this is no whole Stepwell artifact: {error}",
            help="compile the model again",
        ) from None


def _encode_header(image: ModelImage) -> tuple[bytes, bytes]:
    code = b"".join([*image.objects, *(callee.code for callee in image.callees)])
    fields: dict[str, object] = {
        **describe(image),
        "objects": [len(o) for o in image.objects],
        "weights": [
            {"dtype": a.dtype.name, "shape": list(a.shape), "bytes": int(a.nbytes), "sum": _checksum(a)}
            for a in image.weights
        ],
        "triple": image.triple,
        "features": list(image.features),
        "timed": [kernel.to_json() for kernel in image.timed],
        "summary": dict(image.summary),
        "ir": dict(image.ir),
    }
    return json.dumps(fields, separators=(",", ":")).encode(), code


def describe(image: ModelImage) -> dict[str, object]:
    """A model without code and weights as JSON values: interface, callees, entry and error table."""
    return {
        "interface": image.interface.to_json(),
        "callees": [_callee_to_json(callee) for callee in image.callees],
        "host": [image.slots, image.objects_per_call, list(image.output_objects)],
        "entry": image.entry,
        "errors": [[row.code, row.message, row.where] for row in image.errors],
    }


def described_image(
    fields: Mapping[str, object],
    objects: Sequence[bytes],
    codes: Sequence[bytes],
    weights: Sequence[Array],
    triple: str,
    features: Sequence[str],
) -> ModelImage:
    """
    The image made of a description by `describe`, object files, the code of callees, and weights.

    Raises: ValueError, KeyError or TypeError when `fields` is no such description.
    """
    slots, objects_per_call, output_objects = cast("tuple[int, int, list[int | None]]", fields["host"])
    claims = cast(Sequence[Mapping[str, object]], fields["callees"])
    return ModelImage(
        interface=Interface.from_json(cast(Mapping[str, object], fields["interface"])),
        objects=tuple(objects),
        entry=str(fields["entry"]),
        weights=tuple(weights),
        triple=triple,
        features=tuple(features),
        errors=tuple(RuntimeErrorRow(*row) for row in cast(Sequence[Sequence[str]], fields["errors"])),
        callees=tuple(_callee_from_json(c, code) for c, code in zip(claims, codes, strict=True)),
        slots=int(slots),
        objects_per_call=int(objects_per_call),
        output_objects=tuple(output_objects),
    )


def _decode(data: npt.NDArray[np.uint8], verify_weights: bool) -> ModelImage:
    if data.size < _PREFIX.size:
        raise ValueError(f"it has {data.size} bytes: it was cut off")
    magic, header_bytes, digest = _PREFIX.unpack(data[: _PREFIX.size].tobytes())
    if magic != _MAGIC:
        raise ValueError("the file does not start with Stepwell's mark, or is of another version")
    if header_bytes > MAX_HEADER_BYTES or _PREFIX.size + header_bytes > data.size:
        raise ValueError("the header is longer than the file: it was cut off")
    header = data[_PREFIX.size : _PREFIX.size + header_bytes].tobytes()
    # The code's length is only known from the header, which is checked together with it below.
    fields = cast(Mapping[str, object], json.loads(header))
    object_sizes = [int(n) for n in cast(Sequence[int], fields["objects"])]
    claims = cast(Sequence[Mapping[str, object]], fields["callees"])
    sizes = [*object_sizes, *(int(cast(int, claim["bytes"])) for claim in claims)]
    start = _PREFIX.size + header_bytes
    if min(sizes, default=0) < 0 or start + sum(sizes) > data.size:
        raise ValueError("the code is longer than the file: it was cut off")
    code = data[start : start + sum(sizes)].tobytes()
    if hashlib.blake2b(header + code, digest_size=_DIGEST_BYTES).digest() != digest:
        raise ValueError("the checksum of header and code is wrong: the file is damaged")
    parts: list[bytes] = []
    offset = 0
    for size in sizes:
        parts.append(code[offset : offset + size])
        offset += size
    objects, codes = parts[: len(object_sizes)], parts[len(object_sizes) :]
    weights = _map_weights(data, start + len(code), cast(Sequence[Mapping[str, object]], fields["weights"]))
    if verify_weights:
        for array, claim in zip(
            weights, cast(Sequence[Mapping[str, object]], fields["weights"]), strict=True
        ):
            if _checksum(array) != claim["sum"]:
                raise ValueError("the checksum of a weight is wrong: the file is damaged")
    features = cast(Sequence[str], fields["features"])
    return replace(
        described_image(fields, objects, codes, weights, str(fields["triple"]), features),
        timed=tuple(TimedCall.from_json(k) for k in cast("list[list[object]]", fields["timed"])),
        summary=cast(Mapping[str, object], fields["summary"]),
        ir=cast(Mapping[str, str], fields["ir"]),
    )


def _callee_to_json(callee: Callee) -> Mapping[str, object]:
    values = [[[v.dtype, v.rank, v.made] for v in side] for side in (callee.inputs, callee.outputs)]
    about = {"kind": callee.kind, "name": callee.name, "where": callee.where}
    return {**about, "bytes": len(callee.code), "inputs": values[0], "outputs": values[1]}


def _callee_from_json(data: Mapping[str, object], code: bytes) -> Callee:
    inputs, outputs = (
        tuple(
            HostValue(str(v[0]), int(v[1]), bool(v[2]))
            for v in cast("list[tuple[str, int, bool]]", data[side])
        )
        for side in ("inputs", "outputs")
    )
    return Callee(str(data["kind"]), str(data["name"]), code, inputs, outputs, str(data["where"]))


def _map_weights(
    data: npt.NDArray[np.uint8], position: int, claims: Sequence[Mapping[str, object]]
) -> list[Array]:
    weights: list[Array] = []
    for claim in claims:
        size = int(cast(int, claim["bytes"]))
        position += -position % (_WEIGHT_ALIGNMENT if weights else _PAGE_BYTES)
        if size < 0 or position + size > data.size:
            raise ValueError("the weights are longer than the file: it was cut off")
        dtype = dtype_from_name(str(claim["dtype"]))
        shape = tuple(int(n) for n in cast(Sequence[int], claim["shape"]))
        array = cast(Array, data[position : position + size].view(np.ndarray).view(dtype).reshape(shape))
        weights.append(array)
        position += size
    return weights


def _bytes_view(array: Array) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _checksum(array: Array) -> int:
    """
    The wrapping sum of the array's 8-byte words and of its last bytes.

    It runs at memory speed (a cryptographic hash of 100 MB takes longer than loading may) and finds any
    damage to a single 8-byte word; header and code have a cryptographic digest of their own.
    """
    view = _bytes_view(array)
    whole = view.size // 8 * 8
    words = int(np.add.reduce(view[:whole].view(np.uint64), dtype=np.uint64)) if whole else 0
    return (words + int(view[whole:].sum(dtype=np.uint64))) & 0xFFFFFFFFFFFFFFFF
