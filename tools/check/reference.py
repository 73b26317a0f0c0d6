"""ONNX's reference evaluator with corrections: the meaning of operators in old opsets, and known faults."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from stepwell.dialects.plugins.operators import OPERATORS, OperatorName, operator_at
from stepwell.tools.check.reference_ops import CORRECTED, DequantizeLinear

_DEQUANTIZES = 19
"""Before this opset, the evaluator has no DequantizeLinear."""
_ROWS_AS_MATRIX = 13
"""Before this opset, Softmax, LogSoftmax and Hardmax work on rows of all dimensions from `axis` on."""

Matrix = NDArray[Any]


def reference_evaluator(model: ModelProto) -> ReferenceEvaluator:
    """
    The evaluator for a model, with corrected operators (reference_ops.py).

    onnx 1.23 computes Softmax, LogSoftmax and Hardmax along one axis for all opsets; up to opset 12 they see
    a matrix whose columns are all dimensions from `axis` on, so those get ops of ours here. Operators of
    other domains are computed by the references that plugins have registered.
    """
    version = max((s.version for s in model.opset_import if s.domain in ("", "ai.onnx")), default=0)
    old = _matrix_ops() if version < _ROWS_AS_MATRIX else []
    old += [DequantizeLinear] if version < _DEQUANTIZES else []
    return ReferenceEvaluator(model, new_ops=[*CORRECTED, *old, *_ops_of_plugins(model)])


def _ops_of_plugins(model: ModelProto) -> list[type[OpRun]]:
    """The operators of plugins with a reference, at the opsets of a model."""
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    names = {(key.domain, key.name) for key in OPERATORS if key.domain in opsets}
    found = (operator_at(domain, name, opsets[domain]) for domain, name in names)
    return [
        _called(operator.name, operator.reference)
        for operator in found
        if operator is not None and operator.reference is not None
    ]


def _called(key: OperatorName, reference: Callable[..., object]) -> type[OpRun]:
    """An op of the evaluator that calls a plugin's function; the class name is the op's name."""

    def run(self: OpRun, *inputs: object, **attributes: object) -> tuple[object, ...]:
        found = reference(*inputs, **attributes)
        outputs = cast("tuple[object, ...]", found if isinstance(found, tuple) else (found,))
        return tuple(map(np.asarray, outputs))

    return type(key.name, (OpRun,), {"op_domain": key.domain, "_run": run})


def _matrix_ops() -> list[type[OpRun]]:
    return [
        _on_matrix("Softmax", _softmax),
        _on_matrix("LogSoftmax", lambda rows: np.log(_softmax(rows))),
        _on_matrix("Hardmax", _hardmax),
    ]


def _on_matrix(name: str, compute: Callable[[Matrix], Matrix]) -> type[OpRun]:
    """
    An op of the evaluator that applies `compute` to the input as a matrix; the class name is the op's name.

    Without the attribute the axis is 1; the evaluator passes the default of later opsets, -1.
    """

    def run(self: OpRun, x: Matrix, **_: object) -> tuple[Matrix]:
        axis = next((a.i for a in self.onnx_node.attribute if a.name == "axis"), 1)
        rows = x.reshape(prod(x.shape[:axis]) if axis >= 0 else prod(x.shape[: x.ndim + axis]), -1)
        return (compute(rows).reshape(x.shape).astype(x.dtype),)

    return type(name, (OpRun,), {"op_domain": "", "_run": run})


def _softmax(rows: Matrix) -> Matrix:
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _hardmax(rows: Matrix) -> Matrix:
    one_hot = np.zeros_like(rows)
    np.put_along_axis(one_hot, rows.argmax(axis=1, keepdims=True), 1, axis=1)
    return one_hot
