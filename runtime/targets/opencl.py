"""The kind `opencl`: devices that take OpenCL C."""

from __future__ import annotations

from stepwell.runtime.targets.gpu import ATTRIBUTES, LONGEST_GRID, expect_within
from stepwell.runtime.targets.kind import Kind, Values

_FEATURES = ("dot-i8", "f16", "f64", "i64", "subgroups")


def _defaults(given: Values) -> Values:
    """Limits of usual devices; the standard grants one thread a block and 32 KiB."""
    return {
        "max-threads": 256,
        "max-block": (256, 256, 256),
        "max-grid": (LONGEST_GRID, LONGEST_GRID, LONGEST_GRID),
        "shared-memory": 32 << 10,
        "warp": 0,
        "registers": 0,
        "max-buffers": 128,  # 1 KiB of arguments
        "features": ("i64",),
    }


def _check(values: Values) -> None:
    expect_within("opencl", "features", values["features"], _FEATURES)


KIND = Kind("opencl", ("opencl", "gpu"), ATTRIBUTES, "devices that take OpenCL C", _defaults, _check)
