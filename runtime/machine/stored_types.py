"""The element types that buffers of a device may have."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.runtime.machine.named_target import Target

_FEATURE_OF: Mapping[str, str] = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float64": "f64",
    "int64": "i64",
    "uint64": "i64",
}
"""The feature that a device needs for an element type."""
_WORDS = ("bool", "float16", "float32", "int32")
"""The types of WGSL that buffers may have, and truth values: it has no bytes, so four share 32 bits."""
_NUMBERS = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)


def stores(target: Target, dtype: str) -> bool:
    """Whether buffers of a device may have elements of a numpy type, by its name."""
    if dtype not in (_WORDS if target.kind == "webgpu" else _NUMBERS):
        return False
    feature = _FEATURE_OF.get(dtype)
    features = target.attrs.get("features", ())
    return feature is None or (isinstance(features, tuple) and feature in features)
