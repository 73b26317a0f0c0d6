"""Ops up to a quantize in units of its scale: a pattern of `fold-qdq`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.contraction import BYTES
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array


@dataclass
class WorkInUnitsOfScale(RewritePattern):
    """
    Divide scales and biases before a quantize by its scale, which becomes 1.

    ```mlir
    %s = graph.constant dense<0.5> : tensor<f32>
    %t = graph.constant dense<0.25> : tensor<f32>
    %a = graph.dequantize %x, %s to f32 : (tensor<8x32xi32>, tensor<f32>) -> tensor<8x32xf32>
    %b = graph.relu %a : tensor<8x32xf32> -> tensor<8x32xf32>
    %y = graph.quantize %b, %t to ui8 saturate true
      : (tensor<8x32xf32>, tensor<f32>) -> tensor<8x32xui8>
    // ->
    %u = graph.constant dense<2.0> : tensor<f32>
    %c = graph.dequantize %x, %u to f32 : (tensor<8x32xi32>, tensor<f32>) -> tensor<8x32xf32>
    %d = graph.relu %c : tensor<8x32xf32> -> tensor<8x32xf32>
    %one = graph.constant dense<1.0> : tensor<f32>
    %y = graph.quantize %d, %one to ui8 saturate true
      : (tensor<8x32xf32>, tensor<f32>) -> tensor<8x32xui8>
    ```
    Through ReLUs, additions and biases whose results have one use. Scales may be those of channels.
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        scale = constant_of(op.scale, self.weights)
        if scale is None or scale.ndim > 1 or scale.dtype != np.float32 or op.to not in BYTES:
            return
        if op.block_size or (op.zero_point is not None and dims_of(op.zero_point.type)):
            return
        if element_of_value(op.input) != f32:
            return
        unit = _Unit(scale.astype(np.float32), op.axis.value.data if scale.ndim else None)
        is_one, is_positive = bool((unit.numbers == 1).all()), bool((unit.numbers > 0).all())
        if is_one or not is_positive or op.compute_type is not None or not self._divides(op.input, unit):
            return
        value = self._divided(op.input, unit, rewriter)
        one = self._constant(np.float32(1), rewriter)
        rewriter.replace(op, graph.QuantizeOp(value, one, op.zero_point, to=op.to))

    def _divides(self, value: SSAValue, unit: _Unit) -> bool:
        """Whether a value can be computed divided by a scale without more ops, up to constants' scales."""
        op = value.owner
        match op:
            case graph.ConstantOp():
                return unit.axis is None
            case graph.DequantizeOp():
                scale = constant_of(op.scale, self.weights)
                is_sum = element_of_value(op.input) == i32
                return (value.has_one_use() or not is_sum) and scale is not None and unit.fits(op, scale)
            case graph.ReluOp():
                return value.has_one_use() and self._divides(op.input, unit)
            case graph.BiasAddOp():
                is_constant = constant_of(op.b, self.weights) is not None
                is_along = unit.axis in (None, op.axis.value.data)
                return value.has_one_use() and is_constant and is_along and self._divides(op.x, unit)
            case graph.AddOp():
                sides = (op.lhs, op.rhs)
                # A side that is repeated has the axis at another place, or one number for all scales.
                is_along = unit.axis is None or op.lhs.type == op.rhs.type
                return value.has_one_use() and is_along and all(self._divides(side, unit) for side in sides)
            case _:
                return False

    def _divided(self, value: SSAValue, unit: _Unit, rewriter: PatternRewriter) -> SSAValue:
        op = value.owner
        made: GraphOp
        match op:
            case graph.ConstantOp():
                return self._in_units(value, unit, rewriter)
            case graph.DequantizeOp():
                scale = self._in_units(op.scale, unit, rewriter)
                axis = op.axis.value.data if unit.axis is None else unit.axis
                made = graph.DequantizeOp(
                    op.input, scale, op.zero_point, to=op.to, axis=axis, block=op.block_size
                )
            case graph.ReluOp():
                made = graph.ReluOp(self._divided(op.input, unit, rewriter))
            case graph.BiasAddOp():
                bias = self._in_units(op.b, unit, rewriter)
                made = graph.BiasAddOp(self._divided(op.x, unit, rewriter), bias, op.axis.value.data)
            case graph.AddOp():
                lhs, rhs = (self._divided(side, unit, rewriter) for side in (op.lhs, op.rhs))
                made = graph.AddOp(lhs, rhs)
            case _:
                raise AssertionError("checked by `_divides`")
        return rewriter.insert(made).results[0]

    def _in_units(self, value: SSAValue, unit: _Unit, rewriter: PatternRewriter) -> SSAValue:
        array = constant_of(value, self.weights)
        assert array is not None
        numbers: npt.NDArray[np.float32] = array.astype(np.float32)
        return self._constant(np.asarray(numbers / unit.numbers), rewriter)

    def _constant(self, array: Array | np.float32, rewriter: PatternRewriter) -> SSAValue:
        return rewriter.insert(graph.ConstantOp.of(np.asarray(array), self.weights)).result


@dataclass(frozen=True)
class _Unit:
    """The scale of a quantize: a number, or one for each index of an axis."""

    numbers: npt.NDArray[np.float32]
    axis: int | None

    def fits(self, op: graph.DequantizeOp, scale: Array) -> bool:
        """Whether the scale of a dequantize can be divided by this one."""
        if self.axis is None or not scale.ndim:
            return not (self.axis is not None and op.zero_point is not None and dims_of(op.zero_point.type))
        return scale.ndim == 1 and op.axis.value.data == self.axis
