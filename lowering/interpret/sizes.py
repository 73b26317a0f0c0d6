"""Sizes that depend on data: the defining op binds the symbol at run time."""

from __future__ import annotations

import numpy as np

from stepwell.dialects import graph
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.lowering.interpret.engine import Compiler, Frame, Step, Value, implements_in_frame
from stepwell.lowering.main_to_buffers import error_row
from stepwell.runtime.interface import MAX_TENSOR_BYTES, Array
from stepwell.runtime.meaning.indexing import OutOfRange, expect_inside


@implements_in_frame("graph.bind_sizes")
def prepare_bind_sizes(op: graph.BindSizesOp, compiler: Compiler) -> Step:
    """The elements of a tensor as sizes, bound to symbols."""
    names = [name for name, _ in defined_symbols(op)]

    def run(frame: Frame, values: Value) -> Value:
        sizes = [int(value) for value in np.asarray(values).reshape(-1)]
        if op.signed is not None:
            sizes = [part for size in sizes for part in (max(size, 0), max(-size, 0))]
        return _define(op, names, sizes, frame.scope.symbols)

    return run


@implements_in_frame("graph.define_sizes")
def prepare_define_sizes(op: graph.DefineSizesOp, compiler: Compiler) -> Step:
    """The values of expressions as sizes, bound to symbols."""
    names, dims = [name for name, _ in defined_symbols(op)], op.dims.get()

    def run(frame: Frame) -> Value:
        return _define(op, names, [dim.evaluate(frame.scope.symbols) for dim in dims], frame.scope.symbols)

    return run


@implements_in_frame("graph.check_indices")
def prepare_check_indices(op: graph.CheckIndicesOp, compiler: Compiler) -> Step:
    """A check that indices, or each number of a position, are inside of a dimension."""
    sizes, least = op.sizes.get(), None if op.access is None else 0

    def run(frame: Frame, indices: Array) -> tuple[()]:
        for column, size in enumerate(sizes):
            column_indices = indices[..., column] if len(sizes) > 1 else indices
            expect_inside(column_indices, size.evaluate(frame.scope.symbols), least)
        return ()

    return run


@implements_in_frame("graph.check_accesses")
def prepare_check_accesses(op: graph.CheckAccessesOp, compiler: Compiler) -> Step:
    """A check that a kernel has not recorded an access outside."""

    def run(frame: Frame, record: Array) -> tuple[()]:
        number, index, extent = map(int, record)
        if number == op.number.value.data:
            raise error_row(op).error(index, extent)
        return ()

    return run


@implements_in_frame("graph.check_offsets")
def prepare_check_offsets(op: graph.CheckOffsetsOp, compiler: Compiler) -> Step:
    """A check that offsets are between 0 and their limits."""
    pairs = list(zip(op.offsets.get(), op.limits.get(), strict=True))

    def run(frame: Frame) -> tuple[()]:
        for offset, limit in pairs:
            at, last = (dim.evaluate(frame.scope.symbols) for dim in (offset, limit))
            if not 0 <= at <= last:
                raise OutOfRange(at, last)
        return ()

    return run


def _define(
    op: graph.BindSizesOp | graph.DefineSizesOp, names: list[str], sizes: list[int], symbols: dict[str, int]
) -> Value:
    """Bind symbols to sizes, which must be possible; returns the sizes."""
    for size in sizes:
        if not 0 <= size <= MAX_TENSOR_BYTES:
            raise error_row(op).error(size, MAX_TENSOR_BYTES)
    symbols.update(zip(names, sizes, strict=True))
    return sizes[0] if len(sizes) == 1 else tuple(sizes)
