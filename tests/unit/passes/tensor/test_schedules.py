"""Scheduled kernels mean what unscheduled ones do, after every pass, for extents that tiles divide or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kernels import (
    accumulate,
    depthwise,
    elementwise,
    matmul,
    padded,
    pool,
    product,
    softmax,
    transpose,
)
from tests.support.validate import Validation, run_before_after

_LOWERED = Path(__file__).parents[3] / "filecheck" / "graph" / "convert-graph-to-linalg"

# The passes of a schedule, in steps: a mistake shows at the pass that makes it.
_STEPS = (
    "stage-operands{{mcpu={mcpu}}},fill-borders,generalize-copies,collapse-loops,choose-schedules{{mcpu={mcpu}}}",
    "expand-forms",
    "tile-and-fuse",
    "vectorize",
    "hoist-accumulators",
    "unroll-vectors{{mcpu={mcpu}}}",
)

_SLOW = ("attention", "contraction", "convolution", "winograd")
"""Files whose kernels the interpreter takes seconds for: `make cases` runs them."""

_KERNELS = {
    "matmul": matmul(20, 3, 16, 9),
    "matmul, one row": matmul(1, 3, 16, 20),
    "matmul, narrow": matmul(9, 1, 10, 7),
    "matmul, rows at run time": matmul("M", 2, 16, 5),
    "matmul, sum at run time": matmul(15, 1, 16, "K"),
    "matmul, integers": matmul(15, 2, 16, 6, element="i32"),
    "matmul, batch": product("b, m, n, k", "b, m, k", "b, k, n", "b, m, n", b=3, m=7, n=37, k=5),
    "matmul, a transposed": product("m, n, k", "k, m", "k, n", "m, n", m=6, n=33, k=8),
    "matmul, b transposed": product("m, n, k", "m, k", "n, k", "m, n", m=5, n=7, k=50),
    "matmul, both transposed": product("m, n, k", "k, m", "n, k", "m, n", m=6, n=33, k=8),
    "matmul, b turned": product("m, n, k", "m, k", "n, k", "m, n", m=50, n=37, k=18),
    "matrix times vector": product("m, k", "m, k", "k", "m", m=9, k=100),
    "dot product": product("k", "k", "k", "", k=100),
    "outer product": product("m, n, k", "m, k", "n, k", "m, n", m=6, n=33, k=1),
    "conv": product(
        "o, h, w, oi, c, r, s, ci",
        "c, h + r, w + s, ci",
        "o, c, r, s, ci, oi",
        "o, h, w, oi",
        o=3, h=3, w=9, oi=16, c=2, r=3, s=3, ci=4,
    ),
    "conv, strided and dilated": product(
        "o, h, w, oi, c, r, s",
        "c, h * 2 + r * 2, w * 2 + s * 3",
        "o, c, r, s, oi",
        "o, h, w, oi",
        o=2, h=3, w=15, oi=8, c=3, r=2, s=3,
    ),
    "conv, lanes along the image": product(
        "o, h, w, c, r, s", "c, h + r, w + s", "o, c, r, s", "o, h, w", o=5, h=4, w=37, c=3, r=3, s=3
    ),
    "conv, strided lanes": product(
        "o, h, w, c, r, s", "c, h * 2 + r, w * 2 + s", "o, c, r, s", "o, h, w", o=3, h=2, w=18, c=2, r=3, s=3
    ),
    "filter, strided": product("w, k", "w * 2 + k", "k", "w", w=9, k=70),
    "conv, one point of four": product(
        "o, h, w, oi, c, r, s, ci",
        "c, h * 2 + r, w * 2 + s, ci",
        "o, c, r, s, ci, oi",
        "o, h, w, oi",
        o=33, h=2, w=3, oi=8, c=1, r=1, s=1, ci=2,
    ),
    "conv, one point": product(
        "o, h, w, oi, c, r, s, ci",
        "c, h + r, w + s, ci",
        "o, c, r, s, ci, oi",
        "o, h, w, oi",
        o=2, h=5, w=5, oi=16, c=2, r=1, s=1, ci=4,
    ),
    "depthwise": depthwise(2, 5, 9, 16, 3, 1),
    "depthwise, strided": depthwise(2, 4, 15, 8, 3, 2),
    "padded windows": padded(5, 9, 16, 1),
    "max pool": pool(2, 4, 9, 16, 3, 2),
    "softmax, row in registers": softmax(3, 37),
    "softmax, long row": softmax(3, 201),
    "softmax, at run time": softmax("N", "C"),
    "sum of leading loops": accumulate("i, j, k", "i, j, k", "k", i=5, j=4, k=37),
    "sum of trailing loops": accumulate("i, j, k", "i, j, k", "i", i=5, j=4, k=150),
    "sum of all": accumulate("i, j", "i, j", "", i=5, j=70),
    "elementwise": elementwise("i, j", "i, j", "j", i=5, j=70),
    "elementwise, merged": elementwise("c, h, w", "c, h, w", "c", c=3, h=7, w=7),
    "elementwise, at run time": elementwise("i, j", "i, j", "i", i="N", j="C"),
    "elementwise, no loops": elementwise("", "", ""),
    "transpose": transpose(20, 37),
    "transpose, bytes": transpose(37, 20, "i8"),
    "transpose, f64": transpose(5, 18, "f64"),
}  # fmt: skip


@pytest.mark.sample(6)
@pytest.mark.parametrize("mcpu", ["x86-64-v4", "x86-64-v2"])
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in _KERNELS.items()])
def test_scheduled_kernels_mean_the_same(text: str, mcpu: str) -> None:
    # In steps of one pass where the registers are small, all at once where they are large.
    steps = _STEPS if mcpu == "x86-64-v2" else [",".join(_STEPS)]
    validation = Validation(text)
    for step in steps:
        assert validation.run(step.format(mcpu=mcpu)) == ["k"]


def _lowered() -> Iterator[object]:
    for path in sorted(_LOWERED.glob("*.mlir")):
        yield pytest.param(path, marks=[pytest.mark.slow] if path.stem in _SLOW else [])


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", _lowered(), ids=lambda path: path.stem)
def test_lowered_ops_mean_the_same(path: Path) -> None:
    if path.stem.endswith("-invalid"):
        pytest.skip("made to be refused")
    if path.stem == "random-bits":
        pytest.skip("without uses, the op is in no kernel and is not lowered")
    pipeline = ",".join(("convert-graph-to-linalg", "sink-reshapes", *_STEPS)).format(mcpu="x86-64-v3")
    for text in re.split(r"^// -----$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        run_before_after(text, pipeline)
