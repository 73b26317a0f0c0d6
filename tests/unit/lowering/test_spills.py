"""Registers: what follows a product inside its kernel may not push the sums out of theirs."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.machine import emit_assembly, vector_spills
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import LLVM_PIPELINE, LOOP_PIPELINE, SCHEDULE_PIPELINE
from stepwell.runtime.machine.target import target_from

KERNEL = """
func.func @main(%x: tensor<{rows}x96xf32>, %w: tensor<24x96x32xf32>, %b: tensor<768xf32>)
    -> tensor<{rows}x768xf32> {{
  %r = graph.fused (%a = %x : tensor<{rows}x96xf32>, %c = %w : tensor<24x96x32xf32>,
                    %d = %b : tensor<768xf32>) -> (tensor<{rows}x768xf32>) {{
    %m = graph.matmul %a, %c packing 32
      : (tensor<{rows}x96xf32>, tensor<24x96x32xf32>) -> tensor<{rows}x768xf32>
    %s = graph.add %m, %d : (tensor<{rows}x768xf32>, tensor<768xf32>) -> tensor<{rows}x768xf32>
    %y = graph.{activation} %s {option}: tensor<{rows}x768xf32> -> tensor<{rows}x768xf32>
    graph.yield %y : tensor<{rows}x768xf32>
  }}
  func.return %r : tensor<{rows}x768xf32>
}}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("activation", "option"), [("relu", ""), ("gelu", 'approximate "none" '), ("tanh", "")]
)
@pytest.mark.parametrize("rows", [128, 197])  # the last tile of 197 rows is one of its own
def test_an_epilogue_leaves_the_sums_their_registers(activation: str, option: str, rows: int) -> None:
    ctx = StepwellContext()
    ctx.target = target = target_from("x86-64-v4")
    module = parse_module(ctx, KERNEL.format(activation=activation, option=option, rows=rows))
    run_pipeline(module, "convert-graph-to-linalg", ctx)
    kernel = next(op for op in module.ops if isinstance(op, FuncOp) and is_kernel(op))
    kernel.detach()
    alone = ModuleOp([kernel])
    run_pipeline(alone, f"{SCHEDULE_PIPELINE},{LOOP_PIPELINE},{LLVM_PIPELINE}", ctx)
    assembly = emit_assembly(emit_llvm(alone), target, optimize=False)
    # The loops of the sums: the only ones with so many multiply-adds of that form.
    loops = [text for text in assembly.split("jl\t") if text.count("vfmadd231ps") >= 12]
    assert loops
    for sums in loops:
        assert vector_spills(sums[sums.rindex(".LBB") :]) == 0
