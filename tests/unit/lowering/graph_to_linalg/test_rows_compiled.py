"""Compiled kernels of rows, borders and scattered rows against numpy, on what would show a slip."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stepwell.tools.driver.compile import compile
from tests.onnx_models import onnx_model
from tests.support.combinations import every_pair

Floats = npt.NDArray[np.float32]


def _compiled(body: str, mcpu: str, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    outputs = compile(onnx_model(body, opset=19), threads=1, mcpu=mcpu)(*inputs)
    return tuple(np.asarray(y) for y in (outputs if isinstance(outputs, tuple) else (outputs,)))


def _rows(*shape: int) -> Floats:
    """Rows of small whole numbers, so that many are equal, with NaN and infinities in some places."""
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    x.reshape(-1)[11::97] = np.nan
    x.reshape(-1)[5::53] = -np.inf
    return x


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
@pytest.mark.parametrize("size, columns", [(203, "203"), (203, "n"), (1000, "1000")])
def test_softmax(mcpu: str, size: int, columns: str) -> None:
    x = _rows(5, size)
    x[3], x[4] = -np.inf, 7
    with np.errstate(invalid="ignore"):
        powers = np.exp(x - x.max(1, keepdims=True))
        expected = powers / powers.sum(1, keepdims=True)
    (y,) = _compiled(
        f"g (float[5, {columns}] x) => (float[5, {columns}] y) {{ y = Softmax<axis = 1>(x) }}", mcpu, x
    )
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.sample(6)
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(
    "type, size, columns, k",
    [
        ("float", 203, "203", 9),
        ("float", 203, "n", 9),
        ("float", 1000, "1000", 1000),
        ("float", 4200, "4200", 2),
        ("float16", 300, "300", 5),
        ("double", 203, "n", 9),
        ("uint32", 50, "50", 50),
    ],
)
def test_top_k(largest: int, type: str, size: int, columns: str, k: int) -> None:
    x = _rows(3, size)
    x[:, 5:9] = [[-0.0, 0.0, -np.nan, -np.inf]]
    with np.errstate(invalid="ignore"):
        x = (x * 2**20 if type == "uint32" else x).astype({"float": "f4", "double": "f8"}.get(type, type))
    types = f"({type}[3, {k}] y, int64[3, {k}] i)"
    body = f"y, i = TopK<axis = 1, largest = {largest}>(x, k)"
    values, places = _compiled(
        f"g ({type}[3, {columns}] x) => {types} <int64[1] k = {{{k}}}> {{ {body} }}", "host", x
    )
    wide = x.astype(np.float64)
    is_nan, sign = np.isnan(wide), -1 if largest else 1
    order = np.lexsort((sign * np.where(is_nan, 0, wide), sign * is_nan), axis=1)[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@pytest.mark.sample(6)
@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
@pytest.mark.parametrize("kind", ["Max", "Min"])
@pytest.mark.parametrize("size", [5, 16, 37, 203, 1000])
def test_extremum_with_nan_anywhere(kind: str, size: int, mcpu: str) -> None:
    x = np.random.default_rng(0).standard_normal((size + 2, size)).astype(np.float32)
    np.fill_diagonal(x, np.nan)  # the last two rows have none
    x[-1] = -np.inf if kind == "Max" else np.inf
    body = f"y = Reduce{kind}<keepdims = 0>(x, a)"
    (y,) = _compiled(
        f"g (float[{size + 2}, {size}] x) => (float[{size + 2}] y) <int64[1] a = {{1}}> {{ {body} }}", mcpu, x
    )
    np.testing.assert_array_equal(y, x.max(1) if kind == "Max" else x.min(1))


@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
def test_argmax_of_columns(mcpu: str) -> None:
    x = _rows(70, 37)
    (y,) = _compiled(
        "g (float[70, 37] x) => (int64[37] y) { y = ArgMax<axis = 0, keepdims = 0>(x) }", mcpu, x
    )
    np.testing.assert_array_equal(y, np.argmax(x, axis=0))


@pytest.mark.sample(4)
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("shape", ["4, 5, 7", "a, b, c"])
def test_pad(mode: str, shape: str) -> None:
    x = np.random.default_rng(0).standard_normal((4, 5, 7)).astype(np.float32)
    pads = "<int64[6] p = {1, 0, 2, 0, 6, 3}>"
    (y,) = _compiled(
        f'g (float[{shape}] x) => (float[d, e, f] y) {pads} {{ y = Pad<mode = "{mode}">(x, p) }}', "host", x
    )
    np.testing.assert_array_equal(y, np.pad(x, [(1, 0), (0, 6), (2, 3)], mode=mode))  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_scatter_of_rows_in_order(reduction: str) -> None:
    x, rows = np.ones((5, 19), np.float32), np.arange(76, dtype=np.float32).reshape(4, 19)
    places = np.array([[3], [0], [-2], [4]])
    types = "(float[5, 19] x, int64[4, 1] i, float[4, 19] u) => (float[5, 19] y)"
    (y,) = _compiled(
        f'g {types} {{ y = ScatterND<reduction = "{reduction}">(x, i, u) }}', "host", x, places, rows
    )
    for (place,), row in zip(places, rows, strict=True):
        x[place] = row if reduction == "none" else x[place] + row
    np.testing.assert_array_equal(y, x)


@pytest.mark.sample(6)
@every_pair(
    mcpu=["host", "x86-64-v3"],
    element=["float", "float16", "uint8"],
    factor__shape=[(2, "2, 3, 37"), (3, "2, 3, 37"), (2, "a, b, c")],
)
def test_short_rows_of_an_upsampled_image(mcpu: str, element: str, factor: int, shape: str) -> None:
    type = np.dtype("float32" if element == "float" else element)
    x = np.random.default_rng(0).integers(0, 100, (2, 3, 37)).astype(type)
    added = np.arange(x.size * factor**2, dtype=type).reshape(2, 3 * factor, 37 * factor) % type.type(90)
    mode = '"nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
    types = f"({element}[{shape}] x, {element}[d, e, f] z) => ({element}[d, e, f] y)"
    body = f"u = Resize<mode = {mode}>(x, , s) y = Add(u, z)"
    (y,) = _compiled(f"g {types} <float[3] s = {{1, {factor}, {factor}}}> {{ {body} }}", mcpu, x, added)
    np.testing.assert_array_equal(y, x.repeat(factor, 1).repeat(factor, 2) + added)


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
@pytest.mark.parametrize("block", [2, 3])
def test_depth_to_space(mcpu: str, block: int) -> None:
    x = np.random.default_rng(0).standard_normal((1, 2 * block**2, 3, 37)).astype(np.float32)
    types = f"(float[1, {2 * block**2}, 3, w] x) => (float[1, 2, h, v] y)"
    (y,) = _compiled(f"g {types} {{ y = DepthToSpace<blocksize = {block}>(x) }}", mcpu, x)
    pixels = x.reshape(block, block, 2, 3, 37).transpose(2, 3, 0, 4, 1)
    np.testing.assert_array_equal(y, pixels.reshape(1, 2, 3 * block, 37 * block))


@pytest.mark.sample(3)
@pytest.mark.parametrize("place", ["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "asymmetric"])
@pytest.mark.parametrize("factor", [2, 3])
def test_rounded_places_of_an_upsampled_image(place: str, factor: int) -> None:
    x = np.arange(2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)
    mode = f'"nearest", coordinate_transformation_mode = "{place}", nearest_mode = "round_prefer_floor"'
    types = f"(float[2, 3, 5] x) => (float[d, e, f] y) <float[3] s = {{1, {factor}, {factor}}}>"
    (y,) = _compiled(f"g {types} {{ y = Resize<mode = {mode}>(x, , s) }}", "host", x)
    shift = 0.0 if place == "asymmetric" else 0.5
    rows, columns = (
        np.ceil((np.arange(n * factor) + shift) / factor - shift - 0.5).clip(0, n - 1).astype(int)
        for n in x.shape[1:]
    )
    np.testing.assert_array_equal(y, x[:, rows][:, :, columns])


def test_scatter_of_rows_whose_sizes_have_two_names() -> None:
    x, u = np.ones((4, 3, 5), np.float32), np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    types = "(float[n, b, c] x, float[2, d, e] u) => (float[n, b, c] y)"
    body = '<int64[2, 1] i = {3, 1}> { y = ScatterND<reduction = "add">(x, i, u) }'
    (y,) = _compiled(f"g {types} {body}", "host", x, u)
    x[[3, 1]] += u
    np.testing.assert_array_equal(y, x)


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
@pytest.mark.parametrize("type, index", [("float", "int64"), ("uint8", "int32"), ("float16", "int64")])
def test_elements_at_positions_in_data(mcpu: str, type: str, index: str) -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 99, (7, 70)).astype("float32" if type == "float" else type)
    i = random.integers(-70, 70, (7, 67)).astype(index)
    rows, places = np.arange(7)[:, None], i.astype(np.int64) % 70
    (y, z) = _compiled(
        f"g ({type}[7, 70] x, {index}[7, 67] i) => ({type}[7, 67] y, {type}[7, 7, 67] z) "
        "{ y = GatherElements<axis = 1>(x, i) z = Gather<axis = 1>(x, i) }",
        mcpu,
        x,
        i,
    )
    np.testing.assert_array_equal(y, x[rows, places])
    np.testing.assert_array_equal(z, x[:, places])


@pytest.mark.sample(6)
@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
@pytest.mark.parametrize("shape", [(2, 131, 3), (3, 64, 2), (1, 5, 3)])
@pytest.mark.parametrize("type", ["uint8", "float16", "float", "int64"])
def test_alternating_channels(mcpu: str, shape: tuple[int, ...], type: str) -> None:
    x = np.random.default_rng(0).integers(0, 99, shape).astype("float32" if type == "float" else type)
    (n, pixels, channels), body = shape, "{ y = Transpose<perm = [0, 2, 1]>(x) }"
    text = f"g ({type}[{n}, {pixels}, {channels}] x) => ({type}[{n}, {channels}, {pixels}] y) {body}"
    (y,) = _compiled(text, mcpu, x)
    np.testing.assert_array_equal(y, x.transpose(0, 2, 1))


@pytest.mark.parametrize("shape, repeats", [((41, 101), (2, 1)), ((5, 7, 11), (1, 3, 1)), ((16, 9), (4, 2))])
def test_tiles(shape: tuple[int, ...], repeats: tuple[int, ...]) -> None:
    x = _rows(*shape)
    dims, wide = (",".join(map(str, s)) for s in (shape, np.multiply(shape, repeats)))
    counts = ",".join(map(str, repeats))
    body = f"{{ r = Constant<value_ints = [{counts}]>() y = Tile(x, r) }}"
    (y,) = _compiled(f"g (float[{dims}] x) => (float[{wide}] y) {body}", "host", x)
    np.testing.assert_array_equal(y, np.tile(x, repeats))
