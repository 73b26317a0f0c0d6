"""Tile registers (Intel AMX): sums of the interpreter, the machine code, and when they are granted."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.arith import DotBytesOp
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.interpret import interpret
from stepwell.lowering.kernels import tile_code
from stepwell.lowering.kernels.machine import emit_assembly
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_ONNX, LLVM_PIPELINE, LOOP_PIPELINE, SCHEDULE_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine import demands, tile_check, tile_permission
from stepwell.runtime.machine.demands import check_features, granted_features
from stepwell.runtime.machine.target import target_from
from stepwell.runtime.machine.tile_check import TileFunctions
from stepwell.runtime.machine.tile_permission import tile_refusal
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
SHAPES = [
    *[(50, 2, 32, 88), (33, 1, 48, 5), (17, 3, 8, 16), (9, 2, 16, 35), (64, 1, 32, 32)],
    # One and two more than whole tiles: of rows, of the sum, and a sum that is shorter than a tile.
    *[(17, 1, 16, 17), (34, 2, 16, 18), (18, 1, 16, 33), (33, 1, 16, 1), (16, 1, 32, 2)],
]


def _on_buffers(m: int, panels: int, width: int, k: int) -> tuple[StepwellContext, ModuleOp]:
    """The kernel at level 3, for a target with tile registers."""
    ctx = StepwellContext()
    ctx.target = target_from("sapphirerapids")
    text = KERNEL.format(m=m, panels=panels, width=width, k=k, n=panels * width)
    module = parse_module(ctx, text)
    run_pipeline(module, "convert-graph-to-linalg", ctx)
    kernel = next(op for op in module.ops if isinstance(op, FuncOp) and is_kernel(op))
    kernel.detach()
    alone = ModuleOp([kernel])
    run_pipeline(alone, f"{SCHEDULE_PIPELINE},{LOOP_PIPELINE}", ctx)
    return ctx, alone


def _words(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-(2**31), 2**31, shape, np.int64).astype(np.int32)


@pytest.mark.sample(3)
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


@pytest.mark.sample(3)
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


def address_of(callback: object) -> int:
    """The address of a function of ctypes."""
    return ctypes.cast(cast(Any, callback), ctypes.c_void_p).value or 0


def multiplier(wrong: int) -> TileFunctions:
    """Tile registers in Python, whose sums differ by `wrong`."""

    def product(configuration: int, a_at: int, b_at: int, c_at: int) -> None:
        a = np.ctypeslib.as_array((ctypes.c_uint8 * 1024).from_address(a_at)).reshape(16, 64)
        b = np.ctypeslib.as_array((ctypes.c_int8 * 1024).from_address(b_at)).reshape(16, 16, 4)
        c = np.ctypeslib.as_array((ctypes.c_int32 * 256).from_address(c_at)).reshape(16, 16)
        c[...] = np.einsum("ikp,kjp->ij", a.reshape(16, 16, 4).astype(np.int32), b.astype(np.int32))
        c[3, 5] += wrong

    callback = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(product)
    return TileFunctions(address_of(callback), 0, 0, callback)


def test_sums_of_tiles_are_compared() -> None:
    assert tile_check.tiles_multiply(multiplier(0))
    assert not tile_check.tiles_multiply(multiplier(1))


@pytest.mark.parametrize(("tiles_ms", "vectors_ms", "faster"), [(1, 3, True), (40, 0, False)])
def test_speeds_are_compared_per_product(
    tiles_ms: float, vectors_ms: float, faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
    slow = [function(lambda memory, steps, ms=ms: time.sleep(ms / 1e3)) for ms in (tiles_ms, vectors_ms)]
    monkeypatch.setattr(tile_check, "cpu_features", lambda: {"avx512vnni"})
    functions = TileFunctions(0, address_of(slow[0]), address_of(slow[1]))
    assert tile_check.tiles_are_faster(functions) == faster


def test_tiles_without_rivals_are_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_check, "cpu_features", lambda: {"avx2"})
    assert tile_check.tiles_are_faster(TileFunctions(0, 0, 0))


class System:
    """A system that permits tile registers, or not."""

    def __init__(self, status: int, monkeypatch: pytest.MonkeyPatch):
        library = SimpleNamespace(syscall=lambda *_: status)
        monkeypatch.setattr(tile_permission.ctypes, "CDLL", lambda _: library)
        monkeypatch.setattr(tile_permission.sys, "platform", "linux")
        monkeypatch.setattr(tile_permission.os, "uname", lambda: SimpleNamespace(machine="x86_64"))
        monkeypatch.setattr(tile_permission, "_verdicts", [])


@pytest.mark.parametrize(
    ("right", "faster", "refusal"),
    [(True, True, None), (True, False, "vectors are faster"), (False, True, "their sums are wrong")],
)
def test_tiles_are_used_when_right_and_fast(
    right: bool, faster: bool, refusal: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    System(0, monkeypatch)
    monkeypatch.setattr(tile_check, "tiles_multiply", lambda _: right)
    monkeypatch.setattr(tile_check, "tiles_are_faster", lambda _: faster)
    assert tile_refusal(TileFunctions(0, 0, 0)) == refusal
    monkeypatch.setattr(tile_check, "tiles_multiply", lambda _: not right)
    assert tile_refusal(TileFunctions(0, 0, 0)) == refusal  # of the process, once and for all


def test_a_system_may_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    System(-1, monkeypatch)
    assert tile_refusal(TileFunctions(0, 0, 0)) == "the system does not permit them"


def test_a_runtime_by_itself_waits_for_an_artifact_with_code(monkeypatch: pytest.MonkeyPatch) -> None:
    System(0, monkeypatch)
    monkeypatch.setattr(tile_permission, "COMPILER", "stepwell.nowhere")
    monkeypatch.setattr(tile_check, "tiles_are_faster", lambda _: True)
    assert tile_refusal() == "there is no code to try them with"
    assert tile_refusal(multiplier(0)) is None
    assert tile_refusal() is None


def test_code_for_tiles_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    System(0, monkeypatch)
    monkeypatch.setattr(demands, "cpu_features", lambda: frozenset({"amx-int8", "amx-tile"}))
    triple = demands.process_triple()
    with pytest.raises(StepwellError, match="wrong-cpu.*amx-tile") as caught:
        check_features(triple, ["amx-tile"], multiplier(1))
    assert any("their sums are wrong" in note for note in caught.value.notes)
    check_features(triple, [], multiplier(1))


def test_the_check_before_use_is_machine_code() -> None:
    functions = tile_code.tile_functions()
    addresses = {functions.product, functions.tile_speed, functions.vector_speed}
    assert len(addresses) == 3 and all(addresses)
    gc.collect()  # the code stays in memory
    assert all(ctypes.string_at(address, 16) for address in addresses)


def test_the_check_is_an_object_that_needs_nothing() -> None:
    """Its functions, and no symbol from outside, so that an artifact can contain it."""
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(cpu="x86-64")
    assembly = machine.emit_assembly(llvm.parse_assembly(tile_code.tile_check_text()))
    assert "callq" not in assembly and "@PLT" not in assembly
    assert assembly.count("tdpbusd") == 1 + 4 and assembly.count("vpdpbusd") == 16
    names = {symbol.encode() for symbol in (tile_code.PRODUCT, tile_code.TILE_SPEED, tile_code.VECTOR_SPEED)}
    code = tile_code.tile_check_object()
    assert code.startswith(b"\x7fELF") and all(name in code for name in names)
