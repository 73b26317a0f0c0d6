"""Shapes, axes and positions that are data: one compilation for all of them, and what is wrong with some."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from tests.onnx_models import onnx_model
from tests.support.samples import whole

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def _compiled(body: str) -> CompiledModel:
    return stepwell.compile(onnx_model(body))


def _expect(model: CompiledModel, inputs: list[object], *expected: object) -> None:
    found = model(*inputs)
    results = found if isinstance(found, tuple) else (found,)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(result), np.asarray(wanted))
        assert np.asarray(result).shape == np.asarray(wanted).shape


def _ints(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_reshape() -> None:
    model = _compiled("g (float[A,B,C] x, int64[2] s) => (float[P,Q] y) { r = Reshape(x, s) y = Neg(r) }")
    for shape in ((6, 4), (-1, 8), (0, -1), (24, 1)):
        resolved = [X.shape[i] if n == 0 else n for i, n in enumerate(shape)]
        _expect(model, [X, _ints(*shape)], -X.reshape(resolved))
    with pytest.raises(StepwellError, match=r"must equal[\s\S]*found 24 and 30") as caught:
        model(X, _ints(6, 5))
    assert caught.value.code == "shape-mismatch" and 'node "Reshape#0"' in caught.value.where
    with pytest.raises(StepwellError, match="Reshape"):
        model(X, _ints(-2, 3))


def test_slice_whose_axes_and_steps_are_data() -> None:
    model = _compiled(
        "g (float[A,B,C] x, int64[2] s, int64[2] e, int64[2] a, int64[2] t) => (float[P,Q,R] y)"
        " { y = Slice(x, s, e, a, t) }"
    )
    big = np.iinfo(np.int64).max
    _expect(model, [X, _ints(1, 0), _ints(big, 2), _ints(2, -2), _ints(2, 1)], X[:, 0:2, 1::2])
    _expect(model, [X, _ints(-1, 0), _ints(-big, 2), _ints(1, 0), _ints(-1, 1)], X[0:2, ::-1])
    _expect(model, [X, _ints(2, 0), _ints(1, 0), _ints(0, 1), _ints(1, 1)], X[2:1, 0:0])


@pytest.mark.sample(4)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad_by_data(mode: str) -> None:
    header = f'<mode: string = "{mode}">'
    model = stepwell.compile(
        onnx_model(f"g (float[A,B] x, int64[4] p) => (float[P,Q] y) {{ y = Pad {header} (x, p) }}", opset=19)
    )
    for pads in ((1, 2, 0, 1), (0, 0, 0, 0), (2, 1, 2, 3)):
        around = ((pads[0], pads[2]), (pads[1], pads[3]))
        _expect(model, [X[0], _ints(*pads)], np.pad(X[0], around, mode))  # pyright: ignore


@whole
def test_reductions_over_axes_that_are_data() -> None:
    model = _compiled(
        "g (float[A,B,C] x, int64[2] a) => (float[P,Q,R] y, float[S] z)"
        " { y = ReduceMax(x, a) z = ReduceSum <keepdims: int = 0> (x, a) }"
    )
    for axes in ((0, 1), (-1, 0), (1, 2)):
        _expect(model, [X, _ints(*axes)], X.max(axes, keepdims=True), X.sum(axes))


def test_results_as_long_as_data_wants() -> None:
    model = _compiled(
        "g (float[A,B] x) => (int64[R,N] p, float[U] u, int64[U] f, int64[T] i, int64[U] c)"
        " { p = NonZero(x) u, f, i, c = Unique(x) }"
    )
    for seed, shape in enumerate([(3, 4), (1, 1), (5, 7)]):
        x = np.random.default_rng(seed).integers(0, 4, shape).astype(np.float32)
        unique = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        _expect(model, [x], np.stack(np.nonzero(x)), unique[0], unique[1], unique[2].reshape(-1), unique[3])


@whole
def test_many_sizes_in_many_threads() -> None:
    model = _compiled("g (float[N] x, bool[N] c) => (float[M] y) { s = Compress(x, c) y = Exp(s) }")
    failures: list[BaseException] = []

    def run(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(30):
                x = rng.standard_normal(int(rng.integers(1, 300))).astype(np.float32)
                found = model(x, x > 0)
                np.testing.assert_allclose(np.asarray(found, np.float64), np.exp(x[x > 0]), rtol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_range_and_top_k() -> None:
    model = _compiled(
        "g (float a, float b, float d, float[N] x, int64[1] k) => (float[M] r, float[K] v, int64[K] i)"
        " { r = Range(a, b, d) v, i = TopK(x, k) }"
    )
    x = np.array([3, 1, 2, 5], np.float32)
    scalars: list[object] = [np.float32(v) for v in (1, 8, 2.5)]
    _expect(model, [*scalars, x, _ints(3)], [1, 3.5, 6], [5, 3, 2], [3, 0, 2])


def test_an_axis_outside() -> None:
    """A scan along an axis that is data stops the call, and takes no other axis."""
    model = _compiled("g (float[3,4] x, int64 a) => (float[3,4] y) { y = CumSum(x, a) }")
    for axis in (-2, -1, 0, 1):
        _expect(model, [X[0], np.int64(axis)], np.cumsum(X[0], axis))
    for axis in (2, -3):
        with pytest.raises(StepwellError, match=f"found {axis} and 2") as caught:
            model(X[0], np.int64(axis))
        assert caught.value.code == "index-out-of-range" and 'node "CumSum#0"' in caught.value.where


def test_an_index_outside() -> None:
    model = _compiled("g (float[N,4] x, int64[M] i) => (float[M,4] y) { y = Gather(x, i) }")
    _expect(model, [X[0], _ints(-3, 2)], X[0][[0, 2]])
    for index in (3, -4):
        with pytest.raises(StepwellError, match=f"found {index} and 3") as caught:
            model(X[0], _ints(0, index))
        assert caught.value.code == "index-out-of-range" and 'node "Gather#0"' in caught.value.where


def test_a_size_that_no_memory_holds() -> None:
    model = _compiled("g (int64[1] s) => (float[N] y) { y = ConstantOfShape(s) }")
    _expect(model, [_ints(3)], np.zeros(3, np.float32))
    for size in (-1, 1 << 60, 1 << 45):
        with pytest.raises(StepwellError) as caught:
            model(_ints(size))
        assert caught.value.code in ("bad-size", "out-of-memory")
        if caught.value.code == "bad-size":
            assert f"found {size}, possible are 0 to " in str(caught.value)
    _expect(model, [_ints(2)], np.zeros(2, np.float32))


def test_sizes_whose_product_no_memory_holds() -> None:
    """Their product is 2^62 + 1: four bytes, in 64 bits, for 2^62 + 1 numbers. The process died of it."""
    sizes = _ints(5 * 5581 * 49477, 8681 * 384773)
    for nodes in ("y = ConstantOfShape(s)", "z = ConstantOfShape(s) y = Tile(z, s)"):
        model = _compiled(f"g (int64[2] s) => (float[N,M] y) {{ {nodes} }}")
        _expect(model, [_ints(2, 3)], np.zeros((2, 3) if "Tile" not in nodes else (4, 9), np.float32))
        with pytest.raises(StepwellError, match="out-of-memory"):
            model(sizes)


def test_an_empty_input_with_a_size_that_is_too_large() -> None:
    model = _compiled("g (float[N,M] x, int64[1] s) => (float[N,K] y) { y = Expand(x, s) }")
    with pytest.raises(StepwellError, match="too-large"):
        model(np.zeros((1 << 60, 0), np.float32), _ints(1))
