"""Artifacts: what is written is read, and anything else is refused."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

import stepwell
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import image_bytes, image_of_bytes, load_image, save
from stepwell.runtime.files.container import MAGIC, Section, read_sections, write_sections
from stepwell.runtime.image import Entry, ModelImage, RuntimeErrorRow, Variant
from stepwell.runtime.interface import Interface
from stepwell.runtime.link.code import LinkedCode, ObjectFiles
from stepwell.runtime.model import CompiledModel
from tests.onnx_models import onnx_model

VERSION_1 = Path(__file__).with_name("version-1.stepwell")
"""`y = Relu(MatMul(x, w))`, `z = Exp(Cast(y))` in f64; w is 1 to 12 in a row, shape (3, 4)."""
X = np.array([[1, 2, 0.5], [-1, -1, 1]], np.float32)
CODE = LinkedCode(b"\xc3" * 20 + bytes(24), 20, 4096, ("exp", "memcpy"), {"main": (4, 16)}, (4096, 8))


def image() -> ModelImage:
    """An image with two variants, of which one has object files."""
    weights = (np.arange(10, dtype=np.float32), np.ones((3, 3), np.int8), np.array(7.0))
    variants = (
        Variant("x86_64-unknown-linux-gnu", ("avx2",), CODE, pool=CODE),
        Variant("x86_64-pc-windows-msvc", (), ObjectFiles((b"one", b"two")), "start", sizes={"N": 4}),
    )
    entry = Entry(
        Interface((), (), (), Dim.of(64)), variants, (2, 0), (RuntimeErrorRow("bad-size", "no", "n"),)
    )
    return ModelImage({"main": entry}, weights, {"nodes": 3}, ir={"graph": "text"})


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    return stepwell.compile(onnx_model("g (float[N, 2] x) => (float[N, 2] y) { t = Exp(x) y = Neg(t) }"))


def test_an_artifact_reads_back(tmp_path: Path) -> None:
    save(image(), path := tmp_path / "m.stepwell")
    found = load_image(path)
    assert found.functions == image().functions and found.ir == image().ir
    assert dict(found.summary) == {"nodes": 3}
    for weight, wanted in zip(found.weights, image().weights, strict=True):
        np.testing.assert_array_equal(weight, wanted)
        assert weight.dtype == wanted.dtype and weight.ctypes.data % 64 == 0
    assert os.listdir(tmp_path) == ["m.stepwell"]


def test_code_that_variants_share_is_stored_once() -> None:
    sections = read_sections(np.frombuffer(image_bytes(image()), np.uint8), lambda name: True)
    assert list(sections) == ["model", "code.0", "code.1", "ir", "weights"]
    assert sections["code.1"].tobytes() == b"onetwo"


def test_the_same_image_has_the_same_bytes() -> None:
    assert image_bytes(image()) == image_bytes(image())


def test_any_change_of_a_byte_is_found() -> None:
    good = image_bytes(image())
    padding = [i for i, byte in enumerate(good) if not byte]
    for position in range(0, len(good), 7):
        damaged = good[:position] + bytes([good[position] ^ 0x40]) + good[position + 1 :]
        try:
            found = image_of_bytes(damaged, "m.stepwell")
        except StepwellError as error:
            assert error.code == "bad-artifact" and error.where == "m.stepwell"
        else:  # it was between two sections
            assert position in padding and found.functions == image().functions
    for length in (0, 5, 30, 200, len(good) // 2, len(good) - 1):
        with pytest.raises(StepwellError, match="bad-artifact"):
            image_of_bytes(good[:length], "m.stepwell")
    with pytest.raises(StepwellError, match="longer than its sections"):
        image_of_bytes(good + b"x", "m.stepwell")


def test_an_empty_file_is_no_artifact(tmp_path: Path) -> None:
    (path := tmp_path / "m.stepwell").touch()
    with pytest.raises(StepwellError, match="no whole Stepwell artifact: .* empty file") as caught:
        stepwell.load(path)
    assert caught.value.code == "bad-artifact" and caught.value.help == "compile the model again"


def test_damaged_weights_are_found_before_the_first_call(tmp_path: Path) -> None:
    """Large ones are checked while the caller of `load` goes on."""
    text = "g (float[2, 1024] x) => (float[2, 1024] y) { y = MatMul(x, w) }"
    proto = onnx_model(text)
    w = np.random.default_rng(0).normal(size=(1024, 1024)).astype(np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(w, "w"))
    stepwell.compile(proto).save(path := tmp_path / "m.stepwell")
    good, x = path.read_bytes(), np.ones((2, 1024), np.float32)
    path.write_bytes(good[:-5000] + bytes([good[-5000] ^ 1]) + good[-4999:])
    model = stepwell.load(path)
    for use in (lambda: model(x), lambda: model.save(tmp_path / "again.stepwell")):
        with pytest.raises(StepwellError, match="checksum of weight 0 is wrong") as caught:
            use()
        assert caught.value.code == "bad-artifact" and caught.value.where == str(path)
    assert not (tmp_path / "again.stepwell").exists()


def with_table(change: Callable[[list[list[Any]]], object]) -> bytes:
    """An artifact whose table of sections says something else, with a correct checksum."""
    good = image_bytes(image())
    prefix = struct.Struct(f"<{len(MAGIC)}sI16s")
    _, size, _ = prefix.unpack_from(good)
    table = json.loads(good[prefix.size : prefix.size + size])
    change(table)
    text = json.dumps(table, separators=(",", ":")).encode()
    start, new_start = (-(-(prefix.size + n) // 4096) * 4096 for n in (size, len(text)))
    head = prefix.pack(MAGIC, len(text), hashlib.blake2b(text, digest_size=16).digest()) + text
    return head.ljust(new_start, b"\0") + good[start:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[0].__setitem__(0, "bytecode"), "a section 'bytecode', which this version does not know"),
        (lambda t: t[1].__setitem__(0, "code.x"), "a section 'code.x'"),
        (lambda t: t[1].__setitem__(0, "model"), "section 'model' is not within the file"),
        (lambda t: t[1].__setitem__(1, 0), "section 'code.0' is not within the file"),
        (lambda t: t[1].__setitem__(2, -1), "expected a size, found -1"),
        (lambda t: t[-1].__setitem__(2, 1 << 40), "section 'weights' is not within the file"),
        (lambda t: t[0].__setitem__(3, "00"), "the checksum of section 'model' is wrong"),
        (lambda t: t[-1].__setitem__(3, "0"), "the checksum of section 'weights' is wrong"),
        (lambda t: t.pop(), "longer than its sections"),
        (lambda t: t[0].pop(), "expected a list of 4 values, found 3"),
    ],
)
def test_tables_that_are_wrong(change: Callable[[list[list[Any]]], object], message: str) -> None:
    with pytest.raises(StepwellError, match=message) as caught:
        image_of_bytes(with_table(change), "m")
    assert caught.value.code == "bad-artifact"


def with_model(change: Callable[[dict[str, Any]], object]) -> bytes:
    """An artifact whose description says something else, with correct checksums."""
    sections = read_sections(np.frombuffer(image_bytes(image()), np.uint8), lambda name: True)
    described = json.loads(sections["model"].tobytes())
    change(described)
    parts = {**{k: v.tobytes() for k, v in sections.items()}, "model": json.dumps(described).encode()}
    write_sections([Section(name, [data]) for name, data in parts.items()], buffer := BytesIO())
    return buffer.getvalue()


def variant(described: dict[str, Any]) -> dict[str, Any]:
    """The first variant in a description."""
    return described["functions"]["main"]["variants"][0]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["codes"].pop(),
        lambda d: d["codes"][0].__setitem__("text", 4097),
        lambda d: d["codes"][0].__setitem__("text", -1),
        lambda d: d["codes"][0].__setitem__("data", 100),
        lambda d: d["codes"][0].__setitem__("data", 1 << 62),
        lambda d: d["codes"][0].__setitem__("outside", ["exp"] * 9),
        lambda d: d["codes"][0]["functions"].__setitem__("main", [10, 11]),
        lambda d: d["codes"][0]["functions"].__setitem__("main", [-4, 4]),
        lambda d: d["codes"][0].__setitem__("frames", [4096, 1 << 40]),
        lambda d: d["codes"][1].__setitem__("objects", [3, 4]),
        lambda d: d["codes"][1].__setitem__("objects", [9, -3]),
        lambda d: variant(d).__setitem__("code", 7),
        lambda d: variant(d).pop("pool"),
        lambda d: d["functions"]["main"].__setitem__("weights", [3]),
        lambda d: d["functions"]["main"].__setitem__("callees", [{"bytes": 5}]),
        lambda d: d["functions"].__setitem__("other", d["functions"].pop("main")),
        lambda d: d["weights"][0].__setitem__("shape", [1 << 40]),
        lambda d: d["weights"][0].__setitem__("shape", [-1, -10]),
        lambda d: d["weights"][0].__setitem__("dtype", "object"),
        lambda d: d["weights"][0].__setitem__("dtype", "void"),
        lambda d: d["weights"][0].__setitem__("shape", [1 << 62, 0, 1 << 62]),
        lambda d: d["weights"][0].__setitem__("shape", [0] * 65),
        lambda d: d.__setitem__("functions", []),
        lambda d: d.__setitem__("summary", "fast"),
        lambda d: d["codes"][0].__setitem__("functions", "main"),
        lambda d: d["codes"][0].__setitem__("data", float("inf")),
        lambda d: variant(d).__setitem__("code", -1),
        lambda d: variant(d).__setitem__("sizes", [1]),
        lambda d: d["functions"]["main"].__setitem__("errors", [["bad-size", 1, "n"]]),
        lambda d: d["functions"]["main"].__setitem__("host", [0, 1, [1]]),
        lambda d: d["functions"]["main"]["interface"].__setitem__("symbols", ["N"]),
        lambda d: d["functions"]["main"]["interface"].__setitem__("arena_bytes", "64 * N"),
        lambda d: d["functions"]["main"]["interface"].__setitem__("checks", [["N", "1", "n"]]),
    ],
)
def test_descriptions_that_are_wrong(change: Callable[[dict[str, Any]], object]) -> None:
    assert image_of_bytes(with_model(lambda d: None), "m").functions == image().functions
    with pytest.raises(StepwellError, match="bad-artifact"):
        image_of_bytes(with_model(change), "m")


def test_the_first_variant_that_this_machine_runs(model: CompiledModel, tmp_path: Path) -> None:
    (own,) = model.image.main.variants
    foreign = [own._replace(features=("not-a-feature",), code=CODE), own._replace(triple="riscv64-linux")]
    sized = own._replace(sizes={"N": 7}, code=CODE)

    def saved(*variants: Variant) -> Path:
        entry = model.image.main._replace(variants=variants)
        save(model.image._replace(functions={"main": entry}), path := tmp_path / "m.stepwell")
        return path

    x = np.ones((3, 2), np.float32)
    again = stepwell.load(saved(*foreign, sized, own, foreign[0]))
    np.testing.assert_array_equal(again(x), model(x))
    with pytest.raises(StepwellError, match="needs riscv64, which this machine lacks"):
        stepwell.load(saved(*foreign))
    with pytest.raises(StepwellError, match="bad-artifact"):
        stepwell.load(saved())


def test_an_artifact_whose_code_lacks_what_it_names(model: CompiledModel, tmp_path: Path) -> None:
    (own,) = model.image.main.variants
    code = own.code
    assert isinstance(code, LinkedCode)
    forbidden = code._replace(contents=code.contents + bytes(8), outside=("system",))
    for changed, message in ((own._replace(symbol="gone"), "gone"), (own._replace(code=forbidden), "system")):
        entry = model.image.main._replace(variants=(changed,))
        save(model.image._replace(functions={"main": entry}), path := tmp_path / "m.stepwell")
        with pytest.raises(StepwellError, match=message) as caught:
            stepwell.load(path)
        assert caught.value.code == "bad-artifact" and str(path) in caught.value.where


def test_loading_runs_no_code_of_an_artifact(model: CompiledModel, tmp_path: Path) -> None:
    """Neither that of the thread pool: here every instruction of it stops the process."""
    code = model.image.main.variants[0].pool
    assert isinstance(code, LinkedCode)
    stop = b"\xf4" if platform.machine() == "x86_64" else bytes(4)
    fatal = code._replace(contents=stop * (code.text_bytes // len(stop)) + code.contents[code.text_bytes :])
    entry = model.image.main._replace(variants=(model.image.main.variants[0]._replace(pool=fatal),))
    save(model.image._replace(functions={"main": entry}), path := tmp_path / "m.stepwell")
    script = f"import stepwell; print(stepwell.load({str(path)!r}, threads=3))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and "<CompiledModel" in ended.stdout


def test_object_files_of_another_system(model: CompiledModel, tmp_path: Path) -> None:
    """LLVM, which links them elsewhere, would be asked to read what nobody has checked."""
    (own,) = model.image.main.variants
    for objects in ((b"one",), (b"\x7fELF",), (b"\xfe\xed\xfa\xcf" * 9,)):
        entry = model.image.main._replace(variants=(own._replace(code=ObjectFiles(objects)),))
        save(model.image._replace(functions={"main": entry}), path := tmp_path / "m.stepwell")
        with pytest.raises(StepwellError, match="no object files of this format") as caught:
            stepwell.load(path)
        assert caught.value.code == "bad-artifact"


def test_artifacts_of_version_1_load() -> None:
    with pytest.warns(RuntimeWarning, match="runs on one thread: compile the model again"):
        model = stepwell.load(VERSION_1)
    y, z = map(np.asarray, model(X))
    np.testing.assert_allclose(y, np.maximum(X @ np.arange(1, 13, dtype=np.float32).reshape(3, 4), 0))
    np.testing.assert_allclose(z, np.exp(y.astype(np.float64)))


def test_damaged_artifacts_of_version_1(tmp_path: Path) -> None:
    good = VERSION_1.read_bytes()
    path = tmp_path / "m.stepwell"
    for position in [*range(0, 60), 400, 4000, len(good) - 9]:
        path.write_bytes(good[:position] + bytes([good[position] ^ 0x40]) + good[position + 1 :])
        with pytest.raises(StepwellError, match="bad-artifact"):
            load_image(path)
    for length in (0, 5, 30, 200, len(good) - 1):
        path.write_bytes(good[:length])
        with pytest.raises(StepwellError, match="bad-artifact"):
            load_image(path)


def test_paths_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="cannot-write"):
        save(image(), tmp_path / "missing" / "m.stepwell")
    with pytest.raises(StepwellError, match="no-file"):
        load_image(tmp_path / "missing.stepwell")
