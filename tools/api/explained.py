"""The text of `Schedule.explain`: loop nests with extents and bytes read, and the code that they became."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from stepwell.dialects.tensor_ir.structured import linear, tensor_element, tensor_shape
from stepwell.dialects.types import element_bytes
from stepwell.lowering.kernels.machine import vector_spills
from stepwell.passes.analysis.scripts.nest import Kind, Nest

_VECTOR_REGISTER = re.compile(r"%[xyz]mm(\d+)|\b[vqz](\d+)\b")


def nest_lines(nest: Nest) -> Iterator[str]:
    """The formula, and a line for each loop with extent, kind, and the bytes read by an iteration."""
    yield str(nest.formula)
    for depth, loop in enumerate(nest.loops):
        kind = "" if nest.kind(loop) is Kind.SERIAL else f", {nest.kind(loop).value}"
        extent = "?" if loop.extent is None else loop.extent
        found = bytes_read(nest, depth)
        reads = "" if found is None else f": {found:,} bytes"
        yield f"{'  ' * (depth + 1)}for {loop.name} in 0..{extent}{kind}{reads}"


def bytes_read(nest: Nest, depth: int) -> int | None:
    """
    The bytes of inputs that one iteration of the loop at a depth reads; None if the number is not known.
    """
    spans = list(nest.view.extents)
    for loop in nest.loops[: depth + 1]:
        spans[loop.dim] = loop.step
    total = 0
    for value, map in zip(nest.view.inputs, nest.view.maps, strict=False):
        if not (shape := tensor_shape(value)):
            continue
        sizes: list[int] = []
        for extent, expr in zip(shape, map.results, strict=True):
            index = linear(expr)
            terms = None if index is None else [(spans[dim], factor) for dim, factor in index.terms]
            if terms is None or any(span is None for span, _ in terms):
                sizes.append(extent)
            else:
                size = 1 + sum(abs(factor) * ((span or 1) - 1) for span, factor in terms)
                sizes.append(size if extent < 0 else min(size, extent))
        if any(size < 0 for size in sizes):
            return None
        total += prod(sizes) * element_bytes(tensor_element(value))
    return total


def code_line(name: str, assembly: str) -> str:
    """The vector registers that the code of a kernel uses, and its spills."""
    used = {match[1] or match[2] for match in _VECTOR_REGISTER.finditer(assembly)}
    return f"{name}: {len(used)} vector registers, {vector_spills(assembly)} spills"
