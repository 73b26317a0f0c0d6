"""Artifacts and object files to change: small models with every kind of contents of an artifact."""

from __future__ import annotations

import json
import platform
import struct
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

from stepwell.runtime.files.artifact import image_bytes
from stepwell.runtime.image import MAIN
from stepwell.runtime.link.code import ObjectFiles
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.emit import emit_object_file
from stepwell.tools.driver.options import CompileOptions
from tests.fuzz.generate import random_program
from tests.onnx_models import onnx_model

VERSION_1 = Path(__file__).parents[1] / "unit" / "runtime" / "version-1.stepwell"
# Without tile registers, whose trial is the one function of an artifact that loading it calls.
_MCPU = "aarch64" if platform.machine() == "aarch64" else "x86-64-v2"
_PREFIX = struct.Struct("<10sI16s")
_SUMS = (
    "g (float[N, K] x, double[K] d) => (float[N, K] y, double[K] e) { t = Relu(x) y = Add(t, t) e = Exp(d) }"
)
_TABLES = """g (float[8, 4] x) => (float[8, 5] y)
    <float[4, 5] w = {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}>
    { m = MatMul(x, w) y = Softmax(m) }"""
_SIZED = "g (float[N] x) => (int64[1, M] y) { y = NonZero(x) }"
_STRINGS = "g (string[N] s) => (string[N] t) { t = StringConcat(s, s) }"


def _random() -> bytes:
    return _saved(random_program(4, (3, 8)).model)


def _saved(model: onnx.ModelProto, **options: Any) -> bytes:
    return image_bytes(build_image(model, CompileOptions(mcpu=_MCPU, **options)))


def _with_variants() -> bytes:
    """Two variants, of which one has object files and one a fixed size; text by level."""
    image = build_image(onnx_model(_SUMS), CompileOptions(mcpu=_MCPU))
    (own,) = image.main.variants
    foreign = own._replace(triple="x86_64-pc-windows-msvc", code=ObjectFiles((b"one", b"two")))
    entry = image.main._replace(variants=(foreign, own._replace(sizes={"N": 4}), own))
    return image_bytes(image._replace(functions={MAIN: entry}, ir={"graph": "text"}))


_ARTIFACTS: Sequence[Callable[[], bytes]] = (
    _random,
    lambda: _saved(onnx_model(_SUMS)),
    lambda: _saved(onnx_model(_TABLES)),
    lambda: _saved(onnx_model(_SIZED)),
    lambda: _saved(onnx_model(_STRINGS, opset=20)),
    lambda: _saved(onnx_model(_SUMS), profile=True),
    lambda: _saved(onnx_model(_TABLES), backends="reference", fallback=True),
    _with_variants,
)


@cache
def _artifact(number: int) -> bytes:
    return _ARTIFACTS[number]()


def artifact(seed: int) -> bytes:
    """The bytes of an artifact of version 2."""
    return _artifact(seed % len(_ARTIFACTS))


_OBJECTS = [(text, mcpu) for text in (_SUMS, _TABLES, _SIZED) for mcpu in ("x86-64", "aarch64")]


@cache
def _objects(number: int) -> tuple[bytes, ...]:
    if number == len(_OBJECTS):
        return _read_version_1()[1]
    text, mcpu = _OBJECTS[number]
    with TemporaryDirectory() as folder:
        model, output = Path(folder, "m.onnx"), Path(folder, "m.o")
        model.write_bytes(onnx_model(text).SerializeToString())
        emit_object_file(model, CompileOptions(mcpu=mcpu), output)
        return (output.read_bytes(),)


def objects(seed: int) -> tuple[bytes, ...]:
    """The object files of a model, for x86-64 or for aarch64."""
    return _objects(seed % (len(_OBJECTS) + 1))


def _read_version_1() -> tuple[dict[str, Any], tuple[bytes, ...], bytes]:
    """Header, object files and weights of an artifact of version 1."""
    data = VERSION_1.read_bytes()
    _, size, _ = _PREFIX.unpack_from(data)
    header = json.loads(data[_PREFIX.size : _PREFIX.size + size])
    at = _PREFIX.size + size
    files: list[bytes] = []
    for length in header["objects"]:
        files.append(data[at : at + length])
        at += length
    return header, tuple(files), data[at + -at % 4096 :]


def version_1(files: Sequence[bytes]) -> bytes:
    """An artifact of version 1 with these object files in the place of its own, and digests that fit."""
    header, _, weights = _read_version_1()
    header["objects"] = [len(data) for data in files]
    text, code = json.dumps(header).encode(), b"".join(files)
    digest = blake2b(text + code, digest_size=16).digest()
    magic = VERSION_1.read_bytes()[:10]
    data = _PREFIX.pack(magic, len(text), digest) + text + code
    return data + bytes(-len(data) % 4096) + weights
