"""Structured ops whose body combines each output with one independent value: reductions that numpy has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Operation, SSAValue

from stepwell.lowering.interpret.engine import Compiler, Value
from stepwell.lowering.interpret.grids import Array

_UFUNCS: Mapping[str, tuple[np.ufunc, bool]] = {
    "arith.addf": (np.add, False),
    "arith.addi": (np.add, False),
    "arith.mulf": (np.multiply, False),
    "arith.muli": (np.multiply, False),
    "arith.maximumf": (np.maximum, False),
    "arith.minimumf": (np.minimum, False),
    "arith.maxnumf": (np.fmax, False),
    "arith.minnumf": (np.fmin, False),
    "arith.maxsi": (np.maximum, False),
    "arith.minsi": (np.minimum, False),
    "arith.maxui": (np.maximum, True),
    "arith.minui": (np.minimum, True),
    "arith.andi": (np.bitwise_and, False),
    "arith.ori": (np.bitwise_or, False),
    "arith.xori": (np.bitwise_xor, False),
}


@dataclass(frozen=True)
class Combiner:
    """The reduction of one output: a numpy function and the slot of the combined value."""

    function: np.ufunc
    unsigned: bool
    slot: int
    """The slot in which the body leaves the value to combine."""

    def reduce(self, value: Value, output: Array, shape: Sequence[int], reductions: Sequence[int]) -> Array:
        """
        The output combined with a grid of values of `shape`; sums and products of floats are computed in f64.
        """
        bits = np.dtype(f"u{output.itemsize}") if self.unsigned else output.dtype
        exact = bits
        if output.dtype.kind not in "iub" and self.function in (np.add, np.multiply):
            exact = np.dtype(np.float64)
        values: Any = np.broadcast_to(np.asarray(value, output.dtype), shape)
        if self.unsigned:
            values = np.ascontiguousarray(values).view(bits)
        total = self.function.reduce(values, axis=tuple(reductions), keepdims=True, dtype=exact)
        start = np.ascontiguousarray(output).view(bits) if self.unsigned else output
        return self.function(start.astype(exact), total).astype(bits).view(output.dtype)


def combiners_of(op: LinalgStructuredOperation, compiler: Compiler) -> list[Combiner] | None:
    """The reduction of each output of an op; None when its body uses an output in another way."""
    block = op.body.block
    accumulators = list(block.args[len(op.inputs) :])
    if block.last_op is None or not accumulators:
        return None
    combiners: list[Combiner] = []
    for value, acc in zip(block.last_op.operands, accumulators, strict=True):
        combine = value.owner
        if not isinstance(combine, Operation) or combine.name not in _UFUNCS:
            return None
        others = [operand for operand in combine.operands if operand is not acc]
        if len(others) != 1 or not acc.has_one_use() or _depends_on(others[0], accumulators):
            return None
        function, unsigned = _UFUNCS[combine.name]
        if function is np.add and _is_bit(value):
            function = np.bitwise_xor
        combiners.append(Combiner(function, unsigned, compiler.slot(others[0])))
    return combiners


def _is_bit(value: SSAValue) -> bool:
    return getattr(getattr(value.type, "width", None), "data", 0) == 1


def _depends_on(value: SSAValue, sources: Sequence[SSAValue]) -> bool:
    """Whether a value of a structured op's body is computed from any of some others."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        current = pending.pop()
        if current in sources:
            return True
        if current in seen or not isinstance(current.owner, Operation):
            continue
        seen.add(current)
        pending += [operand for inner in current.owner.walk() for operand in inner.operands]
    return False
