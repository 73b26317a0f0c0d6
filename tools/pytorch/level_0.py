"""Programs of level 0 computed by torch itself: the reference for their conversion."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import torch as dialect
from stepwell.dialects.constants import array_of as elements_of
from stepwell.dialects.graph import AssertOp
from stepwell.dialects.torch.call_text import described_call
from stepwell.dialects.types import dims_of
from stepwell.frontend.torch.tensors import array_of, tensor_of, torch_package
from stepwell.lowering.backends.torch import operator_of, value_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array


def interpret_by_torch(
    module: ModuleOp, weights: WeightStore, function: str, inputs: Sequence[Array]
) -> list[Array]:
    """
    The results of a function of `torch` ops, op by op.

    Raises: StepwellError `missing-package`, `unknown-function`, `bad-inputs`; `run-time` with the message of
    an operator that fails.
    """
    torch_package()
    found = next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == function), None)
    if found is None:
        raise StepwellError("unknown-function", module, f"no function is named {function!r}")
    return _Run(found, weights, inputs).results()


class _Run:
    """The state of a run of a function."""

    def __init__(self, function: FuncOp, weights: WeightStore, inputs: Sequence[Array]):
        self._torch, self._weights, self._block = torch_package(), weights, function.body.block
        if len(inputs) != len(self._block.args):
            message = f"the function takes {len(self._block.args)} arguments, found {len(inputs)}"
            raise StepwellError("bad-inputs", function, message)
        # Operators in place write into their operands: these are copies.
        self._values: dict[SSAValue, Any] = {
            argument: tensor_of(np.array(array))
            for argument, array in zip(self._block.args, inputs, strict=True)
        }
        self._sizes: dict[str, int] = {}
        for argument in self._block.args:
            self._bind(argument)

    def results(self) -> list[Array]:
        """The values that the function returns."""
        with self._torch.no_grad():
            for op in self._block.ops:
                if isinstance(op, ReturnOp):
                    return [array_of(self._values[value], "") for value in op.operands]
                self._step(op)
        raise StepwellError("invalid-ir", self._block.parent_op(), "the function returns nothing")

    def _bind(self, value: SSAValue) -> None:
        """Record the sizes of a value that are symbols."""
        shape = tuple(self._values[value].shape)
        for dim, size in zip(dims_of(value.type), shape, strict=len(shape) == len(dims_of(value.type))):
            for name in dim.symbols():
                if dim == Dim.symbol(name):
                    self._sizes.setdefault(name, size)

    def _step(self, op: Operation) -> None:
        if isinstance(op, AssertOp):
            left, right = (Dim.of(side.data).evaluate(self._sizes) for side in (op.lhs, op.rhs))
            if left != right:
                raise StepwellError("shape-mismatch", op, op.message.data)
            return
        if isinstance(op, dialect.WeightOp):
            self._values[op.result] = tensor_of(elements_of(op.value, self._weights).copy())
            return
        made = self._called(op)
        tensors: Sequence[Any] = made if type(made) in (list, tuple) else [made]
        for value, tensor in zip(op.results, tensors, strict=False):
            if isinstance(tensor, self._torch.Tensor):
                self._values[value] = tensor
                self._bind(value)

    def _called(self, op: Operation) -> Any:
        """The results of an operator. Raises: StepwellError `run-time`, `unsupported-op`."""
        if (described := described_call(op)) is None:
            raise StepwellError("unsupported-op", op, f"torch does not run {op.name}")
        target, text = described
        call = cast("Mapping[str, Any]", json.loads(text))
        operands = [self._values[value] for value in op.operands]
        given = {name: self._argument(value, operands) for name, value in call["arguments"].items()}
        operator = operator_of(target)
        try:
            return operator(**given)
        except Exception as error:  # operators raise whatever they meet
            first = str(error).strip().splitlines()[:1] or [""]
            raise StepwellError("run-time", op, f"torch: {type(error).__name__}: {first[0]}") from None

    def _argument(self, value: object, operands: Sequence[Any]) -> object:
        """An argument of a call as text has it, with tensors and numbers for sizes."""
        return value_of(value, operands.__getitem__, self._size, self._torch)

    def _size(self, text: object) -> int:
        """The value of an open size."""
        return Dim.of(str(text)).evaluate(self._sizes)
