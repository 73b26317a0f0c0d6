"""Memory by space: the device's memory by address, and an array for each block and each thread."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stepwell.lowering.interpret.lanes.shadow import Shadow
from stepwell.lowering.interpret.lanes.state import Group
from stepwell.lowering.interpret.ptx.reader import Instruction
from stepwell.lowering.interpret.ptx.values import DType, Mask, Value
from stepwell.runtime.errors import StepwellError


@dataclass(eq=False)
class Region:
    """Bytes at an address; of the memory of blocks or threads, the bytes of each after one another."""

    base: int
    data: Any
    name: str
    row_bytes: int = 0
    """The bytes of each block or thread; 0 for memory of the device."""
    written: Any = None
    """Whether each byte was written; None where that is not checked."""
    shadow: Shadow | None = None
    unit: int = 1
    """The bytes of a cell of the shadow."""
    _views: dict[DType, Any] = field(default_factory=dict["DType", Any])

    @property
    def nbytes(self) -> int:
        """The bytes that an address may reach."""
        return self.row_bytes or int(self.data.size)

    def view(self, dtype: DType) -> Any:
        """The bytes as elements."""
        if (found := self._views.get(dtype)) is None:
            whole = self.data.size // dtype.itemsize * dtype.itemsize
            found = self._views[dtype] = self.data[:whole].view(dtype)
        return found


@dataclass(eq=False)
class Access:
    """An access of the active lanes by an instruction."""

    instruction: Instruction
    group: Group
    mask: Mask
    bytes_each: int
    is_store: bool
    region: Any = None
    offsets: Value = None
    """The first byte in the region, for each active lane or for all."""
    lanes: Value | None = None
    """The active lanes; None for all."""

    def index(self, itemsize: int) -> Value:
        """The position in elements."""
        return self.offsets >> (itemsize.bit_length() - 1)

    def outside(self, position: int, place: str) -> StepwellError:
        """The error about an address that no buffer has."""
        message = f"{self.thread(position)} accesses {place}: {self.instruction}"
        return self.group.in_kernel(StepwellError("out-of-bounds", None, message))

    def thread(self, position: int) -> str:
        """The thread of a position among the active lanes."""
        if self.lanes is not None:
            position = int(self.lanes[position])
        elif self.mask is not None:
            position = int(np.argmax(self.mask))
        return f"thread {self.group.thread_text(position)} of block {self.group.block_text(position)}"

    def place(self, position: int) -> str:
        """The byte of a position among the active lanes."""
        flat = np.atleast_1d(self.offsets)
        offset, row = int(flat[position if flat.size > 1 else 0]), self.region.row_bytes
        return f"{self.region.name}, byte {offset % row if row else offset}"

    def active_lanes(self) -> Value:
        """The numbers of the lanes."""
        if self.lanes is not None:
            return self.lanes
        return np.arange(self.group.lanes) if self.mask is None else np.flatnonzero(self.mask)


class Space:
    """Regions of memory in the order of their addresses."""

    def __init__(self, regions: Sequence[Region]):
        self._regions = sorted(regions, key=lambda region: region.base)
        self._bases = [region.base for region in self._regions]

    def access(self, access: Access, address: Value, rows: Value | None) -> None:
        """
        Find the bytes at an address in each active lane, and check them.

        Args: `rows` are the blocks or threads whose memory is accessed, None for memory of the device.
        Raises: StepwellError `out-of-bounds`, `uninitialized-read`, `data-race`.
        """
        mask = access.mask
        if mask is not None and (address.ndim or (rows is not None and np.ndim(rows))):
            access.lanes = lanes = np.flatnonzero(mask)
            address = address[lanes] if address.ndim else address
            rows = rows[lanes] if rows is not None and np.ndim(rows) else rows
        addresses = np.asarray(address).view(np.int64)
        low, high = int(addresses.min()), int(addresses.max())
        region = self._at(low)
        if region is None or high + access.bytes_each > region.base + region.nbytes:
            raise self._outside(access, addresses)
        access.region = region
        access.offsets = offsets = addresses - region.base if region.base else addresses
        if int(np.bitwise_or.reduce(offsets, axis=None)) & (access.bytes_each - 1):
            position = int(np.argmax(np.atleast_1d(offsets) & (access.bytes_each - 1) != 0))
            raise access.outside(position, f"an address that is no multiple of {access.bytes_each}")
        if rows is not None and np.ndim(rows):
            access.offsets = offsets + rows * region.row_bytes
        if region.written is not None:
            _check_written(access)
        if region.shadow is not None:
            _check_races(access, region.shadow)

    def _at(self, address: int) -> Region | None:
        """The last region that begins at an address or before."""
        position = bisect_right(self._bases, address)
        return self._regions[position - 1] if position else None

    def _outside(self, access: Access, addresses: Value) -> StepwellError:
        """The error about the first lane whose address is in no region."""
        for position, address in enumerate(np.atleast_1d(addresses).tolist()):
            region = self._at(address)
            if region is not None and address + access.bytes_each <= region.base + region.nbytes:
                continue
            place = f"address {address:#x}, which no buffer has"
            if region is not None:
                place = f"{region.name}, byte {address - region.base} of {region.nbytes}"
            return access.outside(position, place)
        return access.instruction.unsupported("lanes access several buffers by one instruction")


def _check_written(access: Access) -> None:
    """Note what is stored, and require it for loads. Raises: StepwellError `uninitialized-read`."""
    written, offsets = access.region.written, access.offsets
    if access.is_store:
        for byte in range(access.bytes_each):
            written[offsets + byte] = True
    elif not (found := np.atleast_1d(written[offsets])).all():
        position = int(np.argmin(found))
        message = f"{access.thread(position)} reads {access.place(position)}, which no thread has written"
        message = f"{message}: {access.instruction}"
        raise access.group.in_kernel(StepwellError("uninitialized-read", None, message))


def _check_races(access: Access, shadow: Shadow) -> None:
    """Note who accesses what. Raises: StepwellError `data-race`."""
    region, group, lanes = access.region, access.group, access.active_lanes()
    cells = np.broadcast_to(access.offsets, lanes.shape) // region.unit
    record = shadow.store if access.is_store else shadow.load
    threads, epochs = group.lane_numbers[lanes], group.epochs[lanes]
    for part in range(max(1, access.bytes_each // region.unit)):
        found = record(access.instruction, cells + part, threads, epochs)
        if found is not None:
            pair = group.pair_text(found.first, found.second)
            between = "without a barrier between" if pair.startswith("threads") else "in one launch"
            message = f"{pair} access {access.place(found.position)} {between}: {found.op}, then"
            raise group.in_kernel(StepwellError("data-race", None, f"{message} {access.instruction}"))
