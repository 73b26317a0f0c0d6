"""Sizes that depend on data: the defining op binds the symbol at run time."""

from __future__ import annotations

import numpy as np

from stepwell.dialects import graph
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.lowering.interpret.engine import Compiler, Frame, Step, Value, implements, implements_in_frame
from stepwell.runtime.errors import StepwellError


@implements_in_frame("graph.bind_sizes")
def prepare_bind_sizes(op: graph.BindSizesOp, compiler: Compiler) -> Step:
    """The elements of a tensor as sizes, bound to symbols."""
    machine = compiler.machine
    names = [name for name, _ in defined_symbols(op)]

    def run(frame: Frame, values: Value) -> Value:
        sizes = [int(value) for value in np.asarray(values).reshape(-1)]
        if op.signed is not None:
            sizes = [part for size in sizes for part in (max(size, 0), max(-size, 0))]
        return _define(op, names, sizes, machine.symbols)

    return run


@implements_in_frame("graph.define_sizes")
def prepare_define_sizes(op: graph.DefineSizesOp, compiler: Compiler) -> Step:
    """The values of expressions as sizes, bound to symbols."""
    machine = compiler.machine
    names, dims = [name for name, _ in defined_symbols(op)], op.dims.get()

    def run(frame: Frame) -> Value:
        return _define(op, names, [dim.evaluate(machine.symbols) for dim in dims], machine.symbols)

    return run


@implements("graph.check_indices")
def prepare_check_indices(op: graph.CheckIndicesOp) -> Step:
    """Nothing: the meanings of the ops that read indices check them."""

    def run(values: Value) -> tuple[()]:
        return ()

    return run


def _define(
    op: graph.BindSizesOp | graph.DefineSizesOp, names: list[str], sizes: list[int], symbols: dict[str, int]
) -> Value:
    """Bind symbols to sizes, none of which may be negative; returns the sizes."""
    if negative := [size for size in sizes if size < 0]:
        raise StepwellError("bad-size", op, f"a size that depends on data is {negative[0]}")
    symbols.update(zip(names, sizes, strict=True))
    return sizes[0] if len(sizes) == 1 else tuple(sizes)
