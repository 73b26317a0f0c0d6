"""The kind `cuda`: GPUs of NVIDIA, by compute capability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stepwell.runtime.targets.gpu import ATTRIBUTES, LONGEST_GRID, within
from stepwell.runtime.targets.kind import Kind, Value, Values, bad_target, choice, count


class _Arch(NamedTuple):
    """Facts of a compute capability, from the tables of the CUDA programming guide."""

    ptx: int
    """The lowest version of PTX that has it: 63 is 6.3."""
    shared_kib: int
    """The shared memory of a block, with opt-in, in KiB."""
    multiprocessors: int
    """The multiprocessors of the largest GPU: the number of blocks that keep it busy."""
    more: str = ""
    """Features in addition to those that all architectures have."""


_AMPERE = "async-copy bf16 mma-bf16 mma-tf32"
_ARCHS: Mapping[str, _Arch] = {
    "sm_75": _Arch(63, 64, 72),
    "sm_80": _Arch(70, 163, 108, _AMPERE),
    "sm_86": _Arch(71, 99, 84, _AMPERE),
    "sm_89": _Arch(78, 99, 142, _AMPERE),
    "sm_90": _Arch(80, 227, 132, _AMPERE),
    "sm_90a": _Arch(80, 227, 132, _AMPERE + " wgmma"),
    "sm_100": _Arch(86, 227, 148, _AMPERE),
    "sm_100a": _Arch(86, 227, 148, _AMPERE),
    "sm_120": _Arch(87, 99, 188, _AMPERE),
}
_VERSIONS = frozenset((63, 64, 65, *range(70, 79), *range(80, 89), 90))
"""The versions of PTX that LLVM writes: for others it takes another one."""
_DEFAULT = "sm_80"
_COMMON: Mapping[str, Value] = {
    "max-threads": 1024,
    "max-block": (1024, 1024, 64),
    "max-grid": (LONGEST_GRID, 65535, 65535),
    "warp": 32,
    "registers": 255,
    "max-buffers": 512,  # 4 KiB of arguments
}


def arch_for(found: str) -> str | None:
    """The latest architecture whose code a GPU of architecture `found` runs: sm_86 for `sm_87`."""
    versions = {int(name[3:]): name for name in _ARCHS if name[3:].isdecimal()}
    number = found.removeprefix("sm_")
    known = [version for version in versions if number.isdecimal() and version <= int(number)]
    return versions[max(known)] if known else None


def _defaults(given: Values) -> Values:
    """The attributes of an architecture."""
    name = str(given.get("arch", _DEFAULT))
    arch = _ARCHS[name]
    features = {"dot-i8", "f16", "f64", "i64", "mma", "subgroups", *arch.more.split()}
    own: Values = {
        "arch": name,
        "ptx": arch.ptx,
        "shared-memory": arch.shared_kib << 10,
        "multiprocessors": arch.multiprocessors,
        "features": tuple(sorted(features)),
    }
    return {**_COMMON, **own}


_within = within(_defaults, "arch", "warp")


def _check(values: Values) -> None:
    """Require features of the architecture, and a sufficient version of PTX."""
    arch, ptx = str(values["arch"]), values["ptx"]
    least = _ARCHS[arch].ptx
    if isinstance(ptx, int) and ptx < least:
        raise bad_target(f"ptx of {arch} is at least {least}, found {ptx}")
    if ptx not in _VERSIONS:
        raise bad_target(
            f"there is no version {ptx} of PTX; they go from {min(_VERSIONS)} to {max(_VERSIONS)}"
        )
    _within({**values, "ptx": least})


KIND = Kind(
    "cuda",
    ("cuda", "gpu", "nvptx"),
    {**ATTRIBUTES, "arch": choice(*_ARCHS), "ptx": count},
    "GPUs of NVIDIA, by compute capability",
    _defaults,
    _check,
)
