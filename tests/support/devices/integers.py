"""Quantized models by the numpy meaning of each op, with requantization in integers."""

from pathlib import Path
from typing import Any

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.formats import read_model
from stepwell.lowering.interpret import interpret
from stepwell.passes.graph_pipeline import graph_steps
from stepwell.passes.manager import run_pipeline
from stepwell.passes.pipelines import text_of
from stepwell.runtime.machine.target import target_from


def interpreted(path: Path, x: Any, more: str = ",requantize-in-integers") -> Any:
    """The output of a model, by the numpy meaning of each op; requantization is in integers."""
    ctx = StepwellContext()
    module = read_model(path, ctx)
    names = text_of(graph_steps(1, target_from(), "off"))
    before = names.partition(",legalize")[0]
    run_pipeline(module, f"convert-onnx-to-graph,{before}{more}", ctx)
    return interpret(module, ctx, "main", [x])[0]
