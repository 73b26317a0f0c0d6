"""
Targets of code generation: triple, CPU features, vector registers, caches and cores.

A target is chosen by CPU *features*, never by the CPU's name: LLVM names a virtual machine's CPU after an
older chip and leaves features out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias

from stepwell.runtime.cores import usable_cores
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.machine.cpu_features import cpu_features, process_triple
from stepwell.runtime.machine.demands import granted_features
from stepwell.runtime.machine.tile_permission import tile_refusal
from stepwell.runtime.targets.cpu import CpuRow, cpu_rows, level_of
from stepwell.runtime.targets.triples import arch_of, system_of
from stepwell.runtime.warned import warn

_LEVELS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    name: (row.arch, row.features) for name, row in cpu_rows().items()
}
"""
The architecture and features of each level: feature levels of the x86-64 psABI (of each what code generation
uses), the servers with tile registers, what every 64-bit Arm has, and the others of the table.
"""
CPU_LEVELS = ("host", *_LEVELS)
"""The names of CPU levels, as `--mcpu` takes them."""
# Features that select code but that the code does not need: neither LLVM nor an artifact gets them.
_REGISTERS_OF_DIGITS = 32
"""The vector registers that are enough for three sums of some columns each."""
_SIGNS = ("amx-bf16",)
_CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")

TileShares: TypeAlias = tuple[tuple[str, tuple[tuple[int, int, float], ...]], ...]
"""
By class of sums: (rows, vectors of results, speed relative to the best tile), the fastest first.

The share is 0 for a tile that does not fit into the registers.
"""


def tile_shares_of(data: Any) -> TileShares:
    """The tile shares in JSON values. Raises: TypeError or ValueError when they are none."""
    shares = tuple((str(name), tuple((int(m), int(v), float(x)) for m, v, x in rows)) for name, rows in data)
    if any(m < 1 or v < 1 or not 0 <= x <= 1 for _, rows in shares for m, v, x in rows):
        raise ValueError("a tile has rows and vectors, and a share between 0 and 1")
    return shares


class TargetWarning(UserWarning):
    """A target for which no test has run code."""


F32_BYTES = 4
_TESTED: Mapping[str, str] = {
    **dict.fromkeys(("x86_64", "aarch64", "armv7", "riscv64"), "linux"),
    **dict.fromkeys(("thumb", "riscv32"), "none"),
    "wasm32": "",
}
"""The architectures for which tests run code, and the system of each."""
C_TARGET = "c"
"""The row of the table for C source, which is no CPU: LLVM makes no code for it."""
_FMA = {"x86_64": ("fma",), "armv7": ("vfp4",), "thumb": ("vfp4d16sp",), "riscv64": ("f",), "riscv32": ("f",)}
"""The feature by which an architecture has fused multiply-adds."""


@dataclass(frozen=True)
class TargetDescription:
    """
    A target for code generation and for the choosers of schedules.

    Two targets with the same `triple` and `features` get the same code from the same IR; caches and cores
    only steer the choice of tiles.
    """

    triple: str
    features: tuple[str, ...]
    """Names of the CPU features by which code is made, sorted, as LLVM spells them."""
    vector_bytes: int
    """Size of the widest vector register."""
    vector_registers: int
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    l3_bytes: int = 8 << 20
    cores: int = 1
    tile_shares: TileShares = ()
    """The speeds that a calibration measured; empty without one."""
    debug_info: bool = False
    """Whether object code has DWARF lines: those of the printed `llvm` level."""

    def __str__(self) -> str:
        names = [name for name, (arch, _) in _LEVELS.items() if arch == self.arch]
        level = next(name for name in reversed(names) if {*_LEVELS[name][1]} <= {*self.features})
        more = len({*self.features} - {*_LEVELS[level][1]})
        return f"{level} ({self.triple})" + (f" and {more} more features" if more else "")

    @cached_property
    def arch(self) -> str:
        """`x86_64`, `aarch64`, …"""
        return arch_of(self.triple)

    @property
    def pointer_bytes(self) -> int:
        """The size of an address."""
        return 4 if self.arch.startswith(("arm", "thumb", "wasm32", "riscv32")) else 8

    @property
    def is_tested(self) -> bool:
        """
        Whether our tests run code for it: Linux on x86-64, and on emulated CPUs of other architectures;
        WebAssembly and microcontrollers without a system; C.
        """
        return self.arch == C_TARGET or _TESTED.get(self.arch) == system_of(self.triple)

    @cached_property
    def has_fma(self) -> bool:
        """Whether a fused multiply-add is one instruction (elsewhere LLVM calls the C library for it)."""
        return self.arch == "aarch64" or any(name in self.features for name in _FMA.get(self.arch, ()))

    @cached_property
    def has_double(self) -> bool:
        """Whether instructions compute f64: a Cortex-M4 has those of f32 alone."""
        return self.arch not in ("thumb", "riscv32")

    @cached_property
    def has_half(self) -> bool:
        """Whether f16 converts to and from f32 in hardware."""
        return self.arch == "aarch64" or "f16c" in self.features

    @property
    def has_byte_products(self) -> bool:
        """Whether one instruction adds four products of bytes exactly."""
        return "avx512vnni" in self.features or "avxvnni" in self.features

    @property
    def has_digit_products(self) -> bool:
        """
        Whether a product of f32 is faster as three of bytes, if the other factor has few bits: their sums
        need three times as many registers.
        """
        return self.has_byte_products and self.vector_registers >= _REGISTERS_OF_DIGITS

    @property
    def has_bfloat_products(self) -> bool:
        """
        Whether one instruction adds two products of bf16, and does so as fast as one of f32.

        It does on Zen 4 (0.27 ns both, measured); on an Intel CPU with AMX it took up to ten times that.
        """
        return "avx512bf16" in self.features and "amx-bf16" not in self.features

    @property
    def has_tile_products(self) -> bool:
        """Whether tile registers multiply matrices of bytes."""
        return "amx-tile" in self.features and "amx-int8" in self.features

    def scales_by_powers(self, lanes: int) -> bool:
        """
        Whether an instruction multiplies a vector of `lanes` f32 by powers of two, however large or small.
        """
        has_short = lanes in (1, 4, 8) and "avx512vl" in self.features
        return "avx512f" in self.features and (lanes == 16 or has_short)

    @property
    def needed_features(self) -> tuple[str, ...]:
        """The features that code can use, and that a machine must have to run it."""
        return tuple(feature for feature in self.features if feature not in _SIGNS)

    @property
    def feature_string(self) -> str:
        """The features that code may use in LLVM's syntax: `+avx,+avx2`."""
        return ",".join(f"+{feature}" for feature in self.needed_features)

    def to_json(self) -> dict[str, object]:
        """The description as plain JSON values."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        if not self.debug_info:
            del data["debug_info"]  # which keys of caches, and files of before, do not have
        return data

    @staticmethod
    def from_json(data: Mapping[str, object]) -> TargetDescription:
        """The description that `to_json` wrote. Raises: TypeError or KeyError when it is not one."""
        values: dict[str, Any] = dict(data)
        values["features"] = tuple(values["features"])
        values["tile_shares"] = tile_shares_of(values["tile_shares"])
        return TargetDescription(**values)

    @property
    def f32_lanes(self) -> int:
        """The number of f32 in a vector register, by which layouts block channels."""
        return self.lanes(F32_BYTES)

    def lanes(self, element_bytes: int) -> int:
        """The number of elements of a size in a vector register; 1 where it takes several registers."""
        return max(1, self.vector_bytes // element_bytes)


@cache
def host_target() -> TargetDescription:
    """
    The machine that this process runs on, as far as code generation uses it.

    Raises: StepwellError `missing-package` on a system that only LLVM can read, without llvmlite.
    """
    features = granted_features(sorted(cpu_features()), lambda: tile_refusal() is None)
    target = _describe(process_triple(), tuple(features))
    caches = _cache_sizes()
    return replace(
        target,
        l1_bytes=caches.get(1, target.l1_bytes),
        l2_bytes=caches.get(2, target.l2_bytes),
        l3_bytes=caches.get(3, target.l3_bytes),
        cores=usable_cores(),
    )


def target_from(mcpu: str = "host", triple: str | None = None) -> TargetDescription:
    """
    A target by feature level: `host`, or a name of runtime/targets/cpu.csv, such as `x86-64-v3`.

    Args: `triple` overrides the level's (the host's where the architecture agrees, else Linux's).
    Raises: StepwellError `unknown-target`, with the legal names; `bad-option` where both name architectures.
    Warns: TargetWarning for a target that is not tested.
    """
    target = _chosen_target(mcpu, triple)
    if not target.is_tested:
        tested = "Linux on x86-64 is tested, Linux on aarch64, armv7 and riscv64 on an emulated CPU, "
        tested += "and WebAssembly, Cortex-M and 32-bit RISC-V without a system"
        warn(f"nobody has tested code for {target.triple}: {tested}", TargetWarning)
    return target


def expect_machine(target: TargetDescription) -> None:
    """Require a target that has machine code. Raises: StepwellError `bad-option` for C source."""
    if target.arch == C_TARGET:
        message = f"the target {C_TARGET} is C source, of which no machine code is made here"
        raise StepwellError("bad-option", None, message, help="-o FILE.c, or --emit loops and above")


def runnable_levels() -> list[str]:
    """The CPU levels whose code this machine runs."""
    host = host_target()
    return [
        "host",
        *(
            name
            for name, (arch, names) in _LEVELS.items()
            if arch == host.arch and {*names} <= {*host.features} and not cpu_rows()[name].has_own_system
        ),
    ]


def _chosen_target(mcpu: str, triple: str | None) -> TargetDescription:
    if mcpu in ("host", "native"):
        return host_target() if triple is None else _host_as(triple)
    if mcpu not in _LEVELS:
        raise StepwellError(
            "unknown-target",
            None,
            f"no target is named {mcpu!r}",
            help=f"{did_you_mean(mcpu, CPU_LEVELS)}the targets are {', '.join(CPU_LEVELS)}",
        )
    arch, features = _LEVELS[mcpu]
    if triple is not None and arch_of(triple) != arch:
        message = f"--mcpu {mcpu} has the features of {arch}, and the target is {triple}"
        raise StepwellError("bad-option", None, message, help="leave one of them out")
    if triple is None:
        host, row = host_target(), cpu_rows()[mcpu]
        triple = host.triple if host.arch == arch and not row.has_own_system else row.triple
    return replace(_describe(triple, tuple(sorted(features))), cores=usable_cores())


def _host_as(triple: str) -> TargetDescription:
    """
    This machine with another triple; for another architecture, a CPU with the features that all of its CPUs
    have.
    """
    host, arch = host_target(), arch_of(triple)
    if arch == host.arch:
        return replace(host, triple=triple)
    features = next((features for known, features in _LEVELS.values() if known == arch), ())
    return replace(_describe(triple, tuple(sorted(features))), cores=host.cores)


def described(triple: str, features: Sequence[str]) -> TargetDescription:
    """The target of code that uses some features, with caches of a usual size. Raises: `unknown-target`."""
    return _describe(triple, tuple(features))


def _describe(triple: str, features: tuple[str, ...]) -> TargetDescription:
    arch = arch_of(triple)
    if arch == "x86_64":
        if "avx512f" in features and "avx512vl" in features:
            return TargetDescription(triple, features, 64, 32)
        return TargetDescription(triple, features, 32 if "avx2" in features else 16, 16)
    if (row := level_of(arch, frozenset(features)) or _lowest(arch)) is not None:
        return TargetDescription(triple, features, row.vector_bytes, row.vector_registers)
    help = f"{did_you_mean(triple, CPU_LEVELS)}CPU levels are {', '.join(CPU_LEVELS)}, "
    help += f"and a triple begins with {', '.join(dict.fromkeys(arch for arch, _ in _LEVELS.values()))}"
    raise StepwellError("unknown-target", None, f"no code is made for {triple}", help=help)


def _lowest(arch: str) -> CpuRow | None:
    """The lowest level of an architecture, for code that does not even use that."""
    return next((row for row in cpu_rows().values() if row.arch == arch), None)


def _cache_sizes() -> Mapping[int, int]:
    """Bytes of the data caches by level, as Linux reports them; empty on other systems."""
    sizes: dict[int, int] = {}
    for index in sorted(_CACHE_FOLDER.glob("index*")):
        try:
            if (index / "type").read_text().strip() == "Instruction":
                continue
            level = int((index / "level").read_text())
            text = (index / "size").read_text().strip()
            sizes[level] = int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0)
        except (OSError, ValueError):
            continue
    return sizes
