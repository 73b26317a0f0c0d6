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
_INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_NUMBERS = (*_INTEGERS, "float16", "bfloat16", "float32", "float64")
_SPELLED: Mapping[str, tuple[str, ...]] = {"webgpu": _INTEGERS}
"""
The types for which a kind needs no feature: WGSL lacks most of these integers, so that shorter ones share
32 bits and longer ones are pairs of 32 bits.
"""


def stores(target: Target, dtype: str) -> bool:
    """Whether buffers of a device may have elements of a numpy type, by its name."""
    if dtype not in _NUMBERS:
        return False
    if dtype in _SPELLED.get(target.kind, ()):
        return True
    feature = _FEATURE_OF.get(dtype)
    return feature is None or target.has_feature(feature)
