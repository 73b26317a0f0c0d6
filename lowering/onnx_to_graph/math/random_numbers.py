"""ONNX operators that draw random numbers → `graph.random_bits`, and formulas of their distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, prod

import numpy as np
from xdsl.dialects.builtin import f32, f64, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import element_of as element_named
from stepwell.dialects.types import tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import host_results
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, element_type, emit, shape_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.meaning.philox import PART_BITS

_KEY = tensor_type(i64, [2])
_U32 = element_named("uint32")
_F32_BITS, _F64_BITS = 24, 53
"""The bits of a fraction: a number made of them is below 1, and exact."""
_BELOW_ONE = 1.0 - 2.0**-_F32_BITS


@dataclass(frozen=True)
class _Draw:
    """Random bits for each element of a shape, in the type that a distribution computes in: f32 or f64."""

    bits: Value
    dims: Sequence[Dim]
    element: Attribute

    def uniform(self) -> Value:
        """Numbers from 0 to 1, without 1."""
        width = _F64_BITS if self.element == f64 else _F32_BITS
        upper = self._shifted(self.bits, 2 * PART_BITS - width).cast(i64 if self.element == f64 else i32)
        return (upper.cast(self.element) * 2.0**-width).reshape(self.dims)

    def normal(self) -> Value:
        """Standard normal numbers, by the transformation of Box and Muller (1958) without its sine."""
        radius = (self._half(self._upper()).apply(graph.LogOp) * -2.0).apply(graph.SqrtOp)
        angle = self._half(self.bits) * (2 * pi)
        return (radius * angle.apply(graph.CosOp)).reshape(self.dims)

    def gumbel(self) -> Value:
        """
        Numbers of Gumbel's distribution: the argmax of logits plus these is distributed as their softmax.

        The least is -ln(24 ln 2), so that a class whose probability is 0 never wins.
        """
        rest = self._half(self._upper()).minimum(_BELOW_ONE)
        return (-(-(-rest).apply(graph.Log1pOp)).apply(graph.LogOp)).reshape(self.dims)

    def _upper(self) -> Value:
        return self._shifted(self.bits, PART_BITS)

    def _half(self, bits: Value) -> Value:
        """The lower half of bits as a number above 0 and up to 1."""
        return (bits.cast(_U32).cast(self.element) + 0.5) * 2.0**-PART_BITS

    @staticmethod
    def _shifted(bits: Value, by: int) -> Value:
        return bits.formula.op(graph.ShiftRightOp(bits.ssa, bits.same(by).ssa))


def _draw(at: Formula, op: onnx.OnnxOp, dims: Sequence[Dim], element: Attribute) -> _Draw:
    """
    Random bits for each element of a shape: equal at each call with an attribute `seed`, else of a new key
    from the host.
    """
    if op.has("seed"):
        key = at.lowering.constant(np.array([_seed(op), 0], np.int64), at.rewriter)
    else:
        (key,) = host_results("host.draw_key", {}, [], [_KEY], at.rewriter, effect=True)
    bits = at.op(graph.RandomBitsOp(key, prod(dims, start=Dim.of(1))))
    return _Draw(bits, dims, f64 if element == f64 else f32)


def _seed(op: onnx.OnnxOp) -> int:
    """The attribute `seed` as an integer; of a float, the bits of the f64."""
    if isinstance(op, onnx.DropoutOp):
        return op.integer("seed")
    return int(np.array(op.floating("seed"), np.float64).view(np.int64))


def _given(op: onnx.OnnxOp, name: str, default: float) -> float:
    return op.floating(name) if op.has(name) else default


class RandomLowering(OnnxLowering):
    """`RandomNormal`, `RandomUniform` and their `…Like` operators → random numbers, scaled and shifted."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: onnx.RandomNormalOp | onnx.RandomUniformOp | onnx.RandomNormalLikeOp | onnx.RandomUniformLikeOp,
        rewriter: PatternRewriter,
    ) -> None:
        """Draw numbers of the shape of an attribute or of another tensor."""
        like = op.operands[0] if op.operands else None
        element: Attribute = f32 if like is None else element_of(like)
        if op.has("dtype"):
            element = element_type(op.integer("dtype"), op)
        dims = [Dim.of(n) for n in op.integers("shape")] if like is None else shape_of(like, op)
        draw = _draw(Formula(self, rewriter), op, dims, element)
        if isinstance(op, onnx.RandomNormalOp | onnx.RandomNormalLikeOp):
            y = draw.normal() * _given(op, "scale", 1.0) + _given(op, "mean", 0.0)
        else:
            low, high = _given(op, "low", 0.0), _given(op, "high", 1.0)
            y = draw.uniform() * (high - low) + low
        rewriter.replace(op, [], [y.cast(element).ssa])


class BernoulliLowering(OnnxLowering):
    """`Bernoulli` → 1 where a uniform number is below the probability."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.BernoulliOp, rewriter: PatternRewriter) -> None:
        """Compare in f64 for probabilities of f64, else in f32."""
        at, element = Formula(self, rewriter), element_of(op.input)
        draw = _draw(at, op, shape_of(op.input, op), element)
        is_one = draw.uniform() < at.value(op.input).cast(draw.element)
        to = element_type(op.integer("dtype"), op) if op.has("dtype") else element
        rewriter.replace(op, [], [is_one.cast(to).ssa])


class MultinomialLowering(OnnxLowering):
    """`Multinomial` → for each sample, the argmax of logarithms of probabilities with Gumbel noise."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MultinomialOp, rewriter: PatternRewriter) -> None:
        """Add noise of shape [batch, samples, classes] to the logarithms [batch, 1, classes]."""
        at, element = Formula(self, rewriter), element_of(op.input)
        batch, classes = shape_of(op.input, op)
        count = op.integer("sample_size") if op.has("sample_size") else 1
        draw = _draw(at, op, [batch, Dim.of(count), classes], element)
        noisy = draw.gumbel() + at.value(op.input).cast(draw.element).unsqueeze(1)
        best = at.op(graph.ArgmaxOp(noisy.ssa, 2, keep_dims=False))
        to = element_type(op.integer("dtype"), op) if op.has("dtype") else i32
        rewriter.replace(op, [], [best.cast(to).ssa])


class DropoutLowering(OnnxLowering):
    """
    `Dropout` in inference → its input; the mask is all true from opset 12 on, and all zeros below.

    In training, elements whose uniform number is below the ratio become 0, and the others are scaled.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DropoutOp, rewriter: PatternRewriter) -> None:
        """Return the input and a constant mask, unless training mode is, or may be, on."""
        opset = onnx.opset_of(op)
        if opset >= 12 and op.training_mode is not None:
            mode = self.array(op.training_mode)
            if mode is None or bool(np.any(mode)):
                self._train(op, mode is not None, rewriter)
                return
        results = [op.data]
        if op.mask is not None:
            element = i1 if opset >= 10 else element_of(op.data)
            number = self.scalar(1 if opset >= 12 else 0, element, rewriter)
            results.append(emit(graph.FullOp(number, shape_of(op.data, op)), rewriter))
        rewriter.replace(op, [], results)

    def _train(self, op: onnx.DropoutOp, is_certain: bool, rewriter: PatternRewriter) -> None:
        """
        Kept elements are divided by the probability of being kept; the flag `training_mode` may be data.
        """
        at = Formula(self, rewriter)
        ratio = (
            self.scalar(0.5, f32, rewriter) if op.ratio is None else self.as_scalar(op.ratio, op, rewriter)
        )
        mode = self.as_scalar(op.training_mode, op, rewriter)
        assert ratio is not None and mode is not None
        draw = _draw(at, op, shape_of(op.data, op), element_of(ratio))
        x, trains = at.value(op.data), at.value(mode)
        kept = draw.uniform() >= at.value(ratio).cast(draw.element)
        scale = (1.0 / (1.0 - at.value(ratio))).cast(x.element)
        if not is_certain:
            kept, scale = kept | trains.negated(), at.where(trains, scale, 1.0)
        y = at.where(kept, x * scale, 0.0)
        rewriter.replace(op, [], [y.ssa] if op.mask is None else [y.ssa, kept.ssa])
