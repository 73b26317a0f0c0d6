"""`apply-calibration`: observers become quantize and dequantize with known scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, IntegerType, Signedness, f32, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.observers import layers_of, observers_of
from stepwell.dialects.graph.relations import is_unsigned
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.graph_ir.state import argument_attributes, named, set_argument_attributes
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.quantization.codes import codes_of, weight_entry
from stepwell.dialects.quantization.ranges import Calibration, Statistics
from stepwell.dialects.quantization.table import CalibrationTable, read_table
from stepwell.dialects.types import tensor_type
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weight_file import read_weights
from stepwell.runtime.files.weights import WeightStore

_TYPES: Mapping[Attribute, str] = {
    IntegerType(8): "s8",
    IntegerType(4): "s4",
    IntegerType(4, Signedness.UNSIGNED): "u4",
}
"""The names of the types of weights in plans."""
SWITCHES = "quantized_layers"
"""The argument that says which layers are quantized."""


@dataclass(frozen=True)
class ApplyCalibrationPass(FunctionPass):
    """
    Replace each observer by quantize and dequantize, with a scale and zero point from a calibration table.

    ```mlir
    %y = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xf32> -> tensor<8xf32>
    // ->
    %s = graph.constant dense<0.0156862754> : tensor<f32>
    %z = graph.constant dense<64> : tensor<ui8>
    %0 = graph.quantize %x, %s zero_point %z : tensor<ui8> to ui8 saturate true
      : (tensor<8xf32>, tensor<f32>) -> tensor<8xui8>
    %y = graph.dequantize %0, %s zero_point %z : tensor<ui8> to f32
      : (tensor<8xui8>, tensor<f32>) -> tensor<8xf32>
    ```
    Weights become constant codes and a dequantize with a scale for each channel; they need no table.

    With `switched` a function takes a truth value for each layer, in the order of the observers, as its last
    argument, `quantized_layers`: the others are computed as before.

    Class: approximate: numbers are rounded to 255 steps of their range, so it is in no default pipeline.
    """

    name = "apply-calibration"
    opt_level = 1
    numerics = Numerics.APPROXIMATE

    table: str = ""
    """A calibration file; without one the method must be `global`."""
    method: str = "minmax"
    percentile: float = 99.99
    global_scale: float = 8.0
    weights: str = "rtn"
    """The codes of weights: `rtn` rounds, `mse` takes the range of the least error."""
    arrays: str = ""
    """A weight file with arrays to encode in place of weights, by the keys of observers."""
    switched: bool = False
    """Whether the last argument of a function, a truth value for each layer, says what is quantized."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        calibration = Calibration(self.method, self.percentile, self.global_scale)
        calibration.check()
        if calibration.needs_data and not self.table:
            message = f"{self.method} needs the ranges of a calibration table, and none is given"
            raise StepwellError("bad-option", self.name, message, help="table=F.json, or method=global")
        table = read_table(Path(self.table)) if self.table else CalibrationTable()
        arrays = read_weights(self.arrays) if self.arrays else {}
        switches = _Switches(func, weights_of(ctx)) if self.switched else None
        for op in observers_of(func):
            if op.role.data == "weight":
                made = _quantized_weight(op, self.weights, arrays.get(op.key.data), weights_of(ctx))
            else:
                made = _quantized_activation(op, calibration, table, weights_of(ctx))
            if switches is not None:
                made = switches.where_enabled(op, _inserted(made, op))
            Rewriter.replace_op(op, _located(made, op))


@dataclass
class _Switches:
    """The argument that says which layers of a function are quantized."""

    func: FuncOp
    weights: WeightStore

    def __post_init__(self) -> None:
        self._layers = layers_of(self.func)
        block, attributes = self.func.body.block, argument_attributes(self.func)
        self._enabled = block.insert_arg(tensor_type(i1, [len(self._layers)]), len(block.args))
        set_argument_attributes(self.func, [*attributes, named(SWITCHES)])
        types = list(block.arg_types), self.func.function_type.outputs.data
        self.func.properties["function_type"] = FunctionType.from_lists(*types)

    def where_enabled(self, op: graph.ObserveOp, quantized: SSAValue) -> graph.WhereOp:
        """A quantized value where its layer is enabled, else the value itself."""
        number = np.array(self._layers.index(op.layer), np.int64)
        index = _inserted(graph.ConstantOp.of(number, self.weights), op)
        return graph.WhereOp(_inserted(graph.GatherOp(self._enabled, index, 0), op), quantized, op.input)


def _quantized_activation(
    op: graph.ObserveOp, calibration: Calibration, table: CalibrationTable, weights: WeightStore
) -> graph.DequantizeOp:
    """An activation, quantized and dequantized."""
    statistics = table.of(op.key.data, op) if calibration.needs_data else Statistics(0.0, 0.0)
    scale, zero = calibration.scale_of(statistics, is_unsigned=is_unsigned(op.to))
    s, z = (_inserted(graph.ConstantOp.of(np.asarray(each), weights), op) for each in (scale, zero))
    codes = _inserted(graph.QuantizeOp(op.input, s, z, to=op.to), op)
    return graph.DequantizeOp(codes, s, z, to=f32)


def _quantized_weight(
    op: graph.ObserveOp, method: str, other: npt.NDArray[np.generic] | None, weights: WeightStore
) -> graph.DequantizeOp:
    """The codes of a weight, or of another array with its scales, as a constant, dequantized."""
    array = constant_of(op.input, weights)
    if array is None:
        message = f"the weight of {op.key} is no constant"
        raise StepwellError("unsupported", op, message, help="observe it as an activation")
    axis, block, to = op.scale_axis or 0, op.block.value.data, _TYPES[op.to]
    numbers = array.astype(np.float32)
    entry = weight_entry("", numbers, to, axis, block=block, method=method)
    name = op.input.name_hint or ""
    encoded = numbers if other is None else other.astype(np.float32)
    if encoded.shape != numbers.shape:
        message = f"the array of {op.key} has the shape {list(encoded.shape)}"
        raise StepwellError("bad-data", op, f"{message}, the weight {list(numbers.shape)}")
    q = _inserted(graph.ConstantOp.of(codes_of(encoded, entry), weights, name), op)
    s = _inserted(graph.ConstantOp.of(entry.scales(array.shape), weights, name), op)
    zero = entry.zero_points(array.shape)
    z = None if zero is None else _inserted(graph.ConstantOp.of(zero, weights, name), op)
    return graph.DequantizeOp(q, s, z, to=f32, axis=axis, block=block)


def _inserted(made: Operation, before: Operation) -> SSAValue:
    Rewriter.insert_op(_located(made, before), InsertPoint.before(before))
    return made.results[0]


def _located(made: Operation, like: Operation) -> Operation:
    adopt_location(made, like.location)
    return made
