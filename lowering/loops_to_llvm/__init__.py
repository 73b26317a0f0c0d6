"""
From loops on buffers (level 3) to the `llvm` dialect (level 4): each file lowers one family of ops.

The conversion works in place and in program order. An `index` becomes an i64. A memref becomes a pointer; its
sizes and strides are recorded by the compiler (`Layout`): memrefs are arguments, views and allocas only, so
every address is arithmetic on values that are known during the conversion. Structured control flow becomes
blocks directly, with block arguments for values carried by loops; bodies of parallel loops become functions.
"""

from stepwell.lowering.loops_to_llvm.byte_products import byte_dot, short_dot
from stepwell.lowering.loops_to_llvm.convert import ConvertLoopsToLLVMPass

__all__ = ["ConvertLoopsToLLVMPass", "byte_dot", "short_dot"]
