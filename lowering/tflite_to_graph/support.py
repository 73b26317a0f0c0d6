"""A call of a TFLite operator under conversion, with the quantization of its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import copysign, floor
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, NoneAttr
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import graph, tflite
from stepwell.dialects.constants import Constant, array_of
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dtype_of
from stepwell.lowering.to_graph import Conversions, OperandCall, Value
from stepwell.runtime.errors import StepwellError

CONVERSIONS = Conversions()
"""The function that converts an operator, by the operator's name (`conv_2d`)."""
converts = CONVERSIONS.converts
ON_CODES: set[str] = set()
"""
The operators that give the same on codes as on numbers where all tensors have one quantization: moves,
choices, comparisons inside one tensor.
"""
_MOST_CODES = 1 << 32
"""Beyond the codes of each type."""


@dataclass(frozen=True)
class Scales:
    """The quantization of a tensor."""

    scale: Constant
    zero_point: Constant | None
    axis: int

    @staticmethod
    def of(attribute: Attribute) -> Scales | None:
        """The quantization that an attribute records; None for `none`."""
        if not isinstance(attribute, DictionaryAttr):
            return None
        entries, axis = attribute.data, attribute.data.get("axis")
        number = axis.value.data if isinstance(axis, IntegerAttr) else 0
        zero = cast("Constant | None", entries.get("zero_point"))
        return Scales(cast(Constant, entries["scale"]), zero, number)


@dataclass(frozen=True)
class Call(OperandCall):
    """A call whose quantized operands are given as the numbers that they stand for, or as codes."""

    on_codes: bool = False

    @cached_property
    def scales(self) -> list[Scales | None]:
        """The quantization of each operand, then of each result."""
        found = self.op.attributes.get(tflite.QUANTIZED)
        count = len(self.op.operands) + len(self.op.results)
        if not isinstance(found, ArrayAttr):
            return [None] * count
        each = cast("ArrayAttr[Attribute]", found).data
        if len(each) != count:
            message = f"`{tflite.QUANTIZED}` must have an entry for each of {count} operands and results"
            raise StepwellError("invalid-model", self.op, f"{message}, found {len(each)}")
        return [None if isinstance(entry, NoneAttr) else Scales.of(entry) for entry in each]

    def result_scales(self, position: int) -> Scales | None:
        """The quantization of a result."""
        return self.scales[len(self.op.operands) + position]

    def tensor(self, name: str = "x") -> Value:
        """An operand; numbers, where it is quantized and the call is not about codes."""
        return self.numbers(self.codes(name))

    def tensors(self, name: str = "xs") -> list[Value]:
        """The operands of a list, all of them given."""
        return [self.numbers(self.at.value(cast(SSAValue, value))) for value in self.op.tensors(name)]

    def codes(self, name: str) -> Value:
        """An operand as it is."""
        return self.at.value(self.given(name))

    def numbers(self, codes: Value) -> Value:
        """The numbers that an operand stands for."""
        scales = self.scales[next(i for i, value in enumerate(self.op.operands) if value is codes.ssa)]
        if self.on_codes or scales is None:
            return codes
        scale, zero = self.constants(scales)
        return self.at.op(graph.DequantizeOp(codes.ssa, scale, zero, axis=scales.axis))

    def constants(self, scales: Scales) -> tuple[SSAValue, SSAValue | None]:
        """A scale and a zero point as values."""
        scale = self.at.op(graph.ConstantOp(scales.scale)).ssa
        return scale, self.at.op(graph.ConstantOp(scales.zero_point)).ssa if scales.zero_point else None

    def axis(self, name: str = "axis", rank: int | None = None) -> int:
        """An option that is an axis, counted from the front."""
        rank = self.tensor().rank if rank is None else rank
        return self.checked_axis(self.integer(name), rank)

    def operand_axes(self, name: str = "axes") -> list[int]:
        """An operand that is a list of axes, counted from the front, sorted."""
        rank = self.codes("x").rank
        return self.checked_axes(self.operand_integers(name), rank)

    def code(self, scales: Scales, number: float) -> int:
        """The code of a number: a quotient of f32, halves away from zero, as LiteRT has it."""
        store = self.at.lowering.weights
        zero = 0 if scales.zero_point is None else int(array_of(scales.zero_point, store).reshape(-1)[0])
        exact = number / float(array_of(scales.scale, store).reshape(-1)[0])
        quotient = float(np.float32(max(-_MOST_CODES, min(_MOST_CODES, exact))))
        return int(copysign(floor(abs(quotient) + 0.5), quotient)) + zero

    @property
    def zero(self) -> int:
        """The element of the first operand for the number 0."""
        scales = self.scales[0] if self.on_codes else None
        return 0 if scales is None else self.code(scales, 0.0)

    def range_of(self, element: Attribute) -> tuple[float, float]:
        """The least and the greatest number of an element type."""
        dtype = dtype_of(element)
        kind: Any = ml_dtypes.finfo if is_float(element) else ml_dtypes.iinfo
        return kind(dtype).min, kind(dtype).max


def on_codes(*names: str) -> None:
    """Say of operators that they give the same on codes as on numbers."""
    ON_CODES.update(" ".join(names).split())
