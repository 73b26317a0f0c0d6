"""Rows of floats as three digits: the bound of rounding to 24 bits, limits of sums and scales."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell as sw
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.sched import SCHEDULE, Schedule
from stepwell.passes import run_pipeline
from stepwell.runtime.meaning.packed_codes import pack_codes, panels_of
from tests.kernels import kernel
from tests.support.samples import examples

PANEL = 8


def product(x: Any, codes: Any, block: int, points: Any = None, form: str = "digits", bits: int = 4) -> Any:
    """The product of rows with codes [columns, K] in blocks whose scale is 1, by a form, in machine code."""
    columns, steps = codes.shape
    blocks = -(-steps // block)
    packed = pack_codes(codes, bits, PANEL, blocks * block)
    arrays = [x, packed, panels_of(np.ones((columns, blocks), np.float32), PANEL)]
    if points is not None:
        arrays.append(panels_of(points, PANEL))
    build = partial(graph.MatmulNbitsOp, columns=columns, bits=bits, block=block)
    module, ctx = kernel(build, arrays, None), StepwellContext()
    run_pipeline(module, "convert-graph-to-linalg", ctx)
    (op,) = (op for op in module.walk() if isinstance(op, MatmulNbitsOp))
    op.attributes[SCHEDULE] = Schedule(form=form, sizes=()).attr()
    return sw.parse(str(module)).compile(threads=1)(*arrays)


def expect_rounded(
    found: Any, x: npt.NDArray[np.float32], weights: npt.NDArray[np.float64], width: int
) -> None:
    """Require errors of 2^-23 of the greatest number in each part, and of a few sums in f32."""
    wide = np.pad(x.astype(float), ((0, 0), (0, -x.shape[1] % width)))
    greatest = np.abs(wide.reshape(len(x), -1, width)).max(-1)
    greatest = np.repeat(greatest, width, 1)[:, : x.shape[1]]
    sums = 2 * greatest.shape[1] / width + 3
    bound = 2.0**-23 * greatest @ np.abs(weights).T + sums * 2.0**-24 * np.abs(x) @ np.abs(weights).T
    assert (np.abs(found - x.astype(float) @ weights.T) <= bound).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize("bits", [2, 4])
@examples(12)
@given(data=st.data())
def test_errors_are_those_of_rounding_to_24_bits(bits: int, data: st.DataObject) -> None:
    """Numbers of very different magnitudes; blocks of one part or several; zero points or none."""
    block = data.draw(st.sampled_from([16, 32, 48, 64, 256]))
    rows, steps, columns = (data.draw(st.integers(1, most)) for most in (5, 300, 20))
    rng, blocks = np.random.default_rng(data.draw(st.integers(0, 9))), -(-steps // block)
    x = rng.standard_normal((rows, steps)) * 10.0 ** rng.integers(-9, 9, (rows, steps))
    codes = rng.integers(0, 1 << bits, (columns, steps)).astype(np.uint8)
    drawn = rng.integers(0, 1 << bits, (columns, blocks)).astype(np.uint8)
    points = drawn if data.draw(st.booleans()) else None
    middle = np.full((columns, blocks), 1 << bits - 1) if points is None else points
    weights = codes.astype(float) - np.repeat(middle, block, 1)[:, :steps]
    x = x.astype(np.float32)
    found = product(x, codes, block, points, bits=bits)
    # Zero points meet the sum of a part: the bound is that of both sums.
    spread = np.abs(codes.astype(float) - (1 << bits - 1)) + (1 << bits - 1) * (points is not None)
    wider = np.maximum(np.abs(weights), spread) * np.where(weights < 0, -1, 1)
    expect_rounded(found + x.astype(float) @ (wider - weights).T, x, wider, 16 if block % 32 else 32)


@pytest.mark.parametrize("block", [32, 64])
def test_the_greatest_sums_fit_32_bits(block: int) -> None:
    """All numbers are the greatest of their exponent and all codes the least one: no sum changes its sign."""
    most = np.nextafter(np.float32(2), np.float32(0))
    x = np.stack([np.full(block, sign * most, np.float32) for sign in (1, -1)])
    codes = np.stack([np.full(block, code, np.uint8) for code in (0, 15)])
    wanted = x.astype(float) @ (codes.astype(float) - 8).T
    np.testing.assert_allclose(product(x, codes, block), wanted, rtol=2.0**-22)


def test_integers_are_exact() -> None:
    """Each digit counts, and the middle one and the last have no sign."""
    x = np.array([[0x7FFFFF, -0x7FFFFF, 0x7F80FF, -0x0080FF, 0xFF00, -0xFF, 1, -1, *[0] * 24]], np.float32)
    codes = 8 + np.eye(8, 32, dtype=np.uint8)
    assert product(x, codes, 32).tolist() == x[:, :8].tolist()


def test_small_and_large_numbers() -> None:
    """Parts of zeros and of denormal numbers; scales at both ends."""
    x = np.zeros((5, 32), np.float32)
    x[1], x[2, 5], x[3] = 1e-40, 3e38, -(2.0 ** np.arange(-100, -68))
    x[4] = 2.0**-110
    codes = np.random.default_rng(0).integers(0, 16, (9, 32)).astype(np.uint8)
    weights = codes.astype(float) - 8
    weights[:, 5] = np.sign(weights[:, 5])  # 3e38 times more is infinite
    codes[:, 5] = weights[:, 5] + 8
    found = product(x, codes, 32)
    assert not found[0].any() and np.abs(found[1]).max() <= 2.0**-126 * 32
    expect_rounded(found[2:4], x[2:4], weights, 32)
    np.testing.assert_array_equal(found[4], weights.sum(1) * 2.0**-110)


@pytest.mark.parametrize("form", ["digits", "digits-or-panels"])
def test_rows_with_infinity(form: str) -> None:
    """Such a row has no digits: it is NaN, or the product of floats; others are right."""
    x = np.ones((3, 64), np.float32)
    x[0, 40], x[1, 3] = np.inf, np.nan
    codes = np.full((4, 64), 9, np.uint8)
    found = product(x, codes, 32, form=form)
    first = np.nan if form == "digits" else np.inf
    np.testing.assert_array_equal(found[:, 0], [first, np.nan, 64])
