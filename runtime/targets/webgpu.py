"""The kind `webgpu`: GPUs by the standard of browsers, with the least limits as defaults."""

from __future__ import annotations

from stepwell.runtime.targets.gpu import ATTRIBUTES, expect_within
from stepwell.runtime.targets.kind import Kind, Values, choice, size

SUBGROUPS = "subgroups"
"""The feature of reductions over the threads of a subgroup."""
NAGA = "naga"
"""The compiler of wgpu: it takes these without the directive of the standard."""
_FEATURES = ("dot-i8", "f16", SUBGROUPS)
_LEAST: Values = {
    "limits": "minimum",
    "wgsl": "standard",
    "max-threads": 256,
    "max-block": (256, 256, 64),
    "max-grid": (65535, 65535, 65535),
    "shared-memory": 16 << 10,
    "max-binding": 128 << 20,
    "warp": 0,
    "registers": 0,
    "max-buffers": 8,
    "features": (),
}
"""The limits that every implementation grants (WebGPU, section 3.6.2), and features that all of them have."""


def _defaults(given: Values) -> Values:
    return _LEAST


def _check(values: Values) -> None:
    """Require known features, and the standard's limits unless those of the adapter are asked for."""
    expect_within("webgpu", "features", values["features"], _FEATURES)
    if values["limits"] == "minimum":
        for key in ("max-threads", "max-block", "max-grid", "shared-memory", "max-binding", "max-buffers"):
            expect_within("webgpu{limits=minimum}", key, values[key], _LEAST[key])


KIND = Kind(
    "webgpu",
    ("webgpu", "gpu", "wgsl"),
    {
        **ATTRIBUTES,
        "limits": choice("minimum", "adapter"),
        "wgsl": choice("standard", NAGA),
        "max-binding": size,
    },
    "GPUs by the standard of browsers: WGSL",
    _defaults,
    _check,
)
