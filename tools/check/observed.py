"""The inputs and results of a program's kernels in a run of level 1, by the functions that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.lowering.interpret import Noise, interpret, numpy_dtype
from stepwell.passes.base import Numerics
from stepwell.runtime.meaning import Array
from stepwell.tools.check.judgement import slack_of
from stepwell.tools.check.validation import Known, roundings_of
from stepwell.tools.driver.compilation import Compilation, kernels_of


@dataclass(frozen=True)
class Observed:
    """A `graph.fused` that ran: values of operands and results, symbols, the class of its roundings."""

    operands: Sequence[Array]
    results: Sequence[Array]
    slack: Sequence[float]
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
        given = with_elements_of(self.operands, kernel.function_type.inputs.data)
        wanted = with_elements_of(self.results, kernel.function_type.outputs.data)
        return Known([*given, *(np.array(size) for size in sizes)], wanted, self.slack)


def with_elements_of(arrays: Sequence[Array], types: Sequence[Attribute]) -> list[Array]:
    """Arrays of level 1 with the elements of types of level 2, on which integers have no sign."""
    found: list[Array] = []
    for array, type in zip(map(np.asarray, arrays), types, strict=False):
        dtype = numpy_dtype(type)
        same_bits = {array.dtype.kind, dtype.kind} == {"i", "u"} and array.dtype.itemsize == dtype.itemsize
        found.append(array.view(dtype) if same_bits else array)
    return found


def _constant(value: SSAValue) -> int | None:
    """The number that an index is, as far as it can be seen."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


class Observation:
    """
    A run of level 1, with the inputs and results of each kernel in its first call.

    Args: `compilation` is at level 1, and goes on to level 2 later: `calls` finds the kernels there.
    """

    def __init__(self, compilation: Compilation, inputs: Sequence[Array]):
        self._seen: dict[Operation, Observed] = {}
        functions = _with_bodies(compilation.module)
        self._order = [op for f in functions for op in f.body.walk() if isinstance(op, graph.FusedOp)]
        module, ctx = compilation.module, compilation.ctx
        self.results = interpret(module, ctx, "main", inputs, observe=self._observe)
        self.slack = slack_of(interpret(module, ctx, "main", inputs, noise=Noise()), self.results)
        """For each result of the program, what roundings may do."""

    def _observe(
        self,
        op: Operation,
        operands: Sequence[Array],
        results: Sequence[Array],
        noisy: Sequence[Array],
        symbols: Mapping[str, int],
    ) -> None:
        if op not in self._seen:
            slack = slack_of(noisy, results)
            self._seen[op] = Observed(list(operands), list(results), slack, dict(symbols), roundings_of(op))

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
