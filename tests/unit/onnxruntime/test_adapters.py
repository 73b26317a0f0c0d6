"""Adapters of low rank: files and calls by our sessions and by ONNX Runtime's, and files that lie."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

import stepwell.onnxruntime as ours
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from tests.onnx_models import onnx_model
from tests.support.components import needs
from tests.unit.frontend.damaged import mutated

theirs = needs("onnxruntime")
BOTH = pytest.mark.parametrize("ort", [ours, theirs], ids=["ours", "theirs"])
X = np.ones((4, 4), np.float32)
BASE = [[28, 32, 36, 40]] * 4
A = np.arange(3, 7, dtype=np.float32).reshape(4, 1)
B = np.arange(7, 11, dtype=np.float32).reshape(1, 4)
ADAPTED = [[154, 176, 198, 220]] * 4


def low_rank() -> bytes:
    """A product with weights, and one with factors of rank 0, which a call may override."""
    weights = ", ".join(map(str, range(1, 17)))
    model = onnx_model(
        "g (float[4, 4] x, float[4, r] a, float[r, 4] b) => (float[4, 4] y) "
        f"<float[4, 4] w = {{{weights}}}> "
        "{ p = MatMul(x, w)  q = MatMul(x, a)  s = MatMul(q, b)  y = Add(p, s) }"
    )
    return with_initializers(model, {"a": A[:, :0], "b": B[:0]}).SerializeToString()


def with_initializers(model: ModelProto, values: Mapping[str, Array]) -> ModelProto:
    for name, value in values.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model


def session(ort: Any, model: bytes) -> Any:
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"])


def written(ort: Any, path: Path, values: Mapping[str, Array]) -> str:
    """A file of values; its path."""
    contents = ort.AdapterFormat()
    contents.set_parameters({name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in values.items()})
    contents.export_adapter(str(path))
    return str(path)


def run(ort: Any, model: Any, given: Mapping[str, Array], *paths: str) -> Any:
    """The result of a call with the adapters of some files."""
    options, adapters = ort.RunOptions(), list[Any]()  # ONNX Runtime's options do not keep the adapters
    for path in paths:
        adapters.append(ort.LoraAdapter())
        adapters[-1].Load(path)
        options.add_active_adapter(adapters[-1])
    return model.run(None, given, options)[0]


@BOTH
def test_a_file_comes_back(ort: Any, tmp_path: Path) -> None:
    numbers, path = np.arange(1, 11), tmp_path / "a.onnx_adapter"
    arrays = {"p": numbers.astype(np.float32).reshape(5, 2), "q": numbers.reshape(2, 5)}
    make, contents = ort.OrtValue.ortvalue_from_numpy_with_onnx_type, ort.AdapterFormat()
    contents.set_adapter_version(1)
    contents.set_model_version(2)
    contents.set_parameters({"p": make(arrays["p"], 1), "q": make(arrays["q"], 7)})
    contents.export_adapter(str(path))
    found = ort.AdapterFormat.read_adapter(str(path))
    path.unlink()
    versions = found.get_format_version(), found.get_adapter_version(), found.get_model_version()
    assert versions == (1, 1, 2) and found.get_parameters().keys() == arrays.keys()
    for name, value in found.get_parameters().items():
        assert value.is_tensor() and value.element_type() == {"p": 1, "q": 7}[name]
        assert value.shape() == [*arrays[name].shape] and np.array_equal(value.numpy(), arrays[name])
    with pytest.raises(RuntimeError):
        ort.AdapterFormat.read_adapter(str(path))


@BOTH
def test_calls_with_an_adapter(ort: Any, tmp_path: Path) -> None:
    model = session(ort, low_rank())
    path = written(ort, tmp_path / "a", {"a": A, "b": B})
    for paths, wanted in (((), BASE), ((path,), ADAPTED), ((), BASE)):
        np.testing.assert_array_equal(run(ort, model, {"x": X}, *paths), wanted)
    np.testing.assert_array_equal(model.run(None, {"x": X})[0], BASE)
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        run(ort, model, {"x": X}, written(ort, tmp_path / "c", {"c": A}))


@BOTH
def test_of_two_values_for_an_input_one_counts(ort: Any, tmp_path: Path) -> None:
    model = session(ort, low_rank())
    first = written(ort, tmp_path / "a", {"a": A, "b": B})
    second = written(ort, tmp_path / "b", {"a": A * 0, "b": B})
    found = [
        run(ort, model, {"x": X, **given}, *paths).tolist()
        for given, paths in (({}, (first, second)), ({}, (second, first)), ({"a": A * 0}, (first,)))
    ]
    assert found == [ADAPTED, BASE, ADAPTED]


def test_an_adapter_of_some_layers_leaves_the_others(tmp_path: Path) -> None:
    """The rank has one name in all layers, and those that are left have rank 0; ONNX Runtime refuses this."""
    model = onnx_model(
        "g (float[4, 4] x, float[4, r] a, float[r, 4] b, float[4, r] c, float[r, 4] d) => (float[4, 4] y) "
        "{ q = MatMul(x, a)  s = MatMul(q, b)  t = MatMul(x, c)  u = MatMul(t, d)"
        "  v = Add(x, s)  y = Add(v, u) }"
    )
    values = {"a": A[:, :0], "b": B[:0], "c": A[:, :0], "d": B[:0]}
    one = session(ours, with_initializers(model, values).SerializeToString())
    path = written(ours, tmp_path / "a", {"c": A, "d": B})
    for paths, wanted in (((), X), ((path,), X + X @ A @ B)):
        np.testing.assert_array_equal(run(ours, one, {"x": X}, *paths), wanted)


@pytest.mark.parametrize(("writer", "reader"), [(ours, theirs), (theirs, ours)], ids=["ours", "theirs"])
def test_files_are_those_of_onnx_runtime(writer: Any, reader: Any, tmp_path: Path) -> None:
    values: dict[str, Array] = {
        "": np.arange(3, dtype=np.int8),
        "ein längerer Name": np.array([2.5]),
        "empty": np.zeros((2, 0, 3), np.float16),
        "many": np.arange(5, dtype=np.uint16),
    }
    found = reader.AdapterFormat.read_adapter(written(writer, tmp_path / "a", values)).get_parameters()
    assert found.keys() == values.keys()
    for name, value in values.items():
        assert found[name].numpy().dtype == value.dtype
        np.testing.assert_array_equal(found[name].numpy(), value, strict=True)


def test_narrow_elements_and_other_byte_orders(tmp_path: Path) -> None:
    values = {
        "a": np.arange(3).astype(ml_dtypes.bfloat16),
        "b": np.arange(3, dtype=">i4"),
        "c": np.array(2.5),
    }
    found = ours.AdapterFormat.read_adapter(written(ours, tmp_path / "a", values)).get_parameters()
    assert found["a"].numpy().dtype == ml_dtypes.bfloat16 and found["b"].numpy().dtype == np.int32
    assert found["c"].numpy() == 2.5 and found["c"].shape() == []
    for name in "ab":
        assert found[name].numpy().astype(int).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [(np.array(["a"]), "cannot have 'a' of <U1"), (np.zeros(2, "V3"), "cannot have 'a' of")],
)
def test_values_that_a_file_cannot_have(value: Array, text: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=text):
        written(ours, tmp_path / "a", {"a": value})


def test_a_version_has_32_bits() -> None:
    with pytest.raises(StepwellError, match="32 bits"):
        ours.AdapterFormat().set_model_version(1 << 31)


def refused(folder: Path, data: bytes) -> StepwellError:
    (folder / "m").write_bytes(data)
    with pytest.raises(RuntimeError) as caught:
        ours.LoraAdapter().Load(folder / "m")
    assert isinstance(caught.value, StepwellError)
    return caught.value


def with_number(data: bytes, before: bytes, after: bytes) -> bytes:
    assert data.count(before) == 1
    return data.replace(before, after)


def test_files_that_lie(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    whole = Path(written(ours, tmp_path / "a", {"a": array})).read_bytes()
    shape, numbers = struct.pack("<2q", 2, 3), array.tobytes()
    for data, text in (
        (b"", "bytes 4 to 7 are not TORT"),
        (whole[:4] + b"TFL3" + whole[8:], "bytes 4 to 7 are not TORT"),
        (whole[:40], "is outside of the file of 40 bytes"),
        (whole[:24] + struct.pack("<i", 2) + whole[28:], "version 2 of the format, expected 1"),
        (with_number(whole, shape, struct.pack("<2q", -2, -3)), "has the shape [-2, -3], and 12 bytes"),
        (with_number(whole, shape, struct.pack("<2q", 2, 4)), "of int16 has the shape [2, 4], and 12 bytes"),
        (
            with_number(whole, struct.pack("<I", 12) + numbers, bytes(16)).replace(
                shape, struct.pack("<2q", 0, 1 << 62)
            ),
            "has the shape [0, 4611686018427387904], and 0 bytes",
        ),
    ):
        error = refused(tmp_path, data)
        assert error.code == "invalid-weights" and text in error.message and error.help


def test_damaged_files_are_adapters_or_errors(tmp_path: Path) -> None:
    rng, path = random.Random(0), tmp_path / "m"
    values = {"a": A, "b": np.array([True, False]), "c": np.arange(5)}
    whole = Path(written(ours, tmp_path / "a", values)).read_bytes()
    survived = 0
    for _ in range(300):
        path.write_bytes(mutated(whole + bytes(8), rng, 8))
        try:
            found = ours.AdapterFormat.read_adapter(path).get_parameters()
        except StepwellError as error:
            assert error.code == "invalid-weights", error.render()
        else:
            survived += 1
            assert sum(value.numpy().nbytes for value in found.values()) <= len(whole) + 8
    assert 0 < survived < 300
