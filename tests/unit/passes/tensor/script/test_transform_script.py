"""Schedules as scripts of MLIR's transform dialect: upstream's interpreter carries them out."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from xdsl.dialects.builtin import StringAttr

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import AT, NAME, SCHEDULE, Schedule
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes import run_pipeline
from tests.support.kernels import product


def _carried_out(text: str, decide: Callable[[Structured], None]) -> tuple[str, str]:
    """A kernel before and after upstream has carried its schedules out."""
    pytest.importorskip("torch_mlir.dialects.transform.interpreter", reason="torch-mlir is not installed")
    ir: Any = import_module("torch_mlir.ir")
    interpreter: Any = import_module("torch_mlir.dialects.transform.interpreter")
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    payload = re.sub(r" attributes \{.*?\} \{", " {", str(module))
    for op in module.walk():
        if (view := Structured.of(op)) is not None:
            decide(view)
    run_pipeline(module, "export-transform-script", ctx)
    with ir.Context():
        script, kernel = ir.Module.parse(str(module)), ir.Module.parse(payload)
        interpreter.apply_named_sequence(kernel, next(iter(script.body.operations)), script)
        return payload, str(kernel)


def test_upstream_builds_the_loops_of_a_schedule() -> None:
    def decide(view: Structured) -> None:
        if view.rank == 3:
            view.op.attributes[SCHEDULE] = Schedule((8, 16, 4), parallel=(1, 0), vectorize=1).attr()

    payload, text = _carried_out(product("m, n, k", "m, k", "k, n", "m, n", m=32, n=48, k=128), decide)
    assert text.count("scf.forall (") == 2 and text.count("scf.for ") == 1
    assert "vector<8x16xf32>" in text
    assert text.count("linalg.generic") == payload.count("linalg.generic") - 1


_CHAIN = """
#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %e = tensor.empty() : tensor<32x48xf32>
  %p = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  %c = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  func.return %c : tensor<32x48xf32>
}
"""


def test_upstream_computes_producers_in_loops_and_writes_loops_out() -> None:
    def decide(view: Structured) -> None:
        if "math.exp" in str(view.op):
            view.op.attributes[AT] = StringAttr("c")
        else:
            view.op.attributes |= {
                NAME: StringAttr("c"),
                SCHEDULE: Schedule((8, 12), parallel=(0,), unroll=(1,)).attr(),
            }

    _, text = _carried_out(_CHAIN, decide)
    loop = text[text.index("scf.forall (") : text.index("scf.forall.in_parallel")]
    assert loop.count("math.exp") == 1 and loop.count("math.sqrt") == 4  # of 48 columns by 12
    assert text.count("scf.forall (") == 1 and "scf.for " not in text
