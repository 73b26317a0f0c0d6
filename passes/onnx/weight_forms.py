"""Weights of level 0 in fewer bits: as operands of casts, and in products with dynamic activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerAttr, StringAttr, f32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import onnx
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.onnx.marks import NODE
from stepwell.dialects.quantization.codes import codes_of
from stepwell.dialects.quantization.plan import PlanEntry
from stepwell.dialects.types import tensor_type
from stepwell.passes.onnx.initializers import insert_initializer, set_value_names, value_name
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

Array = npt.NDArray[Any]
_FLOAT = 1
"""The number of f32 among the element types of ONNX."""


@dataclass(frozen=True)
class WeightForm:
    """A weight of a node to write in another form; `name` is the weight's in the model."""

    node: Operation
    weight: Array
    name: str
    entry: PlanEntry
    main: FuncOp
    weights: WeightStore

    def cast(self) -> SSAValue:
        """The weight stored in 16 bits, cast to f32."""
        stored = self.initializer(self.weight.astype(self.entry.dtype), "stored")
        type = tensor_type(f32, self.weight.shape)
        return self.insert(onnx.CastOp, [stored], [type], "cast", to=_FLOAT)[0]

    def replace_by_dynamic(self) -> None:
        """
        Replace a `MatMul` by a product of integers whose activation is quantized at run time.

        Raises: StepwellError `unsupported` for another node, or another rank of the weight.
        """
        node = self.node
        if not isinstance(node, onnx.MatMulOp) or self.weight.ndim != 2 or self.entry.axis != 1:
            message = "the plan quantizes activations at run time of what is no MatMul"
            raise StepwellError("unsupported", node, message)
        result = value_name(node.results[0])
        codes = self.initializer(codes_of(self.weight.astype(np.float32), self.entry), "quantized")
        scales = self.initializer(self.entry.scales(self.weight.shape), "scale")
        any_type = onnx.AnyType()
        x = node.operands[0]
        x_codes, x_scale, x_zero = self.insert(
            onnx.DynamicQuantizeLinearOp, [x], [any_type] * 3, "activation", f"{result}_activation"
        )
        sums = self.insert(
            onnx.MatMulIntegerOp, [x_codes, codes, x_zero], [any_type], "sums", f"{result}_sums"
        )[0]
        real = self.insert(onnx.CastOp, [sums], [any_type], "real", f"{result}_real", to=_FLOAT)[0]
        scale = self.insert(onnx.MulOp, [x_scale, scales], [any_type], "scale", f"{result}_scale")[0]
        last = self.insert(onnx.MulOp, [real, scale], [node.results[0].type], "", result)[0]
        assert isinstance(last.owner, Operation)
        last.owner.attributes |= dict(node.attributes)
        Rewriter.replace_op(node, [], [last])

    def initializer(self, array: Array, suffix: str) -> SSAValue:
        """An initializer named after the weight."""
        return insert_initializer(self.main, array, f"{self.name}_{suffix}", self.weights)

    def insert(
        self,
        op_class: type[onnx.OnnxOp],
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        suffix: str,
        name: str = "",
        **numbers: int,
    ) -> Sequence[SSAValue]:
        """Insert a node before that of the weight; returns the results."""
        name = name or f"{self.name}_{suffix}"
        given = len(op_class.get_irdl_definition().operands)
        made = op_class.build(
            operands=[[each] for each in operands] + [[]] * (given - len(operands)),
            result_types=[[type] for type in types],
            properties={key: IntegerAttr(value, i64) for key, value in numbers.items()},
        )
        names = [name, *(f"{name}_{what}" for what in ("scale", "zero_point"))][: len(types)]
        set_value_names(made, names)
        made.attributes[NODE] = StringAttr(name)
        adopt_location(made, self.node.location)
        Rewriter.insert_op(made, InsertPoint.before(self.node))
        return made.results
