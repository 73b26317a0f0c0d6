"""Programs of level 1 with all floats widened to f64, where central differences are exact enough."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, f64
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.type_variables import mapped_type
from stepwell.dialects.types import tensor_type
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
    """A type with f64 for floats, arrays of such types too; other attributes as they are."""
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr([_wide(each) for each in cast("ArrayAttr[Attribute]", attribute)])
    if isinstance(attribute, TypeAttribute):
        return mapped_type(attribute, lambda type: f64 if isinstance(type, AnyFloat) else type)
    return attribute
