"""Programs of level 0 computed by torch itself: the reference for their conversion."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.dialects.torch.call_text import described_call
from stepwell.frontend.torch.tensors import array_of, tensor_of, torch_package
from stepwell.lowering.backends.torch import operator_of, value_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array
from stepwell.tools.frameworks.level_0 import Run


class TorchRun(Run):
    """A run whose values are tensors; operators in place write into their operands."""

    TOOL: ClassVar[str] = "torch"

    def __init__(self, function: FuncOp, weights: WeightStore):
        """Raises: StepwellError `missing-package`."""
        super().__init__(function, weights)
        self._torch = torch_package()

    def value(self, array: Array) -> Any:
        """A tensor of a copy."""
        return tensor_of(np.array(array))

    def array(self, value: Any) -> Array:
        """A tensor's elements."""
        return array_of(value, "")

    def called(self, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an operator."""
        if (described := described_call(op)) is None:
            raise StepwellError("unsupported-op", op, f"torch does not run {op.name}")
        target, text = described
        call = cast("Mapping[str, Any]", json.loads(text))

        def size(text: object) -> int:
            return self.size(Dim.of(str(text)))

        given = {
            name: value_of(value, operands.__getitem__, size, self._torch)
            for name, value in call["arguments"].items()
        }
        operator = operator_of(target)
        with self._torch.no_grad():
            made = operator(**given)
        return made if type(made) in (list, tuple) else [made]
