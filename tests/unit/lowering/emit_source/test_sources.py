"""Kernels as source text: OpenCL C compiled as C, and the texts of both languages."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_source import emit_kernels
from stepwell.lowering.interpret import interpret
from stepwell.runtime.errors import StepwellError
from tests.support.devices.gpu_kernels import WideCase, kernel_module
from tests.support.devices.gpu_models import MODELS, WITH_BARRIERS, agree, small_model
from tests.support.devices.shaders import msl_by_cpp, opencl_by_c, wgsl_by_cpp
from tests.support.imports import ROOT

ONE_THREAD_MODELS = [name for name in MODELS if name not in WITH_BARRIERS]
"""Those that threads may run one after the other."""


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ONE_THREAD_MODELS)
def test_opencl_c_computes_small_models(name: str, tmp_path: Path) -> None:
    agree(*small_model(name, tmp_path), lambda module: opencl_by_c(module, tmp_path))


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", ONE_THREAD_MODELS)
def test_msl_computes_small_models(name: str, tmp_path: Path) -> None:
    agree(*small_model(name, tmp_path), lambda module: msl_by_cpp(module, tmp_path))


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ONE_THREAD_MODELS)
def test_wgsl_computes_small_models(name: str, tmp_path: Path) -> None:
    agree(*small_model(name, tmp_path), lambda module: wgsl_by_cpp(module, tmp_path))


@pytest.mark.slow
def test_opencl_c_computes_a_trained_model(tmp_path: Path) -> None:
    inputs = np.random.default_rng(5).standard_normal((5, 64), np.float32)
    agree(ROOT / "examples/digits.onnx", [inputs], lambda module: opencl_by_c(module, tmp_path))


def kernel(body: str, arguments: str = "%x: memref<8xf32>", memory: str = "") -> ModuleOp:
    """A module with a kernel of 8 threads."""
    return kernel_module(body, arguments, memory, threads=8)


def texts(module: ModuleOp) -> tuple[str, str]:
    """The WGSL and the OpenCL C of the only kernel."""
    (wgsl,), (opencl,) = (emit_kernels(module, Target(kind)) for kind in ("webgpu", "opencl"))
    return wgsl.text, opencl.text


def test_names_are_those_of_the_ir_unless_reserved() -> None:
    body = """%t = gpu.thread_id x
    %for = memref.load %x[%t] : memref<8xf32>
    %0 = arith.addf %for, %for : f32
    memref.store %0, %x[%t] : memref<8xf32>"""
    for text in texts(kernel(body)):
        assert "for_1" in text and " for:" not in text and "x[t] = v;" in text


def test_memory_of_a_block_and_barriers() -> None:
    space = "#gpu.address_space<workgroup>"
    body = f"""%t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<8xf32>
    memref.store %a, %s[%t] : memref<8xf32, {space}>
    gpu.barrier
    %last = arith.constant 7 : index
    %r = arith.subi %last, %t : index
    %b = memref.load %s[%r] : memref<8xf32, {space}>
    memref.store %b, %x[%t] : memref<8xf32>"""
    wgsl, opencl = texts(kernel(body, memory=f" workgroup(%s: memref<8xf32, {space}>)"))
    assert "var<workgroup> s: array<f32, 8>;" in wgsl and "workgroupBarrier();" in wgsl
    assert "__local float s[8];" in opencl and "barrier(CLK_LOCAL_MEM_FENCE" in opencl


def test_wgsl_stores_four_booleans_in_32_bits() -> None:
    body = """%t = gpu.thread_id x
    %v = memref.load %p[%t] : memref<8xi1>
    %w = memref.load %q[%t] : memref<8xi1>
    %r = arith.andi %v, %w : i1
    memref.store %r, %q[%t] : memref<8xi1>"""
    wgsl, opencl = texts(kernel(body, "%p: memref<8xi1>, %q: memref<8xi1>"))
    assert "var<storage, read> p: array<u32>;" in wgsl
    assert "var<storage, read_write> q: array<atomic<u32>>;" in wgsl
    assert "let v: bool = (((p[u32(t) >> 2u] >> ((u32(t) & 3u) << 3u)) & 0xffu) != 0u);" in wgsl
    assert "atomicLoad(&q[u32(t) >> 2u])" in wgsl
    clear = wgsl.index("atomicAnd(&q[u32(t) >> 2u], ~(0xffu << ((u32(t) & 3u) << 3u)));")
    assert clear < wgsl.index("atomicOr(&q[u32(t) >> 2u], select(0u, 1u, r) << ((u32(t) & 3u) << 3u));")
    assert "__global const uchar *p" in opencl and "q[t] = r;" in opencl


COUNT = """%t = gpu.thread_id x
    %c3 = arith.constant 3 : i64
    %n = arith.index_cast %t : index to i64
    %m = arith.subi %n, %c3 : i64
    %a = math.absi %m : i64
    %s = arith.cmpi slt, %a, %c3 : i64
    %b = scf.if %s -> (i64) {
      scf.yield %a : i64
    } else {
      %l = arith.extui %s : i1 to i64
      scf.yield %l : i64
    }
    %k = arith.trunci %b : i64 to i32
    %f = arith.sitofp %k : i32 to f32
    memref.store %f, %x[%t] : memref<8xf32>"""


def test_indices_from_memory_are_short_in_wgsl() -> None:
    body = """%t = gpu.thread_id x
    %c8 = arith.constant 8 : i64
    %c0 = arith.constant 0 : i64
    %i = memref.load %n[%t] : memref<8xi32>
    %l = arith.extsi %i : i32 to i64
    %s = arith.cmpi slt, %l, %c0 : i64
    %e = arith.addi %l, %c8 : i64
    %k = arith.select %s, %e, %l : i64
    %j = arith.index_cast %k : i64 to index
    %v = memref.load %x[%j] : memref<8xf32>
    memref.store %v, %x[%t] : memref<8xf32>"""
    (wgsl,) = emit_kernels(kernel(body, "%x: memref<8xf32>, %n: memref<8xi32>"), Target("webgpu"))
    assert "let e: i32 = (i + 8);" in wgsl.text
    multiplied = body.replace("arith.addi", "arith.muli")
    (wgsl,) = emit_kernels(kernel(multiplied, "%x: memref<8xf32>, %n: memref<8xi32>"), Target("webgpu"))
    assert "let e: vec2<u32> = sw_long_mul(l, vec2<u32>(8u, 0u));" in wgsl.text


def test_integers_that_count_elements_are_short_in_wgsl() -> None:
    module = kernel(COUNT)
    before = str(module)
    (wgsl,) = emit_kernels(module, Target("webgpu"))
    assert str(module) == before and "i64" not in wgsl.text and "let a: i32 = abs(m);" in wgsl.text
    (opencl,) = emit_kernels(module, Target("opencl"))
    assert "const long m = " in opencl.text
    (short,) = emit_kernels(module, Target("opencl{features=f16}"))
    assert "long" not in short.text


@pytest.mark.parametrize(
    "body",
    [
        COUNT.replace("constant 3 : i64", "constant 4294967296 : i64"),
        COUNT.replace("arith.subi", "arith.shli"),
        COUNT.replace("%n = arith.index_cast %t : index to i64", """%v = memref.load %x[%t] : memref<8xf32>
    %n = arith.fptosi %v : f32 to i64"""),
    ],
)  # fmt: skip
def test_other_integers_of_64_bits_are_pairs(body: str) -> None:
    (wgsl,) = emit_kernels(kernel(body), Target("webgpu"))
    assert "let m: vec2<u32> = sw_long_" in wgsl.text
    with pytest.raises(StepwellError, match="opencl{features=f16} has no values of i64") as error:
        emit_kernels(kernel(body), Target("opencl{features=f16}"))
    assert error.value.code == "unsupported"


def test_infinity_comes_from_outside_in_wgsl() -> None:
    body = """%t = gpu.thread_id x
    %inf = arith.constant 0xff800000 : f32
    %nan = arith.constant 0x7fc00000 : f32
    %m = arith.maximumf %inf, %nan : f32
    memref.store %m, %x[%t] : memref<8xf32>"""
    wgsl, opencl = texts(kernel(body))
    assert "bitcast<f32>(params.infinity | 0x80000000u)" in wgsl and "infinity: u32" in wgsl
    assert "as_float(0xff800000u)" in opencl and "static float sw_max(" in opencl
    assert wgsl.index("fn sw_isnan(") < wgsl.index("fn sw_max(")


def test_swapped_carried_values(tmp_path: Path) -> None:
    body = """%t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = memref.load %x[%t] : memref<8xindex>
    %fib, %next = scf.for %i = %c0 to %a step %c1 iter_args(%u = %c0, %v = %c1) -> (index, index) {
      %w = arith.addi %u, %v : index
      scf.yield %v, %w : index, index
    }
    %big = scf.while (%n = %fib) : (index) -> index {
      %more = arith.cmpi sgt, %n, %a : index
      scf.condition(%more) %n : index
    } do {
    ^bb0(%n: index):
      %less = arith.subi %n, %c1 : index
      scf.yield %less : index
    }
    memref.store %big, %x[%t] : memref<8xindex>"""
    module = kernel(body, "%x: memref<8xindex>")
    main = """
func.func @main(%x: memref<8xindex>) {
  %one = arith.constant 1 : index
  %n = arith.constant 8 : index
  gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%n, %one, %one) args(%x : memref<8xindex>)
  func.return
}"""
    program = parse_module(StepwellContext(), str(module.body.block.first_op) + main)
    expected = interpret(program, StepwellContext(), "main", [np.arange(8)])[0]
    assert list(expected) == [0, 1, 1, 2, 3, 5, 6, 7]
    for launcher in (opencl_by_c, msl_by_cpp):
        numbers = np.arange(8, dtype=np.int32)
        launch = launcher(program, tmp_path)
        launch(next(op for op in module.walk() if op.name == "gpu.func"), (1, 1, 1), [numbers])
        np.testing.assert_array_equal(numbers, expected)


def test_parts_of_a_kernel_in_msl() -> None:
    space = "#gpu.address_space<workgroup>"
    body = f"""%t = gpu.thread_id y
    %b = gpu.block_id z
    %n = arith.constant 0x7fc00000 : f32
    memref.store %n, %s[%t] : memref<8xf32, {space}>
    gpu.barrier
    %a = memref.load %x[%b] : memref<?xf32>
    %m = arith.maximumf %a, %n : f32
    memref.store %m, %y[%count] : memref<8xf32>"""
    arguments = "%x: memref<?xf32>, %y: memref<8xf32>, %count: index"
    (emitted,) = emit_kernels(
        kernel(body, arguments, f" workgroup(%s: memref<8xf32, {space}>)"), Target("metal")
    )
    text = emitted.text
    assert "device const float *x [[buffer(0)]], device float *y [[buffer(1)]]" in text
    assert "struct k_params {\n  int count;\n};" in text and "constant k_params &params [[buffer(2)]]" in text
    assert "uint3 thread_id [[thread_position_in_threadgroup]]" in text and "grid_dim" not in text
    assert "const int t = (int)thread_id.y;" in text and "const int b = (int)block_id.z;" in text
    assert "threadgroup float s[8];" in text and "threadgroup_barrier(mem_flags::mem_threadgroup" in text
    assert "s[t] = as_float(0x7fc00000u);" in text and "[[max_total_threads_per_threadgroup(8)]]" in text


SUM = "%s = gpu.subgroup_reduce add %x : ({0}) -> {0}"


@pytest.mark.parametrize(
    ("body", "arguments", "kind", "message"),
    [
        ("", "%x: memref<8xf64>", "webgpu", "webgpu has no values of f64"),
        ("", "%x: i64", "webgpu", "webgpu is passed no numbers of i64"),
        ("%s = gpu.subgroup_reduce add %x : (f32) -> f32", "%x: f32", "webgpu", "webgpu has no subgroups"),
        ("%s = gpu.subgroup_reduce add %x : (f32) -> f32", "%x: f32", "opencl", "opencl has no spelling of"),
        (
            "%s = gpu.subgroup_reduce add %x : (f16) -> f16",
            "%x: f16",
            "webgpu{features=f16,subgroups}",
            "of f16 over",
        ),
        ("", "%x: memref<8xf16>", "opencl", "opencl has no values of f16"),
        ("%e = math.exp %x : f32", "%x: f32", "opencl", "opencl has no spelling of math.exp"),
        ("%e = math.tanh %x : f32", "%x: f32", "webgpu", "wgsl has no spelling of math.tanh"),
        ("", "%x: memref<8xf64>", "metal", "metal has no values of f64"),
        ("%e = math.exp %x : f32", "%x: f32", "metal", "msl has no spelling of math.exp"),
    ],
)
def test_what_a_language_lacks_is_refused(body: str, arguments: str, kind: str, message: str) -> None:
    with pytest.raises(StepwellError, match=message) as raised:
        emit_kernels(kernel(body, arguments), Target(kind))
    assert raised.value.code in ("unsupported", "unsupported-op")


def test_targets_without_a_language_are_refused() -> None:
    with pytest.raises(StepwellError, match="no source text for cuda"):
        emit_kernels(kernel(""), Target("cuda"))
    assert (
        "enable f16;" in emit_kernels(kernel("", "%x: memref<8xf16>"), Target("webgpu{features=f16}"))[0].text
    )


WIDE = """%t = gpu.thread_id x
    %c4 = arith.constant 4 : index
    %i = arith.muli %t, %c4 : index
    %a = vector.load %x[%i] {alignment = 16 : i64} : memref<32xf32>, vector<4xf32>
    %e = vector.extract %a[1] : f32 from vector<4xf32>
    %f = vector.extract %a[3] : f32 from vector<4xf32>
    %b = vector.broadcast %e : f32 to vector<4xf32>
    %w = vector.insert %f, %b [2] : f32 into vector<4xf32>
    vector.store %w, %y[%i] {alignment = 16 : i64} : memref<32xf32>, vector<4xf32>"""


def test_neighbours_are_accessed_at_once() -> None:
    module = kernel(WIDE, "%x: memref<32xf32>, %y: memref<32xf32>")
    wgsl, opencl = texts(module)
    assert "var<storage, read> x: array<vec4<f32>>;" in wgsl
    assert "let a: vec4<f32> = x[u32(i) >> 2u];" in wgsl
    assert "y[u32(i) >> 2u] = vec4<f32>(a.y, a.y, a.w, a.y);" in wgsl
    assert "const float4 a = *(const __global float4 *)(x + i);" in opencl
    assert "v.s0 = a.s1; v.s1 = a.s1; v.s2 = a.s3; v.s3 = a.s1;" in opencl
    assert "*(__global float4 *)(y + i) = v;" in opencl
    (msl,) = emit_kernels(module, Target("metal"))
    assert "v.z = a.w; v.w = a.y;" in msl.text and "*(device float4 *)(y + i) = v;" in msl.text


def test_arrays_of_wgsl_with_single_accesses_have_elements() -> None:
    """Two threads would write a vector of which each has an element; 30 elements end with half a vector."""
    single = f"{WIDE}\n    memref.store %e, %y[%t] : memref<32xf32>"
    (wgsl,) = emit_kernels(kernel(single, "%x: memref<32xf32>, %y: memref<32xf32>"), Target("webgpu"))
    assert "var<storage, read_write> y: array<f32>;" in wgsl.text and "y[i + 3] = a.y;" in wgsl.text
    for sizes, wanted in (("30", "vec2<f32>"), ("31", "f32"), ("?", "f32")):
        body = WIDE.replace("memref<32xf32>", f"memref<{sizes}xf32>")
        arguments = f"%x: memref<{sizes}xf32>, %y: memref<{sizes}xf32>"
        (wgsl,) = emit_kernels(kernel(body, arguments), Target("webgpu"))
        assert f"var<storage, read> x: array<{wanted}>;" in wgsl.text
    plain = WIDE.replace(" {alignment = 16 : i64}", "")
    for text in texts(kernel(plain, "%x: memref<32xf32>, %y: memref<32xf32>")):
        assert "vec4" not in text and "float4" not in text and "x[i + 3]" in text


@pytest.mark.sample(1)
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("launcher", [opencl_by_c, msl_by_cpp])
def test_vectors_of_languages(launcher: Any, is_open: bool, tmp_path: Path) -> None:
    case = WideCase((7, 12 if is_open else 16), is_open=is_open)
    module, inputs = case.module(), case.inputs()
    launch = launcher(module, tmp_path)
    case.check(interpret(module, StepwellContext(), "main", inputs, launcher=launch)[-1], inputs)


def test_halves_of_wgsl_are_f32_in_helpers() -> None:
    body = """%t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<8xf32>
    %h = arith.truncf %v : f32 to f16
    %one = arith.constant 1.5 : f16
    %inf = arith.constant 0x7c00 : f16
    %m = arith.maximumf %h, %one : f16
    %is = arith.cmpf une, %m, %inf : f16
    %s = arith.select %is, %m, %one : f16
    %w = arith.extf %s : f16 to f32
    memref.store %w, %x[%t] : memref<8xf32>"""
    (wgsl,) = emit_kernels(kernel(body), Target("webgpu{features=f16}"))
    assert wgsl.text.startswith("enable f16;\n")  # no buffer has halves
    assert "let m: f16 = f16(sw_max(f32(h), f32(1.5h)));" in wgsl.text
    assert "f32(f16(bitcast<f32>(params.infinity)))" in wgsl.text and "select(1.5h, m, is)" in wgsl.text


def test_blocks_of_wgsl_count_from_a_constant() -> None:
    """A grid of many blocks is several dispatches, but not of a kernel that asks for the grid's size."""
    body = """%b = gpu.block_id x
    %g = gpu.{op} x
    %s = arith.addi %b, %g : index
    memref.store %s, %x[%b] : memref<8xindex>"""
    counted, sized = (
        texts(kernel(body.format(op=op), "%x: memref<8xindex>"))[0] for op in ("thread_id", "grid_dim")
    )
    assert "override first_block: u32 = 0u;" in counted
    assert "let block_id = group_id + vec3<u32>(first_block, 0u, 0u);" in counted
    assert "first_block" not in sized and "@builtin(workgroup_id) block_id: vec3<u32>" in sized
