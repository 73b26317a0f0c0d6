"""Functions of a module as callables: interpreted, or compiled where that takes long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.interpret import interpret
from stepwell.passes.analysis.call_graph import call_graph, reached_from
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.compile import compile as compile_program
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program

SLOW_SECONDS = 0.5
"""An interpreted call of this time is compiled: a check has some twenty calls, and compiles in seconds."""


class Runner:
    """
    A function of a module, to be called often with the same types.

    Args: `is_slow` compiles before the first call, which is else interpreted and timed.
    """

    def __init__(self, module: ModuleOp, ctx: StepwellContext, name: str, *, is_slow: bool = False):
        self._module, self._ctx, self._name = module, ctx, name
        self.is_slow = is_slow
        self._compiled: Callable[[Sequence[Any]], list[Any]] | None = None
        self._is_refused = False

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The results of the function."""
        if self.is_slow and self._compiled is None and not self._is_refused:
            self._compiled = self._compile()
            self._is_refused = self._compiled is None
        if self._compiled is not None:
            return self._compiled(inputs)
        begin = perf_counter()
        results = list(interpret(self._module, self._ctx, self._name, inputs))
        self.is_slow = self.is_slow or perf_counter() - begin > SLOW_SECONDS
        return results

    def _compile(self) -> Callable[[Sequence[Any]], list[Any]] | None:
        """The function in compiled code; None where it takes data, or code cannot be made of it."""
        module = self._module.clone()
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        main = functions[self._name]
        if not all(
            isinstance(type, TensorType) for type in (*main.function_type.inputs, *main.function_type.outputs)
        ):
            return None
        calls = call_graph(module)
        reached = {self._name, *reached_from([self._name], calls)}
        if "main" in reached and self._name != "main":
            return None  # calls of it would be of another function
        for name, function in functions.items():
            if name not in reached:
                function.detach()
        main.properties["sym_name"] = StringAttr("main")
        main.properties.pop("sym_visibility", None)
        try:
            model = compile_program(Program(module, self._ctx), CompileOptions())
        except StepwellError:
            return None

        def call(inputs: Sequence[Any]) -> list[Any]:
            found = model(*map(np.ascontiguousarray, inputs))
            return list(found) if isinstance(found, tuple) else [found]

        return call
