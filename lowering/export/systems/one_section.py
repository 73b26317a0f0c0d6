"""Code and weights in one section, so that an object file needs no relocations."""

from __future__ import annotations

from stepwell.lowering.export.elf_shared import patched
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.runtime.abi import ARENA_ALIGNMENT


def one_section(parts: Parts) -> tuple[list[Chunk], int, int]:
    """The contents of the section, its size and alignment."""
    code = parts.code
    alignment = max(code.alignment, ARENA_ALIGNMENT)
    if not parts.weights:
        return [code.contents], len(code.contents), alignment
    gap = -len(code.contents) % ARENA_ALIGNMENT
    weights = len(code.contents) + gap
    chunks: list[Chunk] = [patched(parts, 0, weights), bytes(gap), *weight_chunks(parts.weights)]
    return chunks, weights + parts.weight_bytes, alignment
