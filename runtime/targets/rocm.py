"""The kind `rocm`: GPUs of AMD, by LLVM's name of the architecture."""

from __future__ import annotations

from stepwell.runtime.targets.gpu import ATTRIBUTES, LONGEST_GRID, within
from stepwell.runtime.targets.kind import Kind, Values, choice

ARCHS = {"gfx90a": 110, "gfx942": 304, "gfx1100": 96, "gfx1201": 64}
"""The compute units of the largest GPU of each architecture."""
_DEFAULT = "gfx942"


def _defaults(given: Values) -> Values:
    """The attributes of an architecture: those of data centers have waves of 64 lanes, the others of 32."""
    arch = str(given.get("arch", _DEFAULT))
    is_wide = arch.startswith("gfx9")
    return {
        "arch": arch,
        "max-threads": 1024,
        "max-block": (1024, 1024, 1024),
        "max-grid": (LONGEST_GRID, 65535, 65535),
        "shared-memory": 64 << 10,
        "warp": 64 if is_wide else 32,
        "registers": 512 if is_wide else 256,
        "max-buffers": 512,
        "multiprocessors": ARCHS[arch],
        "features": ("bf16", "dot-i8", "f16", "f64", "i64", "mma", "mma-bf16", "subgroups"),
    }


KIND = Kind(
    "rocm",
    ("rocm", "gpu", "amdgcn"),
    {**ATTRIBUTES, "arch": choice(*ARCHS)},
    "GPUs of AMD, by LLVM's name of the architecture",
    _defaults,
    within(_defaults, "arch", "warp"),
)
