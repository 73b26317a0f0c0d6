"""Samples and labels: cut, read and refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Interface, TensorSpec
from stepwell.tools.quantize.data import made_up_samples, read_labels, read_samples

_F32 = np.dtype(np.float32)


def _interface(**inputs: tuple[int | str, ...]) -> Interface:
    specs = tuple(TensorSpec(n, _F32, tuple(Dim.of(d) for d in dims)) for n, dims in inputs.items())
    return Interface(specs, (), (), Dim.of(0))


OPEN = _interface(x=("N", 3))


def test_arrays_are_cut_along_the_first_axis(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.savez(tmp_path / "d.npz", x=x)
    found = read_samples(tmp_path / "d.npz", OPEN)
    assert [feed["x"].tolist() for feed in found.feeds] == [[row.tolist()] for row in x]
    pairs = read_samples({"x": x}, _interface(x=(2, 3)))
    assert [feed["x"].shape for feed in pairs.feeds] == [(2, 3), (2, 3)]
    assert len(read_samples({"x": x}, OPEN, 3).feeds) == 3


def test_a_folder_has_a_sample_a_file(tmp_path: Path) -> None:
    for number in (2, 0, 1):
        np.savez(tmp_path / f"{number}.npz", x=np.full((5, 3), number, np.float32))
    assert [int(feed["x"][0, 0]) for feed in read_samples(tmp_path, OPEN).feeds] == [0, 1, 2]


def test_half_of_many_samples_calibrates() -> None:
    few, many = (read_samples({"x": np.zeros((n, 3), np.float32)}, OPEN) for n in (7, 9))
    assert (len(few.for_calibration), len(many.for_calibration)) == (7, 5)
    assert many.some(3) == [0, 4, 8]
    assert many.some(100) == list(range(9))


def test_made_up_samples_differ() -> None:
    found = made_up_samples(OPEN)
    assert found.is_made_up
    assert len({feed["x"].tobytes() for feed in found.feeds}) == 16


def _nan() -> np.ndarray:
    x = np.zeros((5, 3), np.float32)
    x[3, 1] = np.nan
    return x


@pytest.mark.parametrize(
    ("arrays", "code", "message"),
    [
        ({"y": np.zeros((4, 3), np.float32)}, "extra-input", "no input 'y'"),
        ({}, "missing-input", "no array for the input 'x'"),
        ({"x": np.zeros((4, 3, 1), np.float32)}, "shape-mismatch", "shape \\[4, 3, 1\\]"),
        ({"x": np.zeros((4, 2), np.float32)}, "shape-mismatch", "found shape \\[1, 2\\]"),
        ({"x": np.zeros((4, 3))}, "type-mismatch", "float32, found float64"),
        ({"x": np.zeros((0, 3), np.float32)}, "missing-data", "no sample"),
        ({"x": _nan()}, "bad-data", 'sample 3 of "x" holds NaN \\(1 of 3\\)'),
        ({"x": np.full((1, 3), np.inf, np.float32)}, "bad-data", "holds Inf \\(3 of 3\\)"),
    ],
)
def test_data_that_does_not_fit(arrays: dict[str, np.ndarray], code: str, message: str) -> None:
    with pytest.raises(StepwellError, match=message) as caught:
        read_samples(arrays, OPEN)
    assert caught.value.code == code


def test_sizes_that_do_not_divide_or_agree() -> None:
    for interface, arrays in (
        (_interface(x=(2, 3)), {"x": np.zeros((5, 3), np.float32)}),
        (_interface(x=(1, 3), y=(1,)), {"x": np.zeros((5, 3), np.float32), "y": np.zeros(4, np.float32)}),
    ):
        with pytest.raises(StepwellError) as caught:
            read_samples(arrays, interface)
        assert caught.value.code == "shape-mismatch"


def test_files_that_are_none(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object))
    (tmp_path / "text.npz").write_text("x")
    for name, code in (("objects.npz", "bad-inputs"), ("text.npz", "bad-inputs"), ("none.npz", "no-file")):
        with pytest.raises(StepwellError) as caught:
            read_samples(tmp_path / name, OPEN)
        assert caught.value.code == code


def test_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "l.npy", np.array([1, 2], np.uint8))
    assert read_labels(tmp_path / "l.npy", 2).tolist() == [1, 2]
    for labels, message in (
        (np.zeros(3, np.int64), "2 samples, and 3 labels"),
        (np.zeros(2), "whole numbers, found float64"),
        (np.array(1), "2 samples, and 0 labels"),
    ):
        with pytest.raises(StepwellError, match=message) as caught:
            read_labels(labels, 2)
        assert caught.value.code == "bad-data"
