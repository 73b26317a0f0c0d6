"""`__tvm_ffi_NAME` of shared libraries: a model as a function by the ABI of apache-tvm-ffi."""

from stepwell.lowering.export.ffi.call_code import FfiEntry, ffi_code, ffi_functions, is_function
from stepwell.lowering.export.ffi.checks_code import IMPORTS, IMPORTS_SYMBOL

__all__ = ["IMPORTS", "IMPORTS_SYMBOL", "FfiEntry", "ffi_code", "ffi_functions", "is_function"]
