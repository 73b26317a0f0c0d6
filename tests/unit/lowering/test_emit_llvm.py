"""LLVM IR text: LLVM takes it, it says what the IR says, and what cannot be said is an error."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.loader import load_objects
from stepwell.runtime.machine.target import host_target


def emitted(text: str) -> str:
    """The LLVM IR of a module at level 4, which LLVM has taken."""
    code = emit_llvm(parse_module(StepwellContext(), text))
    compile_to_object(code, host_target(), optimize=False)
    return code


def function(body: str, signature: str = "%x: f32, %v: vector<4xf32>, %i: i64, %p: !llvm.ptr") -> str:
    """A function around ops."""
    return f"llvm.func @f({signature}) {{\n{body}\nllvm.return\n}}"


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("%r = llvm.add %i, %i overflow<nsw, nuw> : i64", "add nsw nuw i64 %i.2, %i.2"),
        ("%r = llvm.udiv exact %i, %i : i64", "udiv exact i64"),
        ("%r = llvm.fadd %x, %x {fastmathFlags = #llvm.fastmath<fast>} : f32", "fadd fast float"),
        ("%r = llvm.fmul %v, %v {fastmathFlags = #llvm.fastmath<nnan,contract>} : vector<4xf32>",
         "fmul contract nnan <4 x float>"),
        ("%r = llvm.fneg %x : f32", "fneg float %x.0"),
        ("%r = llvm.intr.fma(%v, %v, %v) {fastmathFlags = #llvm.fastmath<nsz>} : "
         "(vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>",
         "call nsz <4 x float> @llvm.fma.v4f32("),
        ("%r = llvm.intr.fptosi.sat(%x) : (f32) -> i8", "call i8 @llvm.fptosi.sat.i8.f32(float"),
        ("%r = llvm.intr.ctlz(%i) : (i64) -> i64", "call i64 @llvm.ctlz.i64(i64 %i.2, i1 false)"),
        ("%r = llvm.load %p atomic seq_cst {alignment = 4 : i64} : !llvm.ptr -> f32",
         "load atomic float, ptr %p.3 seq_cst, align 4"),
        ("llvm.store volatile %x, %p {alignment = 4 : i64} : f32, !llvm.ptr", "store volatile float"),
        ("llvm.store %v, %p {alignment = 16 : i64, nontemporal} : vector<4xf32>, !llvm.ptr",
         "!nontemporal !"),
        ("%r = llvm.getelementptr %p[1, 2, %i] : (!llvm.ptr, i64) -> !llvm.ptr, "
         "!llvm.struct<(i32, i32, !llvm.array<4 x f32>)>",
         "getelementptr { i32, i32, [4 x float] }, ptr %p.3, i64 1, i32 2, i64 %i.2"),
        ("%r = llvm.extractelement %v[%i : i64] : vector<4xf32>", "extractelement <4 x float> %v.1, i64"),
        ("%r = llvm.shufflevector %v, %v [0, -1, 5] : vector<4xf32>", "<i32 0, i32 poison, i32 5>"),
        ("%z = llvm.mlir.zero : !llvm.ptr\n%r = llvm.load %z {alignment = 1 : i64} : !llvm.ptr -> i8",
         "load i8, ptr null, align 1"),
        ("llvm.intr.memcpy(%p, %p, %i) : !llvm.ptr, !llvm.ptr, i64",
         "call void @llvm.memcpy.p0.p0.i64(ptr %p.3, ptr %p.3, i64 %i.2, i1 false)"),
        ("%m = llvm.mlir.constant(dense<[true, false, true, true]> : vector<4xi1>) : vector<4xi1>\n"
         "llvm.intr.masked.store %v, %p, %m {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> "
         "into !llvm.ptr",
         "call void @llvm.masked.store.v4f32.p0(<4 x float> %v.1, ptr align 4 %p.3, <4 x i1> <"),
        ("llvm.intr.prefetch(%p) {rw = 1 : i32, hint = 2 : i32} : !llvm.ptr",
         "@llvm.prefetch.p0(ptr %p.3, i32 1, i32 2, i32 1)"),
        ("%r = llvm.atomicrmw \"add\" \"acq_rel\" %p, %i : !llvm.ptr, i64",
         "atomicrmw add ptr %p.3, i64 %i.2 acq_rel"),
        ("%r = llvm.call %p(%x) : !llvm.ptr, (f32) -> f32", "call float %p.3(float %x.0)"),
        ("%r = llvm.call_intrinsic \"llvm.sqrt.f32\"(%x) {fastmathFlags = #llvm.fastmath<nnan>} : "
         "(f32) -> f32",
         "call nnan float @llvm.sqrt.f32(float %x.0)"),
    ],
)  # fmt: skip
def test_ops(op: str, expected: str) -> None:
    assert expected in emitted(function(op))


@pytest.mark.parametrize(
    ("constant", "type", "expected"),
    [
        ("1.5 : f32", "f32", "float 0x3FF8000000000000"),
        ("0.1 : f32", "f32", "float 0x3FB99999A0000000"),
        ("0.1 : f64", "f64", "double 0x3FB999999999999A"),
        ("-0.0 : f16", "f16", "half 0xH8000"),
        ("0x7FC0 : bf16", "bf16", "bfloat 0xR7FC0"),
        ("0xFF800000 : f32", "f32", "float 0xFFF0000000000000"),
        ("true", "i1", "i1 true"),
        ("-3 : i8", "i8", "i8 -3"),
        ("dense<2.0> : vector<4xf32>", "vector<4xf32>", "<4 x float> splat (float 0x4000000000000000)"),
        ("dense<0> : vector<4xi32>", "vector<4xi32>", "<4 x i32> zeroinitializer"),
        ("dense<-0.0> : vector<2xf32>", "vector<2xf32>", "splat (float 0x8000000000000000)"),
        ("dense<[1, 2]> : vector<2xi16>", "vector<2xi16>", "<2 x i16> <i16 1, i16 2>"),
        ("dense<[true, false]> : vector<2xi1>", "vector<2xi1>", "<2 x i1> <i1 true, i1 false>"),
    ],
)
def test_constants(constant: str, type: str, expected: str) -> None:
    store = f"llvm.store %c, %p {{alignment = 1 : i64}} : {type}, !llvm.ptr"
    assert expected in emitted(function(f"%c = llvm.mlir.constant({constant}) : {type}\n{store}"))


def test_functions_and_globals_keep_what_they_say() -> None:
    code = emitted("""
llvm.func internal fastcc @f(%p: !llvm.ptr {llvm.noalias, llvm.align = 64 : i64, llvm.readonly})
    -> (f32 {llvm.noundef})
    attributes {passthrough = ["noinline", ["target-features", "+avx2"]], no_unwind, sched.note = 1 : i64} {
  %a = llvm.mlir.addressof @table : !llvm.ptr
  %x = llvm.load %a {alignment = 4 : i64} : !llvm.ptr -> f32
  llvm.return %x : f32
}
llvm.func @outside(i32, ...) -> i32
llvm.func extern_weak @maybe()
llvm.mlir.global internal constant @table(dense<[1.0, 2.0]> : tensor<2xf32>)
    {addr_space = 0 : i32, alignment = 64 : i64} : !llvm.array<2 x f32>
llvm.mlir.global private constant @text("a\\22b") {addr_space = 0 : i32} : !llvm.array<3 x i8>
llvm.mlir.global external @there() {addr_space = 0 : i32} : i32
""")
    assert "define internal fastcc noundef float @f(ptr noalias align 64 readonly %p.0)" in code
    assert 'noinline "target-features"="+avx2" nounwind {' in code or "nounwind" in code.splitlines()[0]
    assert "declare i32 @outside(i32, ...)" in code and "declare extern_weak void @maybe()" in code
    assert "@table = internal constant [2 x float] [float 0x3FF0000000000000" in code and "align 64" in code
    assert '@text = private constant [3 x i8] c"a\\22b"' in code
    assert "@there = external global i32" in code


def test_each_intrinsic_is_declared_once() -> None:
    code = emitted(function("%r = llvm.intr.fabs(%x) : (f32) -> f32\n%s = llvm.intr.fabs(%r) : (f32) -> f32"))
    declared = [line for line in code.splitlines() if "declare" in line]
    assert declared == ["declare float @llvm.fabs.f32(float)"]


def test_blocks_in_any_order_and_two_edges_between_two_blocks() -> None:
    text = """
llvm.func @f(%args: !llvm.ptr, %dims: !llvm.ptr, %ctx: !llvm.ptr) -> i32 {
  %n = llvm.load %dims {alignment = 8 : i64} : !llvm.ptr -> i64
  llvm.br ^start
^use(%y: i64):
  %r = llvm.add %y, %twice : i64
  llvm.store %r, %dims {alignment = 8 : i64} : i64, !llvm.ptr
  %ok = llvm.mlir.constant(0 : i32) : i32
  llvm.return %ok : i32
^start:
  %twice = llvm.add %n, %n : i64
  %ten = llvm.mlir.constant(10) : i64
  %c = llvm.icmp "slt" %n, %ten : i64
  llvm.cond_br %c, ^use(%n : i64), ^use(%ten : i64)
}
"""
    code = compile_to_object(emitted(text), host_target(), optimize=False)
    library = load_objects([code])
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        library.address("f")
    )
    for n, expected in ((3, 9), (20, 50)):
        dims = np.array([n], np.int64)
        assert run(None, dims.ctypes.data, None) == 0
        assert dims[0] == expected


def test_hints_for_loops_are_metadata() -> None:
    code = emitted(
        function("""
  %c = llvm.icmp "eq" %i, %i : i64
  llvm.br ^loop
^loop:
  llvm.cond_br %c, ^loop, ^end {llvm.loop = ["llvm.loop.unroll.disable"]}
^end:""")
    )
    assert "!llvm.loop !1" in code
    assert '!0 = !{!"llvm.loop.unroll.disable"}' in code and "!1 = distinct !{!1, !0}" in code


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("%r = llvm.load %p : !llvm.ptr -> vector<4xf32>",
         "invalid-ir", "llvm.load of a vector needs its alignment"),
        ("llvm.store %v, %p : vector<4xf32>, !llvm.ptr",
         "invalid-ir", "llvm.store of a vector needs its alignment"),
        ("%c = llvm.mlir.zero : vector<2x2xf32>\n"
         "llvm.store %c, %p {alignment = 4 : i64} : vector<2x2xf32>, !llvm.ptr",
         "unsupported", "llvm.store: type vector<2x2xf32> has no LLVM IR"),
        ('%r = "test.op"() : () -> i32', "unsupported-op", "test.op has no LLVM IR"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_an_error(body: str, code: str, message: str) -> None:
    with pytest.raises(StepwellError) as caught:
        emitted(function(body))
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f() { func.return }",
        "llvm.func @f() attributes {optnone_please} { llvm.return }",
        "llvm.func @f(%p: !llvm.ptr {llvm.byval}) { llvm.return }",
    ],
)
def test_unknown_attributes_and_ops_are_errors(text: str) -> None:
    with pytest.raises(StepwellError, match="has no LLVM IR"):
        emitted(text)
