"""Programs of level 1 with all floats widened to f64, where central differences are exact enough."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, FunctionType, TensorType, TupleType, f64
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.runtime.files.weights import WeightStore


def widen(top: Operation, weights: WeightStore) -> None:
    """Replace all float types by f64, in an op and those inside; constants are converted."""
    for op in top.walk():
        values: list[SSAValue] = [
            *op.results,
            *(arg for region in op.regions for block in region.blocks for arg in block.args),
        ]
        for value in values:
            if (wide := _wide(value.type)) != value.type:
                set_type(value, wide)
        if isinstance(op, graph.ConstantOp):
            array = constant_array(op, weights)
            if op.result.type != tensor_type(f64, array.shape) or array.dtype == np.float64:
                continue
            op.properties |= graph.ConstantOp.of(array.astype(np.float64), weights).properties
            continue
        for name, attribute in op.properties.items():
            op.properties[name] = _wide(attribute)


def _wide(attribute: Attribute) -> Attribute:
    """A type with f64 for floats; other attributes as they are."""
    if isinstance(attribute, AnyFloat):
        return f64
    if attribute.name == TensorType.name and isinstance(cast(Tensor, attribute).element_type, AnyFloat):
        return tensor_type(f64, dims_of(attribute))
    if isinstance(attribute, TupleType):
        return TupleType(tuple(_wide(each) for each in attribute.types))  # pyright: ignore[reportArgumentType]
    if isinstance(attribute, FunctionType):
        parts = ([_wide(each) for each in part] for part in (attribute.inputs, attribute.outputs))
        return FunctionType.from_lists(*parts)
    return attribute
