"""A product of two small tiles, compared with numpy's, before code with tile registers is made or run."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np

# C [16, 16] words = A [16, 64] unsigned bytes times B [16, 16] words of four signed bytes along the sum.
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


def loaded_product() -> tuple[llvm.ResourceTracker, int]:
    """The code of the product, in memory as long as this is kept, and its address."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    options = {"cpu": "x86-64", "features": "+amx-tile,+amx-int8", "reloc": "pic", "codemodel": "small"}
    target = llvm.Target.from_triple(llvm.get_process_triple())
    code = target.create_target_machine(**options, opt=2, jit=False).emit_object(llvm.parse_assembly(PRODUCT))
    jit = llvm.create_lljit_compiler(
        target.create_target_machine(**options, opt=2, jit=True), suppress_errors=True
    )
    linked = llvm.JITLibraryBuilder().add_object_img(code).link(jit, "tiles")
    return linked, jit.lookup("tiles", "product")["product"]


def tiles_multiply() -> bool:
    """Whether tile registers give the sums that they should; only for a process that may use them."""
    _kept, address = loaded_product()
    product = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)
    configuration = np.zeros(64, np.uint8)
    configuration[0] = 1
    configuration[[16, 24, 28]], configuration[[48, 52, 54]] = 64, 16
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (16, 64), np.uint8), rng.integers(-128, 128, (16, 16, 4), np.int8)
    c = np.empty((16, 16), np.int32)
    product(*(array.ctypes.data for array in (configuration, a, b, c)))
    columns = b.transpose(0, 2, 1).reshape(64, 16).astype(np.int32)
    return np.array_equal(c, a.astype(np.int32) @ columns)
