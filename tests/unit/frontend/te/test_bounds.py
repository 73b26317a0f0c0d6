"""Bounds of random indices: what is proved holds at all points, a point of what is refused is outside."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from stepwell import StepwellError, te
from stepwell.frontend.te.expressions import Axis, Expr, Number
from stepwell.frontend.te.index_proofs import point_outside, proves_inside
from stepwell.runtime.dims import Dim


def drawn(random: Random, axes: list[Axis], depth: int = 3) -> tuple[Expr, str]:
    """A random index, and its text for Python."""
    if depth == 0 or random.random() < 0.2:
        if random.random() < 0.3:
            number = random.randrange(-2, 6)
            return Number(number, "int64"), f"({number})"
        axis = random.choice(axes)
        return axis, axis.name
    (a, left), (b, right) = (drawn(random, axes, depth - 1) for _ in range(2))
    by = random.randrange(1, 6)
    match random.randrange(7):
        case 0:
            return a + b, f"({left} + {right})"
        case 1:
            return a - b, f"({left} - {right})"
        case 2:
            return a * by, f"({left} * {by})"
        case 3:
            return a // by, f"({left} // {by})"
        case 4:
            return a % by, f"({left} % {by})"
        case 5:
            return te.minimum(a, b), f"min({left}, {right})"
        case _:
            return te.select(a < b, a, b + by), f"({left} if {left} < {right} else {right} + {by})"


def test_random_indices_by_enumeration() -> None:
    random, proved = Random(5), 0
    for _ in range(300):
        axes = [Axis(name, Dim.of(random.randrange(1, 7))) for name in ("i", "j")]
        index, text = drawn(random, axes)
        extent = random.randrange(1, 12)
        points = product(*(range(axis.extent.value) for axis in axes))
        values = [eval(text, {"min": min}, dict(zip("ij", at, strict=True))) for at in points]  # noqa: S307
        is_inside = all(0 <= value < extent for value in values)
        found = proves_inside(index, Dim.of(extent), {})
        proved += found
        assert found == is_inside, (text, extent)  # few points: all are tried
        if not is_inside:
            point = point_outside(index, Dim.of(extent))
            assert point is not None
            value = eval(text, {"min": min}, {"i": 0, "j": 0, **point.axes})  # noqa: S307
            assert point.value == value
            assert not 0 <= value < extent
    assert 30 < proved < 270


def test_many_points_are_proved_by_the_analyzer_alone() -> None:
    random, proved = Random(6), 0
    for _ in range(60):
        axes = [Axis("i", Dim.of(500)), Axis("j", Dim.of(400))]
        index, text = drawn(random, axes)
        extent = random.choice([5, 600, 1000, 3000])
        if proves_inside(index, Dim.of(extent), {}):
            i, j = np.meshgrid(np.arange(500), np.arange(400), indexing="ij")
            names = {"i": i, "j": j, "min": np.minimum}
            if " if " not in text:
                value = eval(text, names)  # noqa: S307
                assert np.all((value >= 0) & (value < extent)), (text, extent)
                proved += 1
    assert proved > 5


def test_checked_reads_end_the_call() -> None:
    n = te.var("n")
    table, at = te.placeholder((8, 4), name="table"), te.placeholder((n, 2), "int32", name="at")
    r = te.reduce_axis((0, 2), "r")
    total = te.compute(
        (n, 4),
        lambda i, j: te.sum(te.checked(table[te.cast(at[i, r], "int64") + 1, j]), axis=r),
        name="total",
    )
    model = te.build([table, at], total, threads=1)
    rows = np.arange(32, dtype=np.float32).reshape(8, 4)
    for indices in (np.array([[0, 6], [-1, 2]], np.int32), np.zeros((0, 2), np.int32)):
        wanted = rows[indices + 1].sum(axis=1)
        np.testing.assert_array_equal(model(rows, indices), wanted)
        np.testing.assert_array_equal(te.interpret([table, at], total, rows, indices)[0], wanted)
    for bad, found in (([[0, 7]], 8), ([[-2, 0]], -1)):
        for run in (model, lambda *arrays: te.interpret([table, at], total, *arrays)):
            with pytest.raises(StepwellError) as error:
                run(rows, np.array(bad, np.int32))
            assert error.value.code == "index-out-of-range"
            assert "table[te.cast(at[i, r], int64) + 1, j] lies outside" in error.value.message
            assert f"found {found} and 8" in str(error.value)
