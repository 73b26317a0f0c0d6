"""
Sessions for programs that were written for ONNX Runtime: `import stepwell.onnxruntime as ort`.

Their models are compiled by Stepwell; ONNX Runtime itself is not needed.
"""

from __future__ import annotations

from stepwell.onnxruntime import capi as capi
from stepwell.onnxruntime.adapters import AdapterFormat as AdapterFormat
from stepwell.onnxruntime.adapters import LoraAdapter as LoraAdapter
from stepwell.onnxruntime.binding import IOBinding as IOBinding
from stepwell.onnxruntime.enums import ExecutionMode as ExecutionMode
from stepwell.onnxruntime.enums import ExecutionOrder as ExecutionOrder
from stepwell.onnxruntime.enums import GraphOptimizationLevel as GraphOptimizationLevel
from stepwell.onnxruntime.enums import OrtAllocatorType as OrtAllocatorType
from stepwell.onnxruntime.enums import OrtDeviceMemoryType as OrtDeviceMemoryType
from stepwell.onnxruntime.enums import OrtDeviceVendorId as OrtDeviceVendorId
from stepwell.onnxruntime.enums import OrtMemoryInfoDeviceType as OrtMemoryInfoDeviceType
from stepwell.onnxruntime.enums import OrtMemType as OrtMemType
from stepwell.onnxruntime.enums import OrtSparseFormat as OrtSparseFormat
from stepwell.onnxruntime.errors import MissingName
from stepwell.onnxruntime.logs import set_default_logger_callback as set_default_logger_callback
from stepwell.onnxruntime.logs import set_default_logger_severity as set_default_logger_severity
from stepwell.onnxruntime.memory_info import OrtArenaCfg as OrtArenaCfg
from stepwell.onnxruntime.memory_info import OrtMemoryInfo as OrtMemoryInfo
from stepwell.onnxruntime.memory_info import create_and_register_allocator as create_and_register_allocator
from stepwell.onnxruntime.memory_info import (
    create_and_register_allocator_v2 as create_and_register_allocator_v2,
)
from stepwell.onnxruntime.options import RunOptions as RunOptions
from stepwell.onnxruntime.options import SessionOptions as SessionOptions
from stepwell.onnxruntime.providers import AVAILABLE as _AVAILABLE
from stepwell.onnxruntime.session import InferenceSession as InferenceSession
from stepwell.onnxruntime.signature import ModelMetadata as ModelMetadata
from stepwell.onnxruntime.signature import NodeArg as NodeArg
from stepwell.onnxruntime.sparse import SparseTensor as SparseTensor
from stepwell.onnxruntime.values import OrtDevice as OrtDevice
from stepwell.onnxruntime.values import OrtValue as OrtValue

__version__ = "1.23.0"
"""The version of ONNX Runtime whose interface this is."""

_MISSING = frozenset(
    "ModelCompiler copy_tensors get_ep_devices quantization "
    "register_execution_provider_library set_global_thread_pool_sizes tools training transformers "
    "unregister_execution_provider_library".split()
)
"""Names of ONNX Runtime that are not here."""


def get_available_providers() -> list[str]:
    """The names that `providers` may have."""
    return list(_AVAILABLE)


def get_all_providers() -> list[str]:
    """The names that `providers` may have."""
    return list(_AVAILABLE)


def get_device() -> str:
    """`CPU`."""
    return "CPU"


def get_version_string() -> str:
    """The version of ONNX Runtime whose interface this is."""
    return __version__


def get_build_info() -> str:
    """The version of Stepwell."""
    from stepwell import __version__ as version

    return f"ORT Build Info: Stepwell {version}"


def set_default_logger_verbosity(verbosity: int) -> None:
    """Nothing to do: `STEPWELL_LOG` chooses what is logged."""


def enable_telemetry_events() -> None:
    """Nothing to do: nothing is reported to anybody."""


def disable_telemetry_events() -> None:
    """Nothing to do: nothing is reported to anybody."""


def preload_dlls(**ignored: object) -> None:
    """Nothing to do: there are no libraries of devices."""


def __getattr__(name: str) -> object:
    if name in _MISSING:
        message = f"onnxruntime.{name} is not here"
        help = "docs/frontends/from-onnxruntime.md lists what is"
        raise MissingName("unsupported", None, message, help=help)
    raise AttributeError(f"module 'stepwell.onnxruntime' has no attribute {name!r}")
