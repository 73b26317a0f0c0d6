"""A wrong pass on a kernel that is run in part: it alone differs, on any sample of the passes after it."""

from __future__ import annotations

import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import run_pipeline
from stepwell.passes.base import Numerics
from stepwell.passes.pipelines import SCHEDULE_PIPELINE
from stepwell.tools.check import validation
from stepwell.tools.check.function_inputs import inputs_of_function
from stepwell.tools.check.rows import Status
from stepwell.tools.check.validation import Known, Validate
from tests.support.kernels import matmul

RIGHT, WRONG = "arith.maximumf", "arith.minimumf"


@pytest.mark.parametrize("then_whole", [False, True])
def test_the_wrong_pass_alone_differs(then_whole: bool) -> None:
    ctx = StepwellContext()
    before = parse_module(ctx, matmul(37, 5, 16, 24))
    kernel = next(iter(before.ops))
    inputs = inputs_of_function(kernel)  # pyright: ignore[reportArgumentType]
    wanted = validation.interpret(before, ctx, "k", inputs)
    run_pipeline(before, SCHEDULE_PIPELINE, ctx)
    wrong = parse_module(ctx, str(before).replace(RIGHT, WRONG))
    instrument = Validate(ctx, {"k": Known(inputs, wanted)}, max_ops=3_000)
    (right,) = instrument.judge(before, "first", Numerics.ROUNDING)
    assert right.status is Status.RIGHT and (right.covered or 0) < 1
    (guilty,) = instrument.judge(wrong, "guilty", Numerics.ROUNDING)
    assert guilty.status is Status.DIFFERS and (guilty.covered or 0) < 1
    if then_whole:
        instrument._max_ops = 1 << 40  # pyright: ignore[reportPrivateUsage]
        instrument._first_sample = 0  # pyright: ignore[reportPrivateUsage]
    (later,) = instrument.judge(wrong, "later", Numerics.ROUNDING)
    assert later.status is Status.RIGHT and 0 < (later.covered or 0) < 1
    (last,) = instrument.judge(wrong, "last", Numerics.ROUNDING)
    assert last.status is Status.RIGHT and (last.covered == 1) == then_whole
    (mended,) = instrument.judge(before, "mended", Numerics.ROUNDING)
    assert mended.status is Status.DIFFERS
