"""
Corrected operators, for those that onnx 1.23's reference evaluator computes otherwise than the specification
says.

Its other faults that we know of: MaxPool and AveragePool take the pads of the first dimensions only, or count
those of SAME; QLinearConv and
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


class BatchNormalization(OpRun):
    """
    BatchNormalization with the given mean and variance; the evaluator mixes in the batch's for opsets 9 and
    13.

    In these opsets a node with one result is in test mode whatever its momentum is (9, "Output case #2"); the
    evaluator takes the default of momentum, which is always there, for a sign of training. Later opsets say
    the mode by an attribute, 0 when it is not there.
    """

    op_domain = ""

    def _run(
        self,
        x: Array,
        scale: Array,
        bias: Array,
        mean: Array,
        variance: Array,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        training_mode: int | None = None,
        spatial: int = 1,
    ) -> tuple[Array, ...]:
        results: list[Array] = []
        if training_mode:
            axes = (0, *range(2, x.ndim))
            seen = (x.mean(axis=axes), x.var(axis=axes))
            given = (mean, variance)
            results = [
                (old * momentum + new * (1 - momentum)).astype(old.dtype)
                for old, new in zip(given, seen, strict=True)
            ]
            mean, variance = seen
        if spatial:
            numbers = (array.reshape(-1, *[1] * (x.ndim - 2)) for array in (scale, bias, mean, variance))
            scale, bias, mean, variance = numbers
        y = scale * (x - mean) / np.sqrt(variance + epsilon) + bias
        return (y.astype(x.dtype), *results)


class DynamicQuantizeLinear(OpRun):
    """
    DynamicQuantizeLinear with scale 1 for an input of zeros; the evaluator's comment says so, but it computes
    1/255.

    The text of the specification gives them scale 0 and leaves 0 / 0 to be rounded to a zero point; ONNX
    Runtime gives 1, too.
    """

    op_domain = ""

    def _run(self, x: Array) -> tuple[Array, Array, Array]:
        low, high = (np.float32(bound) for bound in (x.min(initial=0), x.max(initial=0)))
        scale = np.float32(1) if low == high else (high - low) / np.float32(255)
        zero_point = np.rint(np.clip(-low / scale, 0, 255))
        y = np.clip(np.rint(x / scale) + zero_point, 0, 255)
        return y.astype(np.uint8), np.asarray(scale), np.asarray(zero_point.astype(np.uint8))


class DequantizeLinear(OpRun):
    """DequantizeLinear below opset 19, which the evaluator does not have."""

    op_domain = ""

    def _run(
        self, x: Array, scale: Array, zero_point: Array | None = None, axis: int | None = None, **_: object
    ) -> tuple[Array]:
        axis = 1 if axis is None else axis

        def spread(parameter: Array) -> Array:
            return parameter.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])

        zero_point = np.zeros(()) if zero_point is None else zero_point
        scale, points = (spread(each) if each.ndim else each for each in (scale, zero_point))
        return ((x.astype(np.int64) - points.astype(np.int64)).astype(np.float32) * scale,)


class GlobalMaxPool(OpRun):
    """
    GlobalMaxPool over all axes after the channels; with one axis, onnx's evaluator wrongly reduces the
    channels too.
    """

    op_domain = ""

    def _run(self, x: Array) -> tuple[Array, ...]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class GlobalAveragePool(OpRun):
    """GlobalAveragePool over the axes after the channels, as `GlobalMaxPool`."""

    op_domain = ""

    def _run(self, x: Array) -> tuple[Array, ...]:
        return (x.mean(axis=tuple(range(2, x.ndim)), keepdims=True).astype(x.dtype),)


class LRN(OpRun):
    """LRN over all channels; the evaluator uses the size of the batch as the number of channels."""

    op_domain = ""

    def _run(
        self, x: Array, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int = 1
    ) -> tuple[Array]:
        before, after = (size - 1) // 2, size // 2
        squares = np.pad(x * x, [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)])
        sums = sum(squares[:, i : i + x.shape[1]] for i in range(size))
        return ((x / (bias + alpha / size * sums) ** beta).astype(x.dtype),)


class LpNormalization(OpRun):
    """LpNormalization of magnitudes; the evaluator sums signed numbers for `p` = 1."""

    op_domain = ""

    def _run(self, x: Array, axis: int = -1, p: int = 2) -> tuple[Array]:
        norm = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        return (np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)).astype(x.dtype),)


class Loop(UncorrectedLoop):
    """
    Loop with a new first dimension for scan outputs; the evaluator concatenates them along the first one.
    """

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


CORRECTED: tuple[type[OpRun], ...] = (
    BatchNormalization,
    DynamicQuantizeLinear,
    GlobalAveragePool,
    GlobalMaxPool,
    LRN,
    LpNormalization,
    Loop,
)
"""The operators given to each evaluator that our results are compared with."""
