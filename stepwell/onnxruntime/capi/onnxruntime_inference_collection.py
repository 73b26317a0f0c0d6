"""The classes of sessions and values, where ONNX Runtime has them."""

from stepwell.onnxruntime.adapters import AdapterFormat as AdapterFormat
from stepwell.onnxruntime.binding import IOBinding as IOBinding
from stepwell.onnxruntime.providers import (
    check_and_normalize_provider_args as check_and_normalize_provider_args,
)
from stepwell.onnxruntime.session import InferenceSession as InferenceSession
from stepwell.onnxruntime.values import OrtDevice as OrtDevice
from stepwell.onnxruntime.values import OrtValue as OrtValue
