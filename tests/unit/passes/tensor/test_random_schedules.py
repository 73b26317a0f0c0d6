"""Schedules of a random sample, read from text: the legal ones compute what the kernel means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import SCHEDULE, Schedule
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
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
from tests.support.samples import examples
from tests.support.validate import Validation

_STEPS = "tile-and-fuse,vectorize,hoist-accumulators,unroll-vectors{mcpu=x86-64-v3},bufferize,linalg-to-loops"
_TILES = (0, 0, 1, 2, 3, 4, 5, 8, 16, 300, (1 << 31) - 1)
_KERNELS = {
    "matmul": matmul(5, 2, 8, 3),
    "matmul, rows at run time": matmul("M", 2, 8, 3),
    "product": product("m, n, k", "m, k", "k, n", "m, n", m=5, n=9, k=4),
    "depthwise": depthwise(1, 3, 4, 8, 2, 1),
    "pool": pool(1, 2, 3, 8, 2, 2),
    "padded windows": padded(3, 4, 8, 1),
    "softmax": softmax(3, 10),
    "softmax, at run time": softmax("N", "C"),
    "sum of leading loops": accumulate("i, j, k", "i, j, k", "k", i=3, j=4, k=9),
    "sum of trailing loops": accumulate("i, j, k", "i, j, k", "i", i=3, j=4, k=9),
    "elementwise": elementwise("i, j", "i, j", "j", i=5, j=9),
    "transpose": transpose(5, 9),
}


def _schedule(draw: Callable[..., Any], op: Structured) -> Schedule:
    """Tiles that divide, do not, and are larger; any order with some parallel loops first; any lanes."""
    tile = tuple(draw(st.sampled_from(_TILES)) for _ in range(op.rank))
    tiled = draw(st.permutations([d for d, size in enumerate(tile) if size]))
    shared = [d for d in tiled if op.parallel[d] and draw(st.booleans())]
    order = (*shared, *(d for d in tiled if d not in shared))
    return Schedule(tile, order, tuple(shared), draw(st.sampled_from([None, *range(op.rank)])))


@examples(60)
@given(data=st.data())
def test_legal_schedules_compute_what_the_kernel_means(data: st.DataObject) -> None:
    ctx = StepwellContext()
    module = parse_module(ctx, _KERNELS[data.draw(st.sampled_from(list(_KERNELS)))])
    run_pipeline(module, data.draw(st.sampled_from(["generalize-copies", "collapse-loops"])), ctx)
    for op in module.walk():
        if (view := Structured.of(op)) is not None and data.draw(st.booleans()):
            op.attributes[SCHEDULE] = _schedule(data.draw, view).attr()
    validation = Validation(str(module))
    try:
        validation.run(_STEPS)
    except StepwellError as error:
        assert error.code == "bad-schedule" and error.notes, error


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("tile = [2, 0], parallel = [0]", "the op has 3 loops, the schedule has 2 tiles"),
        ("tile = [2, 0, 1], parallel = [2]", "loop 2 is a reduction, its iterations are not independent"),
        ('form = "blocks"', "forms are for ops of linalg_ext, linalg.generic takes tiles"),
        ("tile = [0, 0, 4096], vectorize = 2", "loop 2, a reduction, has at most 2048 lanes, found 4096"),
    ],
)
def test_schedules_that_an_op_cannot_have(schedule: str, words: str) -> None:
    ctx = StepwellContext()
    text = product("m, n, k", "m, k", "k, n", "m, n", m=5, n=9, k=4)
    outs = "outs(%zero : tensor<5x9xf32>) "
    text = text.replace(outs, f"{outs} attrs = {{{SCHEDULE} = #sched.schedule<{schedule}>}} ")
    with pytest.raises(StepwellError) as refused:
        run_pipeline(parse_module(ctx, text, "k.mlir"), _STEPS, ctx)
    assert refused.value.code == "bad-schedule" and words in str(refused.value)
    assert "k.mlir:" in refused.value.where and f"<{schedule}>" in refused.value.notes[0]
