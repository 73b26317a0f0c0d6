"""Schedules of a random sample, read from text: the legal ones compute what the kernel means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import SCHEDULE
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
from tests.support.kernels import product
from tests.support.random_schedules import kernel_with_schedules
from tests.support.samples import examples
from tests.support.validate import Validation

_STEPS = "tile-and-fuse,vectorize,hoist-accumulators,unroll-vectors{mcpu=x86-64-v3},bufferize,linalg-to-loops"


@examples(60)
@given(data=st.data())
def test_legal_schedules_compute_what_the_kernel_means(data: st.DataObject) -> None:
    validation = Validation(str(kernel_with_schedules(data.draw, StepwellContext())))
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
