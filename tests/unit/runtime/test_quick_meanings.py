"""Quicker forms of meanings, each against its meaning: within 1e-5 of the result's range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stepwell.runtime.layout import parse_layout, to_layout
from stepwell.runtime.meaning import (
    _MEANINGS,  # pyright: ignore[reportPrivateUsage]
    _QUICK_FORMS,  # pyright: ignore[reportPrivateUsage]
    Array,
    evaluate,
    has_meaning,
)

F32 = npt.NDArray[np.float32]
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-38, 1e-42, -1.0, 3.5, 88.0], np.float32)


def numbers(seed: int, *shape: int, special: bool = False) -> F32:
    """Random numbers of a mean other than 0; with `special` one in twenty is NaN, infinite, tiny or -0.0."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(shape) + 0.25).astype(np.float32)
    if special:
        x = np.where(rng.random(shape) < 0.05, rng.choice(SPECIAL, shape), x).astype(np.float32)
    return x


def expect_close(name: str, operands: Sequence[Array | None], **properties: Any) -> None:
    """Compare the quicker form of an op with its meaning, and require that it leaves operands unchanged."""
    before = [None if x is None else x.copy() for x in operands]
    with np.errstate(all="ignore"):
        expected = evaluate(name, operands, properties)
        found = evaluate(name, operands, properties, quick=True)
    for x, kept in zip(operands, before, strict=True):
        np.testing.assert_array_equal(x, kept)
    for y, reference in zip(found, expected, strict=True):
        assert (y.shape, y.dtype) == (reference.shape, reference.dtype)
        numbers = reference.astype(np.float64)
        scale = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0))
        np.testing.assert_allclose(y.astype(np.float64), numbers, rtol=0, atol=1e-5 * scale)


seeds = st.integers(0, 2**32 - 1)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[F32, F32, dict[str, Any]]:
    """An input, filters and properties of a convolution with at least no window on each axis."""
    rank = draw(st.integers(1, 3))
    per_axis = st.lists
    kernel = draw(per_axis(st.integers(1, 3), min_size=rank, max_size=rank))
    strides = draw(per_axis(st.integers(1, 3), min_size=rank, max_size=rank))
    dilations = draw(per_axis(st.integers(1, 2), min_size=rank, max_size=rank))
    pads = draw(per_axis(st.integers(0, 2), min_size=2 * rank, max_size=2 * rank))
    free = draw(per_axis(st.integers(-1, 6), min_size=rank, max_size=rank))
    sizes = [
        (k - 1) * d + 1 + more - before - after
        for k, d, more, before, after in zip(kernel, dilations, free, pads, pads[rank:], strict=False)
    ]
    assume(min(sizes) >= 0)
    groups, depth, width = draw(
        st.sampled_from([(1, 3, 4), (2, 2, 3), (5, 1, 1), (3, 1, 2), (1, 0, 2), (1, 1, 1)])
    )
    seed, special = draw(seeds), draw(st.booleans())
    x = numbers(seed, draw(st.integers(0, 2)), groups * depth, *sizes, special=special)
    w = numbers(seed + 1, groups * width, depth, *kernel)
    return x, w, {"strides": strides, "dilations": dilations, "pads": pads, "groups": groups}


@given(convolutions())
def test_conv(case: tuple[F32, F32, dict[str, Any]]) -> None:
    x, w, properties = case
    layouts = {"data_layout": "NC" + "DHW"[-(x.ndim - 2) :], "kernel_layout": "OI" + "DHW"[-(x.ndim - 2) :]}
    expect_close("graph.conv", [x, w], **properties, **layouts)


@given(
    st.sampled_from(
        [
            ((4, 5), (5, 3)),
            ((2, 4, 5), (5, 3)),
            ((2, 3, 4, 5), (1, 5, 3)),
            ((2, 1, 4, 5), (3, 5, 2)),
            ((2, 4, 0), (0, 3)),
            ((0, 4, 5), (5, 3)),
            ((2, 3, 1, 5), (5, 1)),
            ((5,), (5, 3)),
        ]
    ),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_matmul(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], ta: bool, tb: bool, special: bool, seed: int
) -> None:
    a, b = numbers(seed, *shapes[0], special=special), numbers(seed + 1, *shapes[1])
    if min(a.ndim, b.ndim) < 2:
        ta = tb = False
    lhs, rhs = a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b
    expect_close("graph.matmul", [lhs, rhs], transpose_a=ta, transpose_b=tb)


@pytest.mark.parametrize("cut", [np.s_[:, ::2, ::2], np.s_[:, ::-1], np.s_[:, :1]])
def test_matmul_of_views(cut: Any) -> None:
    """Operands of any strides: steps, backwards, stretched, unaligned."""
    a = numbers(0, 2, 8, 10)[cut]
    b = np.broadcast_to(numbers(1, 6), (a.shape[-1], 6))
    expect_close("graph.matmul", [a, b])
    bytes_ = np.zeros(b.nbytes + 1, np.uint8)
    unaligned = bytes_[1:].view(np.float32).reshape(b.shape)
    unaligned[...] = b
    assert not unaligned.flags.aligned
    expect_close("graph.matmul", [a, unaligned])


def test_erf() -> None:
    """The error against that of Python is below 2e-7, and the special numbers are those of IEEE 754."""
    x = np.concatenate([np.linspace(-6, 6, 100_001), [1e30, -1e-30]]).astype(np.float32)
    with np.errstate(over="ignore"):
        (y,) = evaluate("graph.erf", [x], {}, quick=True)
    exact = np.array([math.erf(number) for number in x])
    assert np.abs(np.asarray(y, np.float64) - exact).max() < 2e-7
    (y,) = evaluate("graph.erf", [SPECIAL[:5]], {}, quick=True)
    np.testing.assert_array_equal(y, np.array([np.nan, 1, -1, -0.0, 0], np.float32))
    assert list(np.signbit(y[1:])) == [False, True, True, False]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (5, 7), (20_000,)])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(shape: tuple[int, ...], approximate: str) -> None:
    x = numbers(3, *shape, special=True)
    expect_close("graph.erf", [x])
    expect_close("graph.gelu", [x], approximate=approximate)
    expect_close("graph.gelu", [x.T], approximate=approximate)


@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=4),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_batch_norm(shape: list[int], axis: int, scaled: bool, special: bool, seed: int) -> None:
    axis %= len(shape)
    x = numbers(seed, *shape, special=special)
    mean, scale, bias = (numbers(seed + i, shape[axis]) for i in (1, 2, 3))
    variance = np.abs(numbers(seed + 4, shape[axis])) + np.float32(0.1)
    factors = [scale, bias] if scaled else [None, None]
    expect_close("graph.batch_norm", [x, mean, variance, *factors], eps=1e-5, axis=axis)


def test_batch_norm_of_blocks() -> None:
    """More channels than a block has."""
    x, vector = numbers(1, 2, 40, 64, 64), np.abs(numbers(2, 40)) + 1
    expect_close("graph.batch_norm", [x, vector, vector, vector, None], eps=1e-5, axis=1)


@st.composite
def pools(draw: st.DrawFn) -> tuple[F32, dict[str, Any]]:
    """An input and the properties of a pool with at least one window on each axis."""
    rank = draw(st.integers(1, 3))

    def per_axis(low: int, high: int, count: int = rank) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    kernel, strides, dilations, pads = (
        per_axis(1, 3),
        per_axis(1, 3),
        per_axis(1, 2),
        per_axis(0, 2, 2 * rank),
    )
    sizes = [
        max((k - 1) * d + 1 + more - before - after, 1)
        for k, d, more, before, after in zip(
            kernel, dilations, per_axis(0, 6), pads, pads[rank:], strict=False
        )
    ]
    kind = draw(st.sampled_from(["max", "avg", "lp"]))
    properties = {
        "kind": kind,
        "kernel": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "ceil": draw(st.booleans()),
        "count_include_pad": draw(st.booleans()),
        "indices": draw(st.sampled_from(["none", "row"])) if kind == "max" else "none",
        "data_layout": "NC" + "DHW"[-rank:],
    }
    x = numbers(draw(seeds), draw(st.integers(0, 2)), 3, *sizes, special=draw(st.booleans()))
    return x, properties


@given(pools())
def test_pool(case: tuple[F32, dict[str, Any]]) -> None:
    x, properties = case
    expect_close("graph.pool", [x], **properties)


def test_pool_of_blocks() -> None:
    """More planes than a block has, and a maximum of NaN alone."""
    x = numbers(1, 2, 40, 64, 64)
    x[0, 3] = np.nan
    window = {"kernel": [3, 3], "strides": [2, 2], "dilations": [1, 1], "pads": [1, 1, 1, 1]}
    for kind in ("max", "avg"):
        expect_close("graph.pool", [x], kind=kind, **window)


@pytest.mark.parametrize(
    ("data", "kernel", "out"),
    [("NHWC", "HWIO", "NHWC"), ("NCHW4c", "OIHW4i8o", "NCHW8c"), ("NCHW", "OIHW8o", "NCHW8c")],
)
def test_conv_in_other_layouts(data: str, kernel: str, out: str) -> None:
    plain_x, plain_w = parse_layout("NCHW"), parse_layout("OIHW")
    x = to_layout(numbers(1, 2, 8, 6, 5), plain_x, parse_layout(data))
    w = to_layout(numbers(2, 16, 8, 3, 3), plain_w, parse_layout(kernel))
    windows = {"strides": [1, 2], "dilations": [1, 1], "pads": [1, 1, 1, 1]}
    layouts = {"data_layout": data, "kernel_layout": kernel, "out_layout": out}
    expect_close("graph.conv", [x, w], **windows, **layouts)


def test_conv_of_blocks() -> None:
    """More columns and more planes than a block has."""
    windows = {"strides": [1, 1], "dilations": [1, 1], "pads": [1, 1, 1, 1]}
    expect_close("graph.conv", [numbers(1, 1, 32, 40, 40), numbers(2, 8, 32, 3, 3)], **windows)
    expect_close("graph.conv", [numbers(1, 1, 64, 40, 40), numbers(2, 64, 1, 3, 3)], **windows, groups=64)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
def test_other_types_have_the_bits_of_the_meaning(dtype: type[np.generic]) -> None:
    x, w = numbers(1, 1, 4, 6, 6).astype(dtype), numbers(2, 3, 4, 3, 3).astype(dtype)
    windows = {"strides": [1, 1], "dilations": [1, 1], "pads": [1, 1, 1, 1]}
    for name, operands, properties in (
        ("graph.conv", [x, w], windows),
        ("graph.matmul", [x, x], {}),
        ("graph.relu", [x], {}),
    ):
        (expected,), (found,) = (evaluate(name, operands, properties, quick=q) for q in (False, True))
        np.testing.assert_array_equal(found, expected, strict=True)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=3), st.integers(-1, 1), st.booleans(), seeds)
def test_softmax(shape: list[int], axis: int, special: bool, seed: int) -> None:
    axis = min(axis, len(shape) - 1) % len(shape)
    x = numbers(seed, *shape, special=special)
    expect_close("graph.softmax", [x], axis=axis)
    expect_close("graph.softmax", [x.T], axis=axis)


@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=4),
    st.integers(0, 3),
    st.sampled_from(["none", "row", "last", "scale"]),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_layer_norm(
    shape: list[int], axis: int, given: str, statistics: bool, special: bool, seed: int
) -> None:
    axis %= len(shape)
    x = numbers(seed, *shape, special=special)
    row = shape[axis:] if given == "row" else shape[-1:]
    parameters = [numbers(seed + 1, *row), None if given == "scale" else numbers(seed + 2, *row)]
    sizes = [1, int(statistics), int(statistics)]
    types = {"compute_type": np.dtype(np.float32), "resultSegmentSizes": sizes}
    operands = [x] if given == "none" else [x, *parameters]
    expect_close("graph.layer_norm", operands, axis=axis, eps=1e-5, **types)


def test_rows_of_blocks() -> None:
    """More rows than a block has."""
    x = numbers(1, 3, 700, 96)
    types = {"compute_type": np.dtype(np.float32), "resultSegmentSizes": [1, 0, 0]}
    expect_close("graph.softmax", [x], axis=2)
    expect_close("graph.layer_norm", [x, x[0, 0], x[0, 1]], axis=2, eps=1e-5, **types)


@given(
    st.sampled_from([(), (2,), (2, 3)]),
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from(["none", "row", "whole", "hidden"]),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_attention(
    heads: tuple[int, ...], queries: int, keys: int, mask: str, zero_masked: bool, special: bool, seed: int
) -> None:
    """Masks of a row for all, of each head, and ones that hide all keys of a query."""
    q = numbers(seed, *heads, queries, 4, special=special)
    k, v = numbers(seed + 1, *heads[1:], keys, 4), numbers(seed + 2, *heads, keys, 3)
    masks: dict[str, F32 | None] = {
        "none": None,
        "row": numbers(seed + 3, keys),
        "whole": numbers(seed + 3, *heads, queries, keys),
        "hidden": np.where(np.arange(queries)[:, None] == 1, np.float32(-np.inf), np.float32(0)),
    }
    expect_close("graph.attention", [q, k, v, masks[mask]], scale=0.5, zero_masked=zero_masked)


def test_attention_of_blocks() -> None:
    """More queries than a block has."""
    q, k = numbers(1, 2, 300, 8), numbers(2, 2, 512, 8)
    expect_close("graph.attention", [q, k, k], scale=0.3)


@given(
    st.sampled_from(["lstm", "gru", "rnn"]),
    st.sampled_from(["forward", "reverse", "bidirectional"]),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sets(st.sampled_from(["bias", "state", "linear", "clip", "special", "lengths", "peepholes"])),
    seeds,
)
def test_rnn(cell: str, direction: str, steps: int, batch: int, options: set[str], seed: int) -> None:
    directions, hidden = 1 + (direction == "bidirectional"), 5
    rows = hidden * {"lstm": 4, "gru": 3, "rnn": 1}[cell]
    x = numbers(seed, steps, batch, 3, special="special" in options)
    w, r = numbers(seed + 1, directions, rows, 3), numbers(seed + 2, directions, rows, hidden)
    b = numbers(seed + 3, directions, 2 * rows) if "bias" in options else None
    h, c = (numbers(seed + i, directions, batch, hidden) if "state" in options else None for i in (4, 5))
    lengths = np.arange(batch, dtype=np.int32) if "lengths" in options else None
    is_lstm = cell == "lstm"
    peepholes = numbers(seed + 6, directions, 3 * hidden) if is_lstm and "peepholes" in options else None
    functions = {"lstm": ["sigmoid", "tanh", "tanh"], "gru": ["sigmoid", "tanh"], "rnn": ["tanh"]}[cell]
    constants = [0.0] * len(functions) * directions
    expect_close(
        "graph.rnn",
        [x, w, r, b, lengths, h, c if is_lstm else None, peepholes],
        cell=cell,
        direction=direction,
        activations=functions * directions,
        alphas=constants,
        betas=constants,
        clip=0.5 if "clip" in options else None,
        linear_before_reset=cell == "gru" and "linear" in options,
    )


def test_quicker_forms_take_all_properties_of_their_meanings() -> None:
    """A property that the quicker form lacks would be an error of a model's first answer alone."""
    name = "graph.attention"
    evaluate(name, [np.ones((1, 2, 4), np.float32)] * 3, {"scale": 1.0}, quick=True)  # all forms are loaded
    assert "graph.conv" in _QUICK_FORMS
    for name, form in _QUICK_FORMS.items():
        assert has_meaning(name)
        found, wanted = (signature(each).parameters for each in (form, _MEANINGS[name]))
        keywords = {each for each, about in wanted.items() if about.kind is Parameter.KEYWORD_ONLY}
        takes_any = any(about.kind is Parameter.VAR_KEYWORD for about in found.values())
        assert takes_any or keywords <= set(found), (name, keywords - set(found))


def test_attention_by_pairs_is_left_to_its_meaning() -> None:
    q, k = numbers(1, 2, 3, 8), numbers(2, 2, 5, 8)
    expect_close("graph.attention", [q, k, k], scale=0.3, pairs=True)
