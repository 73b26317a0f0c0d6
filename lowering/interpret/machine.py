"""Runs a function of a module on numpy arrays: levels 1, 2 and 3."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.sched_program import WEIGHT
from stepwell.dialects.types import WeightAttr, dims_of
from stepwell.lowering.interpret import (
    buffers,
    control_flow,
    extended_ops,
    functions,
    graph_ops,
    host_calls,
    regions,
    scalars,
    sizes,
    structured,
    tensors,
    tiles,
    transfers,
    vectors,
)
from stepwell.lowering.interpret.engine import Compiler, Program, Value
from stepwell.lowering.interpret.signature import Signature
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array

OPS = (
    buffers,
    control_flow,
    extended_ops,
    functions,
    graph_ops,
    host_calls,
    regions,
    scalars,
    sizes,
    structured,
    tensors,
    tiles,
    transfers,
    vectors,
)
"""The files with the steps of the ops."""


def interpret(
    module: ModuleOp, ctx: Context, function: str = "main", inputs: Sequence[Array] = ()
) -> list[Array]:
    """
    Run a function on arrays.

    Args: `inputs` are the function's tensors, or its input buffers, and are not changed; outputs, scratch and
    the values of symbols are added.
    Returns: its results, or its output buffers; without `#sched.kernel`, the final contents of all buffers.
    Raises: StepwellError `unsupported-op`, `unknown-function`, `run-time` or `bad-inputs`.
    """
    machine = _Machine(module, ctx)
    target = machine.functions.get(function)
    if target is None:
        names = ", ".join(machine.functions)
        raise StepwellError(
            "unknown-function", None, f"no function is named {function!r}", help=f"there are: {names}"
        )
    signature = Signature.of(target)
    machine.symbols = signature.symbols(inputs)
    arguments = signature.arguments(inputs, machine.symbols)
    with np.errstate(all="ignore"):
        results = machine.call(function, arguments, target)
    return signature.results(arguments, results)


class _Machine:
    """A module, its functions and global state, ready to be interpreted."""

    def __init__(self, module: ModuleOp, ctx: Context):
        self.weights = weights_of(ctx)
        self.functions = {f.sym_name.data: f for f in module.walk() if isinstance(f, func.FuncOp)}
        self.symbols: dict[str, int] = {}
        """The sizes of the model's symbolic dimensions."""
        self.tiles: list[Array] = []
        """The tile registers of the last `amx.configure`."""
        self._depth = 0
        self._globals = {g.sym_name.data: g for g in module.walk() if isinstance(g, memref.GlobalOp)}
        self._programs: dict[str, tuple[Compiler, Program]] = {}

    def call(self, name: str, values: Sequence[Value], at: Operation) -> list[Value]:
        """Call a function of the module; prepares it at its first call."""
        if name not in self._programs:
            callee = self.functions.get(name)
            if callee is None or not callee.body.blocks:
                raise StepwellError("unknown-function", at, f"function @{name} has no body")
            compiler = Compiler(self)
            self._programs[name] = (compiler, compiler.program(callee.body.block))
        compiler, program = self._programs[name]
        return program.run(compiler.frame(), values)

    def call_by_name(self, name: str, values: Sequence[Value], at: Operation) -> list[Value]:
        """Call a function of level 1 in a scope of its own symbols, bound from the arguments' shapes."""
        callee = self.functions.get(name)
        if callee is None:
            raise StepwellError("unknown-function", at, f"no function is named @{name}")
        symbols: dict[str, int] = {}
        for type, value in zip(callee.function_type.inputs, values, strict=False):
            if type.name == TensorType.name:
                pairs = zip(dims_of(type), np.shape(value), strict=True)
                symbols |= {str(dim): size for dim, size in pairs if str(dim) in dim.symbols()}
        with self.scope(symbols, at):
            return self.call(name, values, at)

    @contextmanager
    def scope(self, symbols: dict[str, int], at: Operation) -> Generator[None]:
        """Replace the symbols while a function runs. Raises: StepwellError when calls nest too deep."""
        if self._depth >= regions.MAX_CALLS:
            raise StepwellError("run-time", at, f"calls nest more than {regions.MAX_CALLS} deep")
        outer, self.symbols = self.symbols, dict(symbols)
        self._depth += 1
        try:
            yield
        finally:
            self.symbols = outer
            self._depth -= 1

    def buffer_of(self, name: str, at: Operation) -> Any:
        """The contents of a global buffer."""
        buffer = self._globals.get(name)
        if buffer is None:
            raise StepwellError("invalid-ir", at, f"no memref.global is named @{name}")
        weight = buffer.attributes.get(WEIGHT)
        if isinstance(weight, WeightAttr):
            return self.weights.get(weight.hash.data)
        return scalars.constant_value(buffer.initial_value)
