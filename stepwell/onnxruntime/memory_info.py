"""Descriptions of memory and allocators, for programs that make them; all memory here is the CPU's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from stepwell.onnxruntime.enums import (
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
)


@dataclass(frozen=True)
class OrtMemoryInfo:
    """A kind of memory, by name."""

    name: str
    allocator_type: OrtAllocatorType
    device_id: int
    mem_type: OrtMemType
    device_mem_type: OrtDeviceMemoryType = OrtDeviceMemoryType.DEFAULT
    device_vendor_id: int = 0

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        """Memory of a device, described by its vendor; alignments are those of the compiled code."""
        return OrtMemoryInfo(name, allocator_type, device_id, OrtMemType.DEFAULT, device_mem_type, vendor_id)


CPU_MEMORY = OrtMemoryInfo("Cpu", OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 0, OrtMemType.DEFAULT)
"""The memory of inputs and outputs."""


@dataclass
class _ArenaFields:
    max_mem: int = 0
    arena_extend_strategy: int = -1
    initial_chunk_size_bytes: int = -1
    max_dead_bytes_per_chunk: int = -1
    initial_growth_chunk_size_bytes: int = -1
    max_power_of_two_extend_bytes: int = -1


class OrtArenaCfg(_ArenaFields):
    """Sizes of an arena, four numbers in order or a dictionary of all; nothing reads them."""

    def __init__(self, *sizes: int | Mapping[str, int]):
        names = [each.name for each in fields(_ArenaFields)]
        given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Mapping) else None
        if given is None:
            given = {name: size for name, size in zip(names, sizes, strict=False) if isinstance(size, int)}
        if unknown := sorted(set(given) - set(names)):
            raise ValueError(f"Invalid OrtArenaCfg option: {unknown[0]}")
        super().__init__(**given)


def create_and_register_allocator(memory: OrtMemoryInfo, arena: OrtArenaCfg | None = None) -> None:
    """Nothing to do: sessions plan their memory when they compile."""


def create_and_register_allocator_v2(
    provider: str, memory: OrtMemoryInfo, options: Mapping[str, str], arena: OrtArenaCfg | None = None
) -> None:
    """Nothing to do: sessions plan their memory when they compile."""
