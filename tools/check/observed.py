"""The inputs and results of a program's kernels in a run of level 1, by the functions that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.lowering.interpret.machine import interpret
from stepwell.passes.base import Numerics
from stepwell.runtime.meaning import Array
from stepwell.tools.check.validation import Known
from stepwell.tools.driver.compilation import Compilation, kernels_of


@dataclass(frozen=True)
class Observed:
    """A `graph.fused` that ran: values of operands and results, the symbols, and the class of its roundings."""

    operands: Sequence[Array]
    results: Sequence[Array]
    symbols: Mapping[str, int]
    numerics: Numerics

    def known(self, call: func.CallOp, kernel: func.FuncOp) -> Known | None:
        """The inputs of a kernel function in a call, and its results; None where a size is not known."""
        interface = kernel_of(kernel)
        assert interface is not None
        sizes = [_constant(value) for value in call.operands[interface.inputs.data :]]
        for position, name in enumerate(interface.symbol_names):
            if sizes[position] is None:
                sizes[position] = self.symbols.get(name)
        if None in sizes or len(self.operands) != interface.inputs.data:
            return None
        return Known([*self.operands, *(np.array(size) for size in sizes)], self.results)


def _constant(value: SSAValue) -> int | None:
    """The number that an index is, as far as it can be seen."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


class Observation:
    """
    One run of level 1, with what each kernel got and gave in its first call.

    Args: `compilation` is at level 1, and goes on to level 2 later: `calls` finds the kernels there.
    """

    def __init__(self, compilation: Compilation, inputs: Sequence[Array]):
        self._seen: dict[Operation, Observed] = {}
        self._order = [op for f in _with_bodies(compilation.module) for op in f.body.walk()]
        self._order = [op for op in self._order if isinstance(op, graph.FusedOp)]
        self.results = interpret(compilation.module, compilation.ctx, "main", inputs, observe=self._observe)

    def _observe(
        self, op: Operation, operands: Sequence[Array], results: Sequence[Array], symbols: Mapping[str, int]
    ) -> None:
        if op not in self._seen:
            rounds = any("quantize" in inner.name for inner in op.walk())
            numerics = Numerics.QUANTIZED if rounds else Numerics.ROUNDING
            self._seen[op] = Observed(list(operands), list(results), dict(symbols), numerics)

    def calls(self, module: ModuleOp) -> list[tuple[func.FuncOp, func.CallOp, Observed]]:
        """
        The kernels of the program at level 2 with their calls, of those that ran.

        `convert-graph-to-linalg` makes one call of each `graph.fused`, in their order.
        """
        kernels = {f.sym_name.data: f for f in kernels_of(module)}
        functions = [f for f in _with_bodies(module) if f.sym_name.data not in kernels]
        calls = [op for f in functions for op in f.body.walk() if isinstance(op, func.CallOp)]
        calls = [op for op in calls if op.callee.string_value() in kernels]
        return [
            (kernels[call.callee.string_value()], call, self._seen[op])
            for op, call in zip(self._order, calls, strict=True)
            if op in self._seen
        ]


def _with_bodies(module: ModuleOp) -> list[func.FuncOp]:
    return [f for f in module.ops if isinstance(f, func.FuncOp) and not f.is_declaration]
