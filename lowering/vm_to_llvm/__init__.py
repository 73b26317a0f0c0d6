"""From the `vm` dialect to native functions: `convert-vm-to-llvm`, and the code that all of them share."""

from stepwell.lowering.vm_to_llvm.array_calls import ARRAY_CALL
from stepwell.lowering.vm_to_llvm.code import SHARED
from stepwell.lowering.vm_to_llvm.convert import ConvertVmToLLVMPass
from stepwell.lowering.vm_to_llvm.objects import shared_code
from stepwell.lowering.vm_to_llvm.supported import native_problem

__all__ = ["ARRAY_CALL", "SHARED", "ConvertVmToLLVMPass", "native_problem", "shared_code"]
