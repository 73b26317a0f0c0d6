"""
The artifact: a compiled model as one file, loaded in milliseconds by the runtime alone.

It is a container (`container.py`) with the sections `model` (JSON: functions, targets, facts), `code.0`,
`code.1`, … (machine code), `callees` (the code of functions outside), `part.0`, `part.1`, … (device parts),
`ir` (JSON: text by level), `vm` (the bytecode of a program) and `weights`. Parts and weights are mapped, so
that several processes share them. An artifact contains machine code: loading one means trusting its
author, as with a shared library.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import accumulate
from math import prod
from pathlib import Path
from time import perf_counter
from typing import cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.container import (
    MAGIC_OF_VERSION_1,
    PART,
    WEIGHTS,
    Bytes,
    Section,
    read_sections,
    write_sections,
)
from stepwell.runtime.files.unreadable import unreadable
from stepwell.runtime.files.weight_check import WeightCheck, checksum
from stepwell.runtime.files.whole_files import whole_file
from stepwell.runtime.host import DEVICE
from stepwell.runtime.image import LIBRARY, MAIN, Entry, ModelImage, Variant
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.json_values import as_list, as_mapping, as_shape, as_size, as_sizes, as_text, as_texts
from stepwell.runtime.link.code import Code, LinkedCode, ObjectFiles
from stepwell.runtime.log import logger

_log = logger(__name__)
_MODEL, _CALLEES, _IR, _PROGRAM = "model", "callees", "ir", "vm"
_NUMBERED = re.compile(rf"(code\.|{re.escape(PART)})\d{{1,6}}")
_WEIGHT_ALIGNMENT = 64


def save(image: ModelImage, path: str | os.PathLike[str]) -> None:
    """
    Write an artifact: to a temporary file beside `path`, then renamed.

    Raises: StepwellError `cannot-write` (read-only folder, full disk); nothing is left half written.
    """
    with whole_file(path) as file:
        write_sections(_sections(image), file)


def image_bytes(image: ModelImage) -> bytes:
    """The bytes of an artifact, for a model that is part of another artifact."""
    buffer = BytesIO()
    write_sections(_sections(image), buffer)
    return buffer.getvalue()


def load_image(path: str | os.PathLike[str]) -> ModelImage:
    """
    Map an artifact. The weights stay in the file, are shared between processes, and are checked meanwhile:
    wait for `weight_check` before they are used.

    Raises: StepwellError `bad-artifact` for a file that is none, truncated or damaged; `no-file`.
    """
    place, start = str(path), perf_counter()
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise unreadable(Path(path), "artifact", error) from None
        raise _not_whole(place, error) from None
    image = _checked_image(data.view(np.ndarray), place)
    milliseconds = 1e3 * (perf_counter() - start)
    _log(1, "artifact {} read: {} bytes, {:.2f} ms", place, data.size, milliseconds)
    return image


def image_of_bytes(data: bytes, place: str) -> ModelImage:
    """The image that `image_bytes` wrote. Raises: StepwellError `bad-artifact`."""
    return _checked_image(np.frombuffer(data, np.uint8), place)


def _checked_image(data: Bytes, place: str) -> ModelImage:
    try:
        if data[: len(MAGIC_OF_VERSION_1)].tobytes() == MAGIC_OF_VERSION_1:
            from stepwell.runtime.files import artifact_v1  # with a linker, which this version does not need

            return artifact_v1.read(data)
        return _image(read_sections(data, _is_section), place)
    except (ValueError, KeyError, TypeError, IndexError, struct.error, RecursionError) as error:
        raise _not_whole(place, error) from None


def _not_whole(place: str, error: Exception) -> StepwellError:
    message = f"this is no whole Stepwell artifact: {error}"
    return StepwellError("bad-artifact", place, message, help="compile the model again")


def _is_section(name: str) -> bool:
    return name in (_MODEL, _CALLEES, _IR, _PROGRAM, WEIGHTS) or _NUMBERED.fullmatch(name) is not None


def _sections(image: ModelImage) -> list[Section]:
    """The sections of an artifact, the same for the same image."""
    if image.weight_check is not None:
        image.weight_check.wait()
    codes: list[Code] = []
    parts: list[Bytes] = []
    model = {
        "functions": {name: _entry_to_json(entry, codes, parts) for name, entry in image.functions.items()},
        "codes": [_code_to_json(code) for code in codes],
        "weights": [
            {"dtype": array.dtype.name, "shape": list(array.shape), "sum": checksum(array)}
            for array in image.weights
        ],
        "summary": dict(image.summary),
    }
    outside = [callee for entry in image.functions.values() for callee in entry.callees]
    callees = [bytes(callee.code) for callee in outside if callee.kind != DEVICE]
    return [
        Section(_MODEL, [_json(model)]),
        *(Section(f"code.{number}", _pieces(code)) for number, code in enumerate(codes)),
        *([Section(_CALLEES, callees)] if callees else []),
        *(Section(f"{PART}{number}", [part]) for number, part in enumerate(parts)),
        *([Section(_IR, [_json(dict(image.ir))])] if image.ir else []),
        *([Section(_PROGRAM, [image.program])] if image.program else []),
        Section(WEIGHTS, list(_aligned(image.weights))),
    ]


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _entry_to_json(entry: Entry, codes: list[Code], parts: list[Bytes]) -> dict[str, object]:
    """
    A function as JSON values. Its code is appended to `codes` (once if variants share it), its device parts
    to `parts`.
    """

    def number(code: Code | None) -> int | None:
        if code is None:
            return None
        if code not in codes:
            codes.append(code)
        return codes.index(code)

    variants = [
        {
            "triple": variant.triple,
            "features": list(variant.features),
            "code": number(variant.code),
            "symbol": variant.symbol,
            "pool": number(variant.pool),
            "tile check": number(variant.tile_check),
            "sizes": dict(variant.sizes),
        }
        for variant in entry.variants
    ]
    callees = [callee.to_json() for callee in entry.callees]
    for callee, about in zip(entry.callees, callees, strict=True):
        if callee.kind == DEVICE:
            about["part"] = len(parts)
            parts.append(np.frombuffer(callee.code, np.uint8))
    return {**entry.to_json(), "callees": callees, "variants": variants}


def _pieces(code: Code) -> Sequence[bytes]:
    return code.pieces if isinstance(code, LinkedCode) else code.objects


def _code_to_json(code: Code) -> dict[str, object]:
    if isinstance(code, LinkedCode):
        return code.to_json()
    return {"objects": [len(data) for data in _pieces(code)]}


def _aligned(weights: Sequence[Array]) -> Iterator[bytes | Bytes]:
    """The bytes of weights, each from a multiple of the alignment on."""
    end = 0
    for array in weights:
        view = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        yield bytes(-end % _WEIGHT_ALIGNMENT)
        yield view
        end += -end % _WEIGHT_ALIGNMENT + view.size


def _image(sections: Mapping[str, Bytes], place: str) -> ModelImage:
    """The image of sections. Raises: ValueError, KeyError or TypeError where they contradict each other."""
    model = as_mapping(json.loads(sections[_MODEL].tobytes()))
    claims = [as_mapping(claim) for claim in as_list(model["codes"])]
    if len(claims) != sum(name.startswith("code.") for name in sections):
        raise ValueError("it has another number of code sections than it says")
    codes = [_code(claim, sections[f"code.{number}"].tobytes()) for number, claim in enumerate(claims)]
    callees = _CalleeCodes(sections)
    functions: dict[str, Entry] = {}
    for name, data in as_mapping(model["functions"]).items():
        data = as_mapping(data)
        variants = tuple(_variant(as_mapping(row), codes) for row in as_list(data["variants"]))
        outside = [callees.next(as_mapping(claim)) for claim in as_list(data["callees"])]
        functions[name] = Entry.from_json(data, outside, variants)
    facts = [as_mapping(fact) for fact in as_list(model["weights"])]
    weights = _weights(sections[WEIGHTS], facts)
    check = WeightCheck(weights, [as_size(fact["sum"]) for fact in facts], place)
    text = sections[_IR].tobytes() if _IR in sections else b"{}"
    ir = {level: as_text(program) for level, program in as_mapping(json.loads(text)).items()}
    program = sections[_PROGRAM].tobytes() if _PROGRAM in sections else b""
    summary = as_mapping(model["summary"])
    is_library = bool(functions) and summary.get(LIBRARY) == list(functions)
    if callees.rest or not (MAIN in functions or program or is_library):
        raise ValueError("its functions do not fit its sections")
    if any(n >= len(weights) for entry in functions.values() for n in entry.weights):
        raise ValueError("a function refers to a weight that it does not have")
    return ModelImage(functions, weights, summary, ir=ir, weight_check=check, program=program)


class _CalleeCodes:
    """The code of callees in the order of their descriptions; that of device parts is not copied."""

    def __init__(self, sections: Mapping[str, Bytes]):
        self._parts = {name: view for name, view in sections.items() if name.startswith(PART)}
        self._code = sections[_CALLEES].tobytes() if _CALLEES in sections else b""
        self._end = 0

    def next(self, claim: Mapping[str, object]) -> bytes | memoryview:
        """The code of the next callee. Raises: ValueError, KeyError, TypeError for one not there."""
        size = as_size(claim["bytes"])
        if "part" in claim:
            part = self._parts.pop(f"{PART}{as_size(claim['part'])}").data
            if len(part) != size or claim["kind"] != DEVICE:
                raise ValueError(f"a part has {len(part)} bytes, expected a device part of {size}")
            return part
        code = self._code[self._end : self._end + size]
        self._end += size
        return code

    @property
    def rest(self) -> bool:
        """Whether no callee has all code until its end."""
        return self._end != len(self._code) or bool(self._parts)


def _code(claim: Mapping[str, object], contents: bytes) -> Code:
    if "objects" in claim:
        return ObjectFiles(tuple(split(contents, as_sizes(claim["objects"]))))
    return LinkedCode.from_json(claim, contents)


def _variant(data: Mapping[str, object], codes: Sequence[Code]) -> Variant:
    pool, tile_check = (data[key] for key in ("pool", "tile check"))
    return Variant(
        as_text(data["triple"]),
        as_texts(data["features"]),
        codes[as_size(data["code"])],
        as_text(data["symbol"]),
        None if pool is None else codes[as_size(pool)],
        None if tile_check is None else codes[as_size(tile_check)],
        {name: as_size(size) for name, size in as_mapping(data["sizes"]).items()},
    )


def split(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    """Pieces of sizes from 0 on, which are all of `data`. Raises: ValueError when they are not."""
    if sum(sizes) != len(data):
        raise ValueError("a section has another size than its pieces: it was cut off")
    ends = list(accumulate(sizes))
    return [data[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def _weights(data: Bytes, claims: Sequence[object]) -> tuple[Array, ...]:
    """Views of the section of weights."""
    weights: list[Array] = []
    end = 0
    for row in claims:
        claim = as_mapping(row)
        dtype, shape = dtype_from_name(as_text(claim["dtype"])), as_shape(claim["shape"])
        start = end + -end % _WEIGHT_ALIGNMENT
        end = start + prod(shape) * dtype.itemsize
        if end > data.size:
            raise ValueError("the weights are longer than their section: it was cut off")
        weights.append(cast(Array, data[start:end].view(dtype).reshape(shape)))
    return tuple(weights)
