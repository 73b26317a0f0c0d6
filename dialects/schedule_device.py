"""Schedules of devices: levels bound to blocks, warps and threads, staged operands, pipelined copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.schedule_levels import BINDS, Level, ints, print_ints, values

KEYS = ("stage", "stages", "copy_bytes", "intrinsic", "split", "split_k")
"""The keys of a `#sched.schedule` for devices, in the order of the text."""
_BLOCK, _WARP, _THREAD = BINDS
WARP_THREADS = 32
"""The threads of a warp, which share a tile of an instruction."""

_COPY_BYTES = (1, 4, 8, 16)
SHUFFLE = "shuffle"
"""The intrinsic of reductions whose threads exchange values of a warp."""
SUBGROUP = "subgroup"
"""That of reductions by an instruction over subgroups, whose size only the device knows."""


@dataclass(frozen=True)
class OnDevice:
    """The part of a schedule that only devices with blocks of threads have."""

    stage: tuple[int, ...] = ()
    """The operands that a block copies to its memory, tile by tile."""
    stages: int = 1
    """The tiles of an operand that are in memory at once: the next are copied before products of one."""
    copy_bytes: int = 1
    """The most bytes of neighbouring elements that a thread copies together; 1 for an element."""
    intrinsic: str = ""
    """The instruction for tiles of products."""
    split: int = 1
    """The number of instructions for one product in more digits, 1 for one."""
    split_k: int = 1
    """The parts of the sums, each by blocks of its own; another kernel adds them up in their order."""

    def attr(self) -> DictionaryAttr:
        """The keys that differ from their defaults."""
        found: dict[str, Attribute] = {}
        if self.stage:
            found["stage"] = ints(self.stage)
        if self.stages != 1:
            found["stages"] = IntAttr(self.stages)
        if self.copy_bytes != 1:
            found["copy_bytes"] = IntAttr(self.copy_bytes)
        if self.intrinsic:
            found["intrinsic"] = StringAttr(self.intrinsic)
        if self.split != 1:
            found["split"] = IntAttr(self.split)
        if self.split_k != 1:
            found["split_k"] = IntAttr(self.split_k)
        return DictionaryAttr(found)

    @staticmethod
    def of(attr: DictionaryAttr) -> OnDevice:
        """The keys of an attribute."""
        found = attr.data
        return OnDevice(
            values(cast("ArrayAttr[IntAttr]", found["stage"])) if "stage" in found else (),
            _number(found.get("stages")),
            _number(found.get("copy_bytes")),
            intrinsic.data if isinstance(intrinsic := found.get("intrinsic"), StringAttr) else "",
            _number(found.get("split")),
            _number(found.get("split_k")),
        )


def print_on_device(printer: Printer, attr: DictionaryAttr) -> None:
    """The keys, each after a comma."""
    for key in KEYS:
        if (value := attr.data.get(key)) is None:
            continue
        printer.print_string(f", {key} = ")
        if isinstance(value, IntAttr):
            printer.print_int(_number(cast(Attribute, value)))
        elif isinstance(value, StringAttr):
            printer.print_string_literal(value.data)
        else:
            print_ints(cast("ArrayAttr[IntAttr]", value), printer)


def block_threads(levels: Sequence[Level]) -> int:
    """The threads of a block: the tiles of its innermost bound level, 32 threads for that of a warp."""
    outer, inner = levels[0].tile, levels[-1]
    tiles = prod(a // b for a, b in zip(outer, inner.tile, strict=True) if b)
    return tiles * (WARP_THREADS if inner.bind == _WARP else 1)


def verify_bound(levels: Sequence[Level], on_device: OnDevice) -> None:
    """
    Require levels of blocks, then of warps or threads, whose tiles divide one another (C8), (C9).

    Raises: VerifyException.
    """
    binds = [level.bind for level in levels]
    if not any(binds):
        if on_device != OnDevice():
            raise VerifyException(f"{', '.join(on_device.attr().data)} needs levels with `bind`")
        return
    if binds not in ([_BLOCK, _THREAD], [_BLOCK, _WARP]):
        found = ", ".join(bind or "none" for bind in binds)
        raise VerifyException(f"levels are bound to block and thread, or to block and warp; found {found}")
    if any(level.order or level.parallel for level in levels):
        raise VerifyException("bound levels have no order and no parallel loops: they run at once")
    outer, inner = (level.tile for level in levels)
    for loop, (a, b) in enumerate(zip(outer, inner, strict=True)):
        if b and a % b:
            raise VerifyException(f"the tiles of loop {loop} must divide one another, found {b} in {a}")
    if min(numbers := (on_device.stages, on_device.split, on_device.split_k)) < 1:
        found = ", ".join(map(str, numbers))
        raise VerifyException(f"stages, split and split_k are at least 1, found {found}")
    if on_device.stages > 1 and not on_device.stage:
        raise VerifyException(f"stages = {on_device.stages} needs operands to `stage`")
    if on_device.copy_bytes not in _COPY_BYTES:
        raise VerifyException(f"copy_bytes is one of {list(_COPY_BYTES)}, found {on_device.copy_bytes}")
    if on_device.copy_bytes > 1 and not on_device.stage:
        raise VerifyException(f"copy_bytes = {on_device.copy_bytes} needs operands to `stage`")
    if list(on_device.stage) != sorted(set(on_device.stage)) or any(n < 0 for n in on_device.stage):
        raise VerifyException(f"stage names operands in order, found {list(on_device.stage)}")
    if bool(on_device.intrinsic) != (binds[1] == _WARP):
        found = f"intrinsic {on_device.intrinsic!r} with levels of {binds[0]} and {binds[1]}"
        raise VerifyException(f"levels of block and warp need an intrinsic, others have none; found {found}")


def _number(attr: Attribute | None) -> int:
    return cast(IntAttr, attr).data if attr is not None else 1
