"""Initializers of a model on level 0: their names and arrays, and new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import onnx
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.onnx.marks import INITIALIZER, VALUES
from stepwell.runtime.files.weights import WeightStore

Array = npt.NDArray[np.generic]


def value_name(value: SSAValue) -> str:
    """The name of a value in the model."""
    names = value.owner.attributes.get(VALUES) if isinstance(value.owner, Operation) else None
    if isinstance(names, ArrayAttr) and isinstance(value, OpResult):
        return cast("ArrayAttr[StringAttr]", names).data[value.index].data
    return value.name_hint or "value"


def set_value_names(op: Operation, names: Sequence[str]) -> None:
    """Name the results of an op in the model."""
    op.attributes[VALUES] = ArrayAttr([StringAttr(name) for name in names])


def insert_initializer(main: FuncOp, array: Array, name: str, weights: WeightStore) -> SSAValue:
    """Insert an initializer at the start of a function."""
    value = constant_attr(array, name, weights)
    made = onnx.ConstantOp.build(result_types=[value.type], properties={"value": value})
    made.attributes[INITIALIZER] = UnitAttr()
    set_value_names(made, [name])
    adopt_location(made, main.location)
    Rewriter.insert_op(made, InsertPoint.at_start(main.body.block))
    return made.results[0]


def erase_unused(values: Sequence[SSAValue]) -> None:
    """Erase the constants among values that have no uses any more."""
    for value in dict.fromkeys(values):
        if isinstance(value.owner, onnx.ConstantOp) and value.first_use is None:
            Rewriter.erase_op(value.owner)
