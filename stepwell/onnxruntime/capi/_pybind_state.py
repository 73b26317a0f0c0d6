"""The same names as in `onnxruntime_pybind11_state`."""

from stepwell.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403
