"""Sessions of ONNX Runtime as a reference: exact sums of bytes on every CPU."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from onnx import ModelProto

# Without VNNI, ONNX Runtime adds pairs of u8 * s8 in 16 bits, where they saturate, unless this is set.
_EXACT = ("session.x64quantprecision", "1")


def reference_session(model: ModelProto, *, optimized: bool = True) -> Any:
    """An inference session on the CPU; `optimized` lets ONNX Runtime rewrite the model."""
    ort: Any = import_module("onnxruntime")  # comes without types
    options = ort.SessionOptions()
    options.add_session_config_entry(*_EXACT)
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
