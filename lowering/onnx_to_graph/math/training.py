"""Optimizer steps of ONNX's training preview → `graph`: a chain of formulas per tensor."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.broadcasting import conforming
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.lowering.to_graph import Formula, Value


class OptimizerLowering(OnnxLowering):
    """Optimizers with operands and results in groups: all X, all gradients, all states."""

    def groups(
        self, op: onnx.AdagradOp | onnx.AdamOp | onnx.MomentumOp, number: int, rewriter: PatternRewriter
    ) -> list[tuple[Value, ...]]:
        """The tensors of each parameter: the parameter, its gradient, its states."""
        at = Formula(self, rewriter)
        count = len(op.inputs) // number
        groups = [op.inputs[i::count] for i in range(count)]
        alike = [conforming(op, group, rewriter) for group in groups]
        return [tuple(at.value(value) for value in group) for group in alike]

    def finish(self, op: onnx.OnnxOp, new: Sequence[Sequence[Value]], rewriter: PatternRewriter) -> None:
        """Replace the op by its results, group by group."""
        rewriter.replace(op, [], [value.ssa for group in zip(*new, strict=True) for value in group])


def regularized(op: onnx.OnnxOp, x: Value, gradient: Value) -> Value:
    """The gradient plus that of the L2 norm of the parameter."""
    factor = op.floating("norm_coefficient") if op.has("norm_coefficient") else 0.0
    return gradient + x * factor if factor else gradient


class AdagradLowering(OptimizerLowering):
    """`Adagrad` → x - r · g / (√(h + g²) + ε), where the rate r decays with the step."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.AdagradOp, rewriter: PatternRewriter) -> None:
        """Emit one Adagrad step for each parameter: new parameter and sum of squares."""
        at = Formula(self, rewriter)
        rate, step = at.value(op.R), at.value(op.T)
        rate = rate / (step.cast(rate.element) * op.floating("decay_factor") + 1)
        new: list[tuple[Value, Value]] = []
        for x, gradient, squares in self.groups(op, 3, rewriter):
            gradient = regularized(op, x, gradient)
            squares = squares + gradient * gradient
            new.append((x - rate * gradient / (root(squares) + op.floating("epsilon")), squares))
        self.finish(op, new, rewriter)


class AdamLowering(OptimizerLowering):
    """`Adam` → running means of gradient and square; the rate is corrected from the second step on."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.AdamOp, rewriter: PatternRewriter) -> None:
        """Emit one Adam step for each parameter: new parameter, mean and mean square."""
        at = Formula(self, rewriter)
        alpha, beta = op.floating("alpha"), op.floating("beta")
        rate, step = at.value(op.R), at.value(op.T)
        power = [
            at.op(graph.PowerOp(rate.same(base).ssa, step.cast(rate.element).ssa)) for base in (alpha, beta)
        ]
        rate = at.where(step > 0, rate * root(1 - power[1]) / (1 - power[0]), rate)
        shrink = 1 - (op.floating("norm_coefficient_post") if op.has("norm_coefficient_post") else 0.0)
        new: list[tuple[Value, Value, Value]] = []
        for x, gradient, mean, squares in self.groups(op, 4, rewriter):
            gradient = regularized(op, x, gradient)
            mean = mean * alpha + gradient * (1 - alpha)
            squares = squares * beta + gradient * gradient * (1 - beta)
            x = x - rate * mean / (root(squares) + op.floating("epsilon"))
            new.append((x * shrink if shrink != 1 else x, mean, squares))
        self.finish(op, new, rewriter)


class MomentumLowering(OptimizerLowering):
    """`Momentum` → v = α·v + β·g, and x - r·v, or x - r·(g + α·v) where `mode` is nesterov."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MomentumOp, rewriter: PatternRewriter) -> None:
        """Emit one momentum step for each parameter: new parameter and velocity."""
        at = Formula(self, rewriter)
        alpha = op.floating("alpha")
        rate, step = at.value(op.R), at.value(op.T)
        dampening = at.where(step > 0, rate.same(op.floating("beta")), 1.0)
        new: list[tuple[Value, Value]] = []
        for x, gradient, velocity in self.groups(op, 3, rewriter):
            gradient = regularized(op, x, gradient)
            velocity = velocity * alpha + dampening * gradient
            step_by = gradient + velocity * alpha if op.string("mode") == "nesterov" else velocity
            new.append((x - rate * step_by, velocity))
        self.finish(op, new, rewriter)


def root(x: Value) -> Value:
    """The square root."""
    return x.apply(graph.SqrtOp)
