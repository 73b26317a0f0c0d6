"""The modules of ONNX Runtime that programs import exceptions and classes from."""

from stepwell.onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_pybind11_state
