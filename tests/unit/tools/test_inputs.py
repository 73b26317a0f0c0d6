"""Files of inputs: what is read, and what is refused before memory is asked for."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.tools import inputs
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import interface_of
from stepwell.tools.inputs import UNNAMED, by_input, completed_inputs, made_up_sizes, read_arrays
from tests.commands import written
from tests.onnx_models import onnx_model

ARRAYS = {
    "rows": np.arange(12, dtype=np.int16).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "number": np.array(2.5, np.float32),
    "nothing": np.zeros((0, 3), np.float32),
    "text": np.array(["a", "bcd"]),
    "far": np.arange(4, dtype=">i4"),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_wrote(tmp_path: Path, save: object) -> None:
    file = tmp_path / "x.npz"
    save(file, **ARRAYS)  # type: ignore[operator]  # pyright: ignore[reportCallIssue]
    found = read_arrays(file)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        found[name][...] = found[name]  # its memory can be written


def test_one_array_has_no_name(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", ARRAYS["columns"])
    found = read_arrays(tmp_path / "x.npy")
    assert list(found) == [UNNAMED]
    np.testing.assert_array_equal(found[UNNAMED], ARRAYS["columns"])


def test_an_unnamed_array_is_the_only_input() -> None:
    one, two = (
        stepwell.compile(onnx_model(f"g ({inputs}) => (float[4] y) {{ y = {node} }}"))
        for inputs, node in (("float[4] x", "Relu(x)"), ("float[4] x, float[4] z", "Add(x, z)"))
    )
    array = np.ones(4, np.float32)
    assert by_input({UNNAMED: array}, one.interface) == {"x": array}
    with pytest.raises(StepwellError, match="one array, without a name, and the model has 2 inputs"):
        by_input({UNNAMED: array}, two.interface)


def entry(shape: str, contents: bytes = b"", descr: str = "'<f4'") -> bytes:
    """An array in numpy's format, of a shape that may be wrong."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + contents


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (entry("(1 << 50,)"), "bad-inputs"),
        (entry("(1125899906842624,)"), "has 4503599627370496 bytes, found 0"),
        (entry("(3,)", bytes(16)), "has 12 bytes, found 16"),
        (entry("(-1, -4)", bytes(16)), "bad-inputs"),
        (entry("(2,)", bytes(16), "'|O'"), "Python objects"),
        (entry("(2,)", bytes(16), "[('a', 'O')]"), "Python objects"),
        (entry("(1,)", bytes(4))[:40], "bad-inputs"),
        (b"\x93NUMPY\x09\x00", "version (9, 0)"),
        (b"", "bad-inputs"),
    ],
)
@pytest.mark.parametrize("is_entry", [False, True])
def test_arrays_that_are_refused(tmp_path: Path, contents: bytes, message: str, is_entry: bool) -> None:
    if is_entry:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as file:
            file.writestr("x.npy", contents)
        contents = packed.getvalue()
    (tmp_path / "x").write_bytes(contents)
    with pytest.raises(StepwellError) as error:
        read_arrays(tmp_path / "x")
    assert error.value.code == "bad-inputs" and message in error.value.render()


def test_more_than_the_memory_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file of many zeros, which would be unpacked."""
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(1 << 20, np.uint8))
    monkeypatch.setattr(inputs, "_memory_bytes", lambda: 1 << 20)
    with pytest.raises(StepwellError, match="this machine's memory has 1048576"):
        read_arrays(tmp_path / "x.npz")


def test_made_up_sizes_are_those_that_the_model_takes() -> None:
    body = "s = Constant <value_ints = [-1, 8]> () y = Reshape (x, s)"
    interface = stepwell.compile(onnx_model(f"g (float[N] x) => (float[M, 8] y) {{ {body} }}")).interface
    assert [np.asarray(array).shape for array in completed_inputs(interface, {}).values()] == [(8,)]
    given = {"x": np.ones(24, np.float32)}
    assert completed_inputs(interface, given)["x"] is given["x"]
    given = {"x": np.ones(3, np.float32)}
    assert completed_inputs(interface, given)["x"] is given["x"]  # with which the run says what is wrong


def test_made_up_sizes_are_1_where_they_can_be(tmp_path: Path) -> None:
    """Also before anything is compiled."""
    body = "s = Constant <value_ints = [0, -1, 512]> () y = Reshape (x, s)"
    model = onnx_model(f"g (float[N, M] x, float[K] k) => (float[N, L, 512] y) {{ {body} }}")
    interface = interface_of(written(tmp_path / "m.onnx", model), CompileOptions())
    assert made_up_sizes(interface, {}) == {"N": 1, "M": 512, "K": 1}
    assert made_up_sizes(interface, {"x": (2, 1024)}) == {"K": 1}
    assert made_up_sizes(interface, {"x": (2, 3)}) == {"K": 1}
