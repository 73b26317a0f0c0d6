"""The kind `metal`: GPUs of Apple."""

from __future__ import annotations

from stepwell.runtime.targets.gpu import ATTRIBUTES, LONGEST_GRID, expect_within
from stepwell.runtime.targets.kind import Kind, Values

_FEATURES = ("bf16", "f16", "i64", "subgroups")


def _defaults(given: Values) -> Values:
    """Limits of Apple's feature tables; threads of a block depend on the kernel, and 256 always fit."""
    return {
        "max-threads": 256,
        "max-block": (256, 256, 256),
        "max-grid": (LONGEST_GRID, LONGEST_GRID, LONGEST_GRID),
        "shared-memory": 32 << 10,
        "warp": 32,
        "registers": 0,
        "max-buffers": 31,
        "features": ("f16", "i64", "subgroups"),
    }


def _check(values: Values) -> None:
    expect_within("metal", "features", values["features"], _FEATURES)


KIND = Kind("metal", ("metal", "gpu"), ATTRIBUTES, "GPUs of Apple: Metal Shading Language", _defaults, _check)
