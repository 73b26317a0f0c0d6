"""Whole models compute the same at level 1, at level 2, and at level 3 with everything in one arena."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.base import Numerics
from stepwell.tools.check.function_inputs import inputs_of_function
from stepwell.tools.check.judgement import judged

_MODELS = Path(__file__).parents[2] / "models"
_TO_KERNELS = "convert-onnx-to-graph,simplify-inference,fold-constant,dynamic-to-static,fuse-ops"


@pytest.mark.parametrize("name", ["gru_seq", "silero_seq"])
def test_levels_agree(name: str) -> None:
    ctx = StepwellContext()
    module = import_onnx(str(_MODELS / f"{name}.onnx"), ctx)
    run_pipeline(module, _TO_KERNELS, ctx)
    main = next(f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == "main")
    inputs = inputs_of_function(main)
    expected = interpret(module, ctx, "main", inputs)
    for pipeline in ("convert-graph-to-linalg", "choose-forms,expand-forms", "bufferize,plan-memory"):
        run_pipeline(module, pipeline, ctx)
        found = interpret(module, ctx, "main", inputs)
        assert judged(expected, found, Numerics.ROUNDING).right
