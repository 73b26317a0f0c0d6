"""
`DFT`, `STFT` → `graph`, against numpy's transforms: lengths that cut and fill, odd ones, an axis in data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stepwell import compile
from tests.support.onnx_nodes import check_node, node_model
from tests.support.samples import whole

Array = npt.NDArray[np.float32]

X = np.random.default_rng(2).standard_normal((2, 7, 5, 1)).astype(np.float32)


def pairs(x: npt.NDArray[np.complex128]) -> Array:
    """Complex numbers as ONNX has them."""
    return np.stack([x.real, x.imag], -1).astype(np.float32)


@pytest.mark.sample(3)
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("length", [None, 4, 10])
def test_forward(length: int | None, onesided: int) -> None:
    """Along a middle axis, whole, cut and filled with zeros."""
    fft: Any = np.fft.rfft if onesided else np.fft.fft
    given = None if length is None else np.array(length)
    model = compile(node_model("DFT", [X, given, np.array(1)], 1, 20, {}, onesided=onesided))
    np.testing.assert_allclose(
        np.asarray(model(X), np.float32), pairs(fft(X[..., 0], length, axis=1)), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("length", [7, 8])
def test_real_signals_come_back_from_half_their_transform(length: int) -> None:
    """An even length has a bin in the middle that counts once."""
    signal = np.random.default_rng(4).standard_normal((2, length)).astype(np.float32)
    half = pairs(np.fft.rfft(signal))
    inputs = [half, np.array(length), np.array(1)]
    model = compile(node_model("DFT", inputs, 1, 20, {}, inverse=1, onesided=1))
    np.testing.assert_allclose(np.asarray(model(half), np.float32)[..., 0], signal, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("parts", [1, 2])
def test_pairs_or_real_parts_whose_number_is_open(parts: int) -> None:
    """The last dimension has no size in the model: without a second part, imaginary ones are 0."""
    x = np.concatenate([X, X + 1], -1)[..., :parts]
    model = compile(node_model("DFT", [x, None, np.array(1)], 1, 20, {0: [2, 7, 5, "parts"]}, inverse=1))
    signal = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    expected = pairs(np.fft.ifft(signal, axis=1))
    np.testing.assert_allclose(np.asarray(model(x), np.float32), expected, rtol=1e-4, atol=1e-5)


@whole
def test_one_compilation_serves_all_axes() -> None:
    """Also from the last one, and with a result that is smaller along the axis."""
    model = compile(node_model("DFT", [X, None, np.array(1)], 1, 20, {2: []}, onesided=1))
    for axis in (0, 1, 2, -2):
        place = axis + 4 if axis < 0 else axis
        expected = pairs(np.fft.rfft(X[..., 0], axis=place))
        np.testing.assert_allclose(
            np.asarray(model(X, np.array(axis)), np.float32), expected, rtol=1e-4, atol=1e-5
        )


def test_frames_of_a_signal() -> None:
    """Frames begin a step apart; the last samples do not fill one."""
    signal = np.random.default_rng(3).standard_normal((2, 21, 1)).astype(np.float32)
    frames = np.stack([signal[:, at : at + 8, 0] for at in (0, 4, 8, 12)], 1)
    inputs = [signal, np.array(4), None, np.array(8)]
    check_node("STFT", inputs, opset=17, expected=[pairs(np.fft.rfft(frames))], tolerance=1e-4)
