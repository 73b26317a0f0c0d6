"""
Trial of the tile registers before code for them is made or run: a product of two small tiles is compared with
numpy's, and the speed of many products with that of as many products of vectors.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from time import perf_counter

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from stepwell.runtime.memory import aligned_empty

# C [16, 16] i32 = A [16, 64] unsigned bytes times B [16, 16] VNNI groups of four signed bytes along the sum.
PRODUCT = """
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilezero(i8 immarg)
declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)
declare void @llvm.x86.tdpbusd(i8 immarg, i8 immarg, i8 immarg)
declare void @llvm.x86.tilestored64(i8 immarg, ptr, i64)
declare void @llvm.x86.tilerelease()

define void @product(ptr %configuration, ptr %a, ptr %b, ptr %c) {
  call void @llvm.x86.ldtilecfg(ptr %configuration)
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tileloadd64(i8 4, ptr %a, i64 64)
  call void @llvm.x86.tileloadd64(i8 6, ptr %b, i64 64)
  call void @llvm.x86.tdpbusd(i8 0, i8 4, i8 6)
  call void @llvm.x86.tilestored64(i8 0, ptr %c, i64 64)
  call void @llvm.x86.tilerelease()
  ret void
}
"""


# 4 times 16x16x64 products a step, and 16 times 16x4: the vectors of one that the tiles are compared with.
TILE_SPEED = """
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tdpbusd(i8 immarg, i8 immarg, i8 immarg)
declare void @llvm.x86.tilerelease()

define void @speed(ptr %configuration, i64 %n) {
entry:
  call void @llvm.x86.ldtilecfg(ptr %configuration)
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  call void @llvm.x86.tdpbusd(i8 0, i8 4, i8 6)
  call void @llvm.x86.tdpbusd(i8 1, i8 4, i8 7)
  call void @llvm.x86.tdpbusd(i8 2, i8 5, i8 6)
  call void @llvm.x86.tdpbusd(i8 3, i8 5, i8 7)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  call void @llvm.x86.tilerelease()
  ret void
}
"""
_TILE_PRODUCTS = 4 * 16 * 16 * 64
_VECTORS = 16
_VECTOR_PRODUCTS = _VECTORS * 64
_TILE_FEATURES = "+amx-tile,+amx-int8"
_VECTOR_FEATURES = "+avx512f,+avx512vnni"
_ROUNDS, _STEPS = 3, 2000


def vector_speed() -> str:
    """The code of the products of vectors, in as many sums as hide their latency."""
    vector, name = "<16 x i32>", "@llvm.x86.avx512.vpdpbusd.512"
    sums = range(_VECTORS)
    phis = [f"%x{i} = phi {vector} [%a, %entry], [%y{i}, %loop]" for i in sums]
    steps = [f"%y{i} = call {vector} {name}({vector} %x{i}, {vector} %a, {vector} %a)" for i in sums]
    stores = [f"store volatile {vector} %y{i}, ptr %p, align 64" for i in sums]
    head = [f"declare {vector} {name}({vector}, {vector}, {vector})", "define void @speed(ptr %p, i64 %n) {"]
    lines = [*head, "entry:", f"%a = load {vector}, ptr %p, align 64", "br label %loop", "loop:"]
    lines += ["%i = phi i64 [0, %entry], [%next, %loop]", *phis, *steps, "%next = add i64 %i, 1"]
    lines += ["%more = icmp ult i64 %next, %n", "br i1 %more, label %loop, label %done", "done:"]
    return "\n".join([*lines, *stores, "ret void", "}"])


@dataclass(frozen=True)
class Loaded:
    """
    A function in memory, valid as long as this object, which references the JIT and its tracker, is alive.
    """

    address: int
    jit: llvm.LLJIT
    trackers: tuple[llvm.ResourceTracker, ...]


def loaded(text: str, name: str, features: str) -> Loaded:
    """A function of LLVM IR as machine code."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    options = {"cpu": "x86-64", "features": features, "reloc": "pic", "codemodel": "small"}
    target = llvm.Target.from_triple(llvm.get_process_triple())
    code = target.create_target_machine(**options, opt=2, jit=False).emit_object(llvm.parse_assembly(text))
    jit = llvm.create_lljit_compiler(
        target.create_target_machine(**options, opt=2, jit=True), suppress_errors=True
    )
    linked = llvm.JITLibraryBuilder().add_object_img(code).link(jit, name)
    found = jit.lookup(name, name)
    return Loaded(int(found[name]), jit, (linked, found))


def loaded_product() -> Loaded:
    """The code of the product."""
    return loaded(PRODUCT, "product", _TILE_FEATURES)


def tiles_multiply() -> bool:
    """Whether tile registers compute correct sums; only for a process that may use them."""
    code = loaded_product()
    product = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address)
    configuration = np.zeros(64, np.uint8)
    configuration[0] = 1
    configuration[[16, 24, 28]], configuration[[48, 52, 54]] = 64, 16
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (16, 64), np.uint8), rng.integers(-128, 128, (16, 16, 4), np.int8)
    c = np.empty((16, 16), np.int32)
    product(*(array.ctypes.data for array in (configuration, a, b, c)))
    columns = b.transpose(0, 2, 1).reshape(64, 16).astype(np.int32)
    return np.array_equal(c, a.astype(np.int32) @ columns)


def tiles_are_faster() -> bool:
    """
    Whether tile registers multiply more bytes in a second than vectors do, where these multiply bytes at all.

    By design they multiply eight times as many; tile registers that a virtual machine emulates do not.
    """
    if not llvm.get_host_cpu_features().get("avx512vnni"):
        return True
    configuration = aligned_empty(64).view(np.uint8)
    configuration[:] = 0
    configuration[0] = 1
    configuration[16:32:2], configuration[48:56] = 64, 16
    tiles = _seconds(TILE_SPEED, _TILE_FEATURES, configuration) / _TILE_PRODUCTS
    return tiles < _seconds(vector_speed(), _VECTOR_FEATURES, configuration) / _VECTOR_PRODUCTS


def _seconds(text: str, features: str, memory: npt.NDArray[np.uint8]) -> float:
    """The time of a step, the best of a few rounds."""
    code = loaded(text, "speed", features)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.address)
    rounds: list[float] = []
    for _ in range(_ROUNDS):
        start = perf_counter()
        run(memory.ctypes.data, _STEPS)
        rounds.append((perf_counter() - start) / _STEPS)
    return min(rounds)
