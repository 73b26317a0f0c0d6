"""Tile registers (Intel AMX): sums of the interpreter, the machine code, and when they are granted."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.arith import DotBytesOp
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.interpret import interpret
from stepwell.lowering.kernels.machine import emit_assembly
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_ONNX, LLVM_PIPELINE, LOOP_PIPELINE, SCHEDULE_PIPELINE
from stepwell.runtime.machine import tile_check, tile_permission
from stepwell.runtime.machine.target import granted_features, target_from
from stepwell.runtime.meaning import Array
from tests.onnx_models import imported, onnx_model
from tests.support.pipelines import graph_pipeline

KERNEL = """
func.func @main(%x: tensor<{m}x{k}xi32>, %w: tensor<{panels}x{k}x{width}xi32>, %s: tensor<{n}xf32>)
    -> tensor<{m}x{n}xf32> {{
  %y = graph.fused (%a = %x : tensor<{m}x{k}xi32>, %b = %w : tensor<{panels}x{k}x{width}xi32>,
                    %t = %s : tensor<{n}xf32>) -> (tensor<{m}x{n}xf32>) {{
    %h = graph.matmul_integer %a, %b
      : (tensor<{m}x{k}xi32>, tensor<{panels}x{k}x{width}xi32>) -> tensor<{m}x{n}xi32>
    %f = graph.cast %h to f32 saturate true round "nearest" : tensor<{m}x{n}xi32> -> tensor<{m}x{n}xf32>
    %r = graph.multiply %f, %t : (tensor<{m}x{n}xf32>, tensor<{n}xf32>) -> tensor<{m}x{n}xf32>
    graph.yield %r : tensor<{m}x{n}xf32>
  }}
  func.return %y : tensor<{m}x{n}xf32>
}}
"""
SHAPES = [(50, 2, 32, 88), (33, 1, 48, 5), (17, 3, 8, 16), (9, 2, 16, 35), (64, 1, 32, 32)]


def _on_buffers(m: int, panels: int, width: int, k: int) -> tuple[StepwellContext, ModuleOp]:
    """The kernel at level 3, for a target with tile registers."""
    ctx = StepwellContext()
    ctx.target = target_from("sapphirerapids")
    text = KERNEL.format(m=m, panels=panels, width=width, k=k, n=panels * width)
    module = parse_module(ctx, text)
    run_pipeline(module, "convert-graph-to-linalg", ctx)
    kernel = next(op for op in module.ops if isinstance(op, FuncOp) and "sched.kernel" in op.attributes)
    kernel.detach()
    alone = ModuleOp([kernel])
    run_pipeline(alone, f"{SCHEDULE_PIPELINE},{LOOP_PIPELINE}", ctx)
    return ctx, alone


def _words(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-(2**31), 2**31, shape, np.int64).astype(np.int32)


@pytest.mark.parametrize(("m", "panels", "width", "k"), SHAPES)
def test_sums_are_exact(m: int, panels: int, width: int, k: int) -> None:
    rng = np.random.default_rng(k)
    a, b = _words(rng, m, k), _words(rng, panels, k, width)
    scale = rng.integers(1, 4, panels * width).astype(np.float32)
    ctx, module = _on_buffers(m, panels, width, k)
    assert any(op.name == "amx.tile_muli" for op in module.walk())
    assert not any(op.name == "arith.dot_bytes" for op in module.walk())
    unsigned = a.view(np.uint8).astype(np.int64)
    signed = b[..., None].view(np.int8).astype(np.int64)  # [panels, k, width, 4]
    columns = signed.transpose(1, 3, 0, 2).reshape(4 * k, -1)
    (found,) = interpret(module, ctx, "k0", [a, b, scale])
    assert np.array_equal(found, (unsigned @ columns).astype(np.float32) * scale)


CONV = (
    "g (uint8[N,{c},{h},{h}] x) => (int32[N,{f},{h},{h}] y) "
    "{{ y = ConvInteger<pads=[{p},{p},{p},{p}]>(x, w, z) }}"
)
MATMUL = "g (uint8[{m},{k}] x) => (int32[{m},{n}] y) {{ y = MatMulInteger(x, w, z) }}"
WHOLE = [
    # A convolution of single pixels; of windows with borders; rows of pixels shorter than a tile's use.
    (CONV.format(c=20, f=35, h=9, p=0), (2, 20, 9, 9), (35, 20, 1, 1), True),
    (CONV.format(c=16, f=32, h=10, p=1), (1, 16, 10, 10), (32, 16, 3, 3), True),
    (CONV.format(c=16, f=32, h=6, p=1), (1, 16, 6, 6), (32, 16, 3, 3), False),
    # Rows that are known at run time only: many, few, none; too few; odd numbers of everything.
    (MATMUL.format(m="M", k=64, n=48), (37, 64), (64, 48), True),
    (MATMUL.format(m="M", k=64, n=48), (3, 64), (64, 48), True),
    (MATMUL.format(m="M", k=64, n=48), (0, 64), (64, 48), True),
    (MATMUL.format(m=5, k=64, n=48), (5, 64), (64, 48), False),
    (MATMUL.format(m=33, k=67, n=35), (33, 67), (67, 35), True),
    (MATMUL.format(m=16, k=64, n=16), (16, 64), (64, 16), True),
]


@pytest.mark.parametrize(("text", "shape", "weights", "tiles"), WHOLE)
def test_models_run_in_tiles_or_in_vectors(
    text: str, shape: Sequence[int], weights: Sequence[int], tiles: bool
) -> None:
    """What the choosers leave to tile registers all gets there: no byte is multiplied alone."""
    rng = np.random.default_rng(3)
    model, x = onnx_model(text), rng.integers(0, 256, shape, np.uint8)
    w = rng.integers(-128, 128, weights, np.int8)
    model.graph.initializer.extend(
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.array(7, np.uint8), "z")]
    )
    module, ctx = imported(model)
    ctx.target = replace(target_from("sapphirerapids"), cores=2)
    run_pipeline(module, f"{FROM_ONNX},{graph_pipeline(2, ctx.target)}", ctx)
    run_pipeline(module, f"convert-graph-to-linalg,{SCHEDULE_PIPELINE}", ctx)
    run_pipeline(module, LOOP_PIPELINE.replace("bufferize", "bufferize,plan-memory"), ctx)
    assert any(op.name == "amx.tile_muli" for op in module.walk()) == tiles
    products = [op for op in module.walk() if isinstance(op, DotBytesOp)]
    assert bool(products) != tiles
    assert all(isinstance(op.result.type, VectorType) for op in products)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    (found,) = interpret(module, ctx, "main", [x.view(np.int8)])
    assert np.array_equal(found, expected)


def test_machine_code_configures_multiplies_and_releases() -> None:
    ctx, module = _on_buffers(50, 2, 32, 88)
    run_pipeline(module, LLVM_PIPELINE, ctx)
    assembly = emit_assembly(emit_llvm(module), ctx.target, optimize=False)
    used = [line.split()[0] for line in assembly.splitlines() if line.startswith("\ttile") or "tdp" in line]
    assert used.count("tdpbusd") == 16
    assert used.count("tilestored") == 8  # the sums of each block once, nothing in between
    assert used[-1] == "tilerelease"
    assert "vpdpbusd" not in assembly


@pytest.mark.parametrize(
    ("features", "answer", "granted"),
    [
        (["amx-int8", "amx-tile", "avx512vnni"], True, ["amx-int8", "amx-tile", "avx512vnni"]),
        (["amx-int8", "amx-tile", "avx512vnni"], False, ["avx512vnni"]),
        (["avx512vnni"], None, ["avx512vnni"]),
    ],
)
def test_tiles_need_the_systems_consent(
    features: Sequence[str], answer: bool | None, granted: Sequence[str]
) -> None:
    def ask() -> bool:
        assert answer is not None, "a processor without tiles has nothing to ask for"
        return answer

    assert list(granted_features(features, ask)) == granted


def test_other_targets_have_no_tiles() -> None:
    assert target_from("sapphirerapids").has_tile_products
    assert not target_from("x86-64-v4").has_tile_products


def test_the_check_before_use_is_machine_code() -> None:
    assert tile_check.loaded_product().address


@pytest.mark.parametrize(
    ("right", "faster", "refusal"),
    [(True, True, None), (True, False, "vectors are faster"), (False, True, "their sums are wrong")],
)
def test_tiles_are_used_when_right_and_fast(
    right: bool, faster: bool, refusal: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def permit(*_: object) -> int:
        return 0

    library = SimpleNamespace(syscall=permit)
    monkeypatch.setattr(tile_permission.ctypes, "CDLL", lambda _: library)
    monkeypatch.setattr(tile_permission.sys, "platform", "linux")
    monkeypatch.setattr(tile_permission.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(tile_check, "tiles_multiply", lambda: right)
    monkeypatch.setattr(tile_check, "tiles_are_faster", lambda: faster)
    assert tile_permission.tile_refusal.__wrapped__() == refusal


def test_the_timed_code_is_machine_code() -> None:
    assert tile_check.loaded(tile_check.TILE_SPEED, "speed", "+amx-tile,+amx-int8").address
    assert tile_check.loaded(tile_check.vector_speed(), "speed", "+avx512f,+avx512vnni").address


def test_loaded_code_stays_in_memory() -> None:
    code = tile_check.loaded("define i64 @next(i64 %x) {\n%y = add i64 %x, 1\nret i64 %y\n}", "next", "")
    gc.collect()
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address)(41) == 42
