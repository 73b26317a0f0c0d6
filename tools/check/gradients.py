"""Comparison of gradients with central differences, of a function and of each op by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph.functions import values_read
from stepwell.dialects.types import TensorType
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.analysis.tangents import Tangents
from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.tools.check.cotangents import F64, cotangent_of, floats_in, made_up, with_floats
from stepwell.tools.check.function_inputs import inputs_of_function
from stepwell.tools.check.runner import Runner
from stepwell.tools.check.wide import widen

STEP = 1e-5
"""Of a difference in x, times max(1, |x|)."""
DIRECTIONS = 8
BOUND = 1e-5
"""The greatest relative difference of a gradient: the truncation of central differences is below it."""
_FLOOR = 1e-9
"""Changes below this share of the results' sum are compared with it: central differences round them."""
_TRIES = 4
"""Points that are tried: the first, and others a little beside it, away from kinks."""
_GIVEN = "graph.derivative"
_MAIN = "check_gradients.main"
_OBSERVED = "check_gradients.observed"
_OP = "check_gradients.op"


@dataclass(frozen=True)
class Judged:
    """The gradient of a function or op along directions, against central differences."""

    name: str
    place: str
    error: float
    """The greatest relative difference."""
    reason: str = ""
    """The reason why there is no difference; empty if there is one."""

    @property
    def is_right(self) -> bool:
        """Whether the gradient agrees, or could not be judged."""
        return bool(self.reason) or self.error <= BOUND

    def facts(self) -> dict[str, Any]:
        """The row as JSON."""
        return {
            "name": self.name,
            "place": self.place,
            "error": self.error,
            "right": self.is_right,
            "reason": self.reason,
        }


class GradientCheck:
    """
    A check of the gradients of a function of level 1, in f64: its floats are widened.

    Args: `wrt` are numbers of arguments of floats (default: all); inputs are made up from the seed.
    Raises: StepwellError `unknown-function`, `not-differentiable`, `no-derivative`.
    """

    def __init__(
        self, module: ModuleOp, ctx: StepwellContext, name: str, wrt: Sequence[int] | None, seed: int
    ):
        self._ctx, self._seed = ctx, seed
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        if name not in functions or functions[name].is_declaration:
            known = ", ".join(f"@{each}" for each in functions) or "none"
            raise StepwellError("unknown-function", None, f"there is no function @{name}: there is {known}")
        module = module.clone()
        run_pipeline(module, "link-prelude,infer-types,monomorphize", ctx)
        if not any(_GIVEN in function.attributes for function in functions.values()):
            run_pipeline(module, "inline", ctx)  # so that ops of functions that it calls are judged
        widen(module, ctx.weights)
        line = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name)
        line.properties.pop("arg_attrs", None)
        line.properties.pop("res_attrs", None)
        self._tangents = Tangents(module.clone())
        line.detach()
        self._module, self._line = module, line
        floats = [i for i, arg in enumerate(line.args) if self._tangents.has(arg)]
        self._wrt = floats if wrt is None else list(wrt)
        if self._wrt and self._wrt[-1] >= len(line.args):
            message = f"wrt names argument {self._wrt[-1]}, and @{name} has {len(line.args)}"
            raise StepwellError("not-differentiable", line, message)
        if all(isinstance(arg.type, TensorType) for arg in line.args):
            self._inputs: list[Any] = list(inputs_of_function(line, seed=seed))
        else:
            rng = np.random.default_rng(seed)
            self._inputs = [made_up(arg.type, self._tangents, rng) for arg in line.args]

    def function(self) -> Judged:
        """The gradient of the whole function."""
        return self._judged(self._line, self._inputs, self._wrt, self._line.sym_name.data, "")

    def ops(self) -> list[Judged]:
        """The gradient of each op of the function by itself, in the order of the program."""
        found: list[Judged] = []
        for op, values in self._observed:
            function = _function_of(op)
            wrt = [i for i, arg in enumerate(function.args) if self._tangents.has(arg)]
            results = [type for type in function.function_type.outputs if self._tangents.of(type) is not None]
            if wrt and results:
                place = describe_location(op) or ""
                found.append(self._judged(function, values, wrt, op.name, place))
        return found

    @cached_property
    def _observed(self) -> list[tuple[Operation, list[Any]]]:
        """The ops of the function, each with the values of its operands."""
        line = self._line.clone()
        *ops, last = line.body.block.ops
        shown = [value for op in ops for value in op.results if isinstance(value.type, TensorType)]
        last.operands = shown
        types = [value.type for value in shown]
        line.properties["function_type"] = FunctionType.from_lists(list(line.body.block.arg_types), types)
        line.properties["sym_name"] = StringAttr(_OBSERVED)
        module = ModuleOp([*(op.clone() for op in (*self._module.ops, self._line)), line])
        values = interpret(module, self._ctx, _OBSERVED, self._inputs)
        known: dict[SSAValue, Any] = dict(zip(line.args, self._inputs, strict=False))
        known |= dict(zip(shown, values, strict=True))
        return [
            (op, [known[value] for value in dict.fromkeys(values_read(op))])
            for op in ops
            if all(value in known for value in dict.fromkeys(values_read(op)))
        ]

    def _judged(
        self, function: FuncOp, inputs: Sequence[Any], wrt: Sequence[int], name: str, place: str
    ) -> Judged:
        try:
            module, error = self._with_gradient(function, wrt), inf
            for again in range(_TRIES):
                at = _jittered(inputs, wrt, self._seed + again, again)
                with np.errstate(all="ignore"):
                    error = min(error, self._error(module, function, at, wrt))
                if error <= BOUND:
                    break
        except StepwellError as failure:
            if not place and name == self._line.sym_name.data:
                raise
            return Judged(name, place, 0.0, failure.message)
        return Judged(name, place, error)

    def _error(self, module: ModuleOp, function: FuncOp, inputs: Sequence[Any], wrt: Sequence[int]) -> float:
        """The greatest relative difference over all directions."""
        name, rng = function.sym_name.data, np.random.default_rng(self._seed)
        types = function.function_type.outputs.data
        of_function = Runner(module, self._ctx, name)
        results = of_function(inputs)
        weights = [
            cotangent_of(value, type, self._tangents, lambda x: rng.standard_normal(x.shape))
            for value, type in zip(results, types, strict=False)
            if self._tangents.of(type) is not None
        ]
        of_gradient = Runner(module, self._ctx, _MAIN, is_slow=of_function.is_slow)
        given = of_gradient([*inputs, *weights])[-len(wrt) :]
        gradients = [each for value in given for each in floats_in(value)]
        factors = [each for value in weights for each in floats_in(value)]

        def total(moved: Sequence[Any]) -> float:
            values = (each for value in of_function(moved) for each in floats_in(value))
            return sum(float(np.sum(factor * value)) for factor, value in zip(factors, values, strict=True))

        floor = max(_FLOOR * abs(total(inputs)), np.finfo(np.float64).tiny)
        return max(self._along(total, inputs, wrt, gradients, rng, floor) for _ in range(DIRECTIONS))

    @staticmethod
    def _along(
        total: Callable[[Sequence[Any]], float],
        inputs: Sequence[Any],
        wrt: Sequence[int],
        gradients: Sequence[F64],
        rng: np.random.Generator,
        floor: float,
    ) -> float:
        """The relative difference along a random direction."""
        places = [x for i in wrt for x in floats_in(inputs[i])]
        steps: list[F64] = [STEP * np.maximum(1, np.abs(x)) * rng.standard_normal(x.shape) for x in places]
        ends: list[float] = []
        for sign in (1, -1):
            ends.append(
                total(_moved(inputs, wrt, [x + sign * s for x, s in zip(places, steps, strict=True)]))
            )
        wanted = (ends[0] - ends[1]) / 2
        given = sum(float(np.sum(g * step)) for g, step in zip(gradients, steps, strict=True))
        return abs(wanted - given) / max(abs(wanted), abs(given), floor)

    def _with_gradient(self, function: FuncOp, wrt: Sequence[int]) -> ModuleOp:
        """A module with a function that returns results and gradients of the given one."""
        function = function.clone()
        type = function.function_type
        tangents = self._tangents
        floats = [found for each in type.outputs if (found := tangents.of(each)) is not None]
        gradients = [tangents.inside(type.inputs.data[i]) for i in wrt]
        made = FunctionType.from_lists([*type.inputs, *floats], [*type.outputs, *gradients])
        block = Block(arg_types=made.inputs.data)
        value = graph.VjpOp(function.sym_name.data, wrt, made)
        call = graph.CallOp(value.result, list(block.args), made.outputs.data)
        block.add_ops([value, call, ReturnOp(*call.results)])
        others = [op.clone() for op in self._module.ops]
        if function.sym_name.data != self._line.sym_name.data:  # an op of it, which may call it
            others.append(self._line.clone())
        module = ModuleOp([*others, function, FuncOp(_MAIN, made, Region(block))])
        run_pipeline(module, "gradient", self._ctx)
        return module


def _function_of(op: Operation) -> FuncOp:
    """A function that consists of an op."""
    read = list(dict.fromkeys(values_read(op)))
    block = Block(arg_types=[value.type for value in read])
    made = op.clone(dict(zip(read, block.args, strict=True)))
    block.add_ops([made, ReturnOp(*made.results)])
    return FuncOp(_OP, (list(block.arg_types), list(made.result_types)), Region(block))


def _jittered(inputs: Sequence[Any], wrt: Sequence[int], seed: int, times: int) -> list[Any]:
    """Inputs moved a little: away from a kink that differences went across."""
    rng = np.random.default_rng(seed)
    places = [x for i in wrt for x in floats_in(inputs[i])]
    return _moved(inputs, wrt, [x + 1e-3 * times * rng.standard_normal(x.shape) for x in places])


def _moved(inputs: Sequence[Any], wrt: Sequence[int], floats: Sequence[F64]) -> list[Any]:
    """Inputs with other tensors of floats in those of `wrt`."""
    moved, rest = list(inputs), iter(floats)
    for i in wrt:
        moved[i] = with_floats(moved[i], rest)
    return moved
