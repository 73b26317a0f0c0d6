"""Programs of level 0 computed by the tool of their framework: the reference for their conversion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.constants import array_of as elements_of
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.foreign.control import ForeignChoiceOp, ForeignReturnOp, ForeignWhileOp
from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp
from stepwell.dialects.graph import AssertOp
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array

RUNS: Mapping[str, str] = {
    "torch": "stepwell.tools.pytorch.level_0:TorchRun",
    "stablehlo": "stepwell.tools.frameworks.stablehlo_level_0:JaxRun",
    "tflite": "stepwell.tools.frameworks.tflite_level_0:LiteRTRun",
}
"""The runs of functions, by dialect."""


def interpret_by_framework(
    dialect: str, module: ModuleOp, weights: WeightStore, function: str, inputs: Sequence[Array]
) -> list[Array]:
    """
    The results of a function of level 0, op by op; `dialect` is one of `RUNS`.

    Raises: StepwellError `missing-package`, `unknown-function`, `bad-inputs`, `unsupported-op`; `run-time`
    with the message of an operator that fails; `shape-mismatch` for sizes that the program refuses.
    """
    found = next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == function), None)
    if found is None:
        raise StepwellError("unknown-function", module, f"no function is named {function!r}")
    place, _, name = RUNS[dialect].partition(":")
    run: Run = getattr(import_module(place), name)(found, weights)
    return run.results(inputs)


class Run(ABC):
    """The state of a run of a function, whose values are those of a framework."""

    TOOL: ClassVar[str]
    """The name of the framework in messages."""

    def __init__(self, function: FuncOp, weights: WeightStore):
        self._function, self._weights = function, weights
        self._values: dict[SSAValue, Any] = {}
        self._sizes: dict[str, int] = {}

    @abstractmethod
    def value(self, array: Array) -> Any:
        """A value of the framework for an array of the caller's, whose memory stays as it is."""

    @abstractmethod
    def array(self, value: Any) -> Array:
        """A value of the framework as an array."""

    @abstractmethod
    def called(self, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an operator. Raises: StepwellError `unsupported-op`, errors of the framework."""

    def results(self, inputs: Sequence[Array]) -> list[Array]:
        """The values that the function returns."""
        arguments = self._function.body.block.args
        if len(inputs) != len(arguments):
            message = f"the function takes {len(arguments)} arguments, found {len(inputs)}"
            raise StepwellError("bad-inputs", self._function, message)
        returned = self._run(self._function.body.block, [self.value(array) for array in inputs])
        return [self.array(value) for value in returned]

    def size(self, dim: Dim) -> int:
        """The value of a size in this run."""
        return dim.evaluate(self._sizes)

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The sizes of a value in this run, by its type."""
        return tuple(map(self.size, dims_of(value.type)))

    def _run(self, block: Block, arguments: Sequence[Any]) -> Sequence[Any]:
        """The values that a block gives for its arguments."""
        for argument, value in zip(block.args, arguments, strict=True):
            self._define(argument, value)
        for op in block.ops:
            if isinstance(op, ReturnOp | ForeignReturnOp):
                return [self._values[value] for value in op.operands]
            self._step(op)
        raise StepwellError("invalid-ir", block.parent_op(), "a block returns nothing")

    def _define(self, value: SSAValue, made: Any) -> None:
        """Record a value, and the sizes of it that are symbols."""
        self._values[value] = made
        if not isinstance(type := value.type, TensorType):
            return
        shape, dims = tuple(made.shape), dims_of(cast(Attribute, type))
        for dim, size in zip(dims, shape, strict=len(shape) == len(dims)):
            for name in dim.symbols():
                if dim == Dim.symbol(name):
                    self._sizes.setdefault(name, size)

    def _step(self, op: Operation) -> None:
        match op:
            case AssertOp():
                left, right = (self.size(Dim.of(side.data)) for side in (op.lhs, op.rhs))
                if left != right:
                    raise StepwellError("shape-mismatch", op, op.message.data)
            case ForeignWeightOp():
                self._values[op.results[0]] = self.value(elements_of(op.value, self._weights))
            case ForeignWhileOp():
                self._define_all(op, self._loop(op))
            case ForeignChoiceOp():
                index = int(self.array(self._values[op.operands[0]]).reshape(()))
                is_truth = self.array(self._values[op.operands[0]]).dtype == np.bool_
                number = 1 - index if is_truth else index
                last = len(op.bodies) - 1
                body = op.bodies[number if 0 <= number <= last else last]
                self._define_all(op, self._run(body.block, []))
            case _:
                self._define_all(op, self._results_of(op))

    def _define_all(self, op: Operation, made: Sequence[Any]) -> None:
        for value, result in zip(op.results, made, strict=False):
            if hasattr(result, "shape"):
                self._define(value, result)

    def _loop(self, op: ForeignWhileOp) -> Sequence[Any]:
        """The values that a loop carries after its last iteration."""
        test, body = op.bodies
        carried: Sequence[Any] = [self._values[value] for value in op.inputs]
        while bool(self.array(self._run(test.block, carried)[0]).reshape(())):
            carried = self._run(body.block, carried)
        return carried

    def _results_of(self, op: Operation) -> Sequence[Any]:
        """The results of an operator. Raises: StepwellError `run-time`, `unsupported-op`."""
        if not isinstance(op, ForeignOp | ForeignOperatorOp):
            raise StepwellError("unsupported-op", op, f"{self.TOOL} does not run {op.name}")
        try:
            return self.called(op, [self._values[value] for value in op.operands])
        except StepwellError:
            raise
        except Exception as error:  # operators raise whatever they meet
            first = str(error).strip().splitlines()[:1] or [""]
            message = f"{self.TOOL}: {type(error).__name__}: {first[0]}"
            raise StepwellError("run-time", op, message) from None
