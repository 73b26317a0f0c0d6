"""
What onnx 1.23's reference evaluator computes otherwise than the specification says, put right.

Its other faults that we know of: MaxPool and AveragePool take the pads of the first dimensions only, or count
those of SAME; GlobalMaxPool and GlobalAveragePool of one dimension reduce the channels too; QLinearConv and
ConvInteger take SAME for VALID; Adam's first result is f64. tests/fuzz leaves these out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_loop import Loop as UncorrectedLoop

Array = NDArray[Any]


class LRN(OpRun):
    """Over all channels, where the evaluator takes the size of the batch for their number."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        alpha: float = 1e-4,
        beta: float = 0.75,
        bias: float = 1.0,
        size: int = 1,
    ) -> tuple[Array]:
        before, after = (size - 1) // 2, size // 2
        squares = np.pad(x * x, [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)])
        sums = sum(squares[:, i : i + x.shape[1]] for i in range(size))
        return ((x / (bias + alpha / size * sums) ** beta).astype(x.dtype),)


class LpNormalization(OpRun):
    """Of magnitudes, where the evaluator adds up the numbers with their signs for `p` = 1."""

    op_domain = ""

    def _run(self, x: Array, axis: int = -1, p: int = 2) -> tuple[Array]:
        norm = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        return (np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)).astype(x.dtype),)


class Loop(UncorrectedLoop):
    """What is collected gets a dimension for the rounds, where the evaluator joins it along the first."""

    op_domain = ""

    def __init__(self, onnx_node: NodeProto, run_params: dict[str, Any]) -> None:
        super().__init__(onnx_node, run_params)
        run_body: Callable[..., list[Array]] = vars(self)["_run_body"]

        def collecting(*args: Any, **keywords: Any) -> list[Array]:
            outputs = run_body(*args, **keywords)
            self._collected.append([np.asarray(value) for value in outputs[1 + self.N :]])
            return outputs

        vars(self)["_run_body"] = collecting

    def _run(self, *args: Any, **keywords: Any) -> tuple[Array, ...]:
        self._collected: list[list[Array]] = []
        uncorrected: Any = super()
        results: tuple[Array, ...] = uncorrected._run(*args, **keywords)
        stacked = [np.stack(arrays) for arrays in zip(*self._collected, strict=True)]
        return (*results[: self.N], *(stacked or results[self.N :]))


CORRECTED: tuple[type[OpRun], ...] = (LRN, LpNormalization, Loop)
"""Given to every evaluator that is to judge our results."""
