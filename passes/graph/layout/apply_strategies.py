"""`apply-strategies`: ops by the formulas of plugins, where these were chosen or cost less."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import target_of
from stepwell.dialects.graph_ir.annotations import STRATEGY
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.plugins.strategies import DEFAULT, Situation, Strategy, strategies_of_plugins
from stepwell.passes.analysis.strategies import candidates, cheapest, forced
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count, remark
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class ApplyStrategiesPass(FunctionPass):
    """
    Replace ops by the formulas that plugins register for them with `te.strategy`.

    ```mlir
    %y = graph.conv %x, %w … {graph.strategy = "sums"} loc("Conv_3")
    // ->
    %y = graph.expression "sums" … {graph.strategy = "sums"} loc("Conv_3")
    ```
    A strategy is used where `force-strategies` names it, or where its estimate is the lowest. For this the
    compiler's own way to compute the op must have an estimate, as for convolutions. The attribute value
    `default`, which leaves the choice to the compiler's passes, is removed. Class: rounding (formulas add in
    an order of their own). Runs before `convert-layout`.
    """

    name = "apply-strategies"
    opt_level = 2
    numerics = Numerics.ROUNDING

    lanes: int = 16
    """The elements of a vector register."""
    winograd: bool = True
    """Whether `winograd-conv` runs later."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        situation = Situation(target_of(ctx), self.lanes, self.winograd)
        for op in list(func.walk()):
            if _is_own(op) and (strategy := _chosen(op, situation)) is not None:
                _expand(op, strategy)
                count(f"ops by strategy {strategy.name}")
            if forced(op) == DEFAULT:
                del op.attributes[STRATEGY]


def _is_own(op: Operation) -> bool:
    """
    Whether an op belongs to a function itself, or to its branches and loops, and not to the region of a
    composed op.
    """
    parent = op.parent_op()
    while isinstance(parent, graph.ControlFlowOp):
        parent = parent.parent_op()
    return isinstance(parent, FuncOp)


def _chosen(op: Operation, situation: Situation) -> Strategy | None:
    """The strategy of a plugin for an op: the one that is named, or else the cheapest."""
    if not (known := strategies_of_plugins(op.name)):
        return None
    if wanted := forced(op):
        return next((each for each in known if each.name == wanted), None)
    best = cheapest(candidates(op, situation))
    return best.strategy if best is not None and best.is_of_plugin else None


def _expand(op: Operation, strategy: Strategy) -> None:
    """Replace an op by the ops of a strategy. Raises: StepwellError `bad-lowering` for other types."""
    assert strategy.expand is not None
    emit = IRBuilder.before(op)
    values = strategy.expand(op, emit.insert)
    found, expected = [value.type for value in values], [result.type for result in op.results]
    if found != expected:
        message = f"strategy {strategy.name} computes {', '.join(map(str, found)) or 'nothing'}"
        raise StepwellError("bad-lowering", op, f"{message}, expected {', '.join(map(str, expected))}")
    for value in values:
        if isinstance(value.owner, Operation):
            value.owner.attributes[STRATEGY] = StringAttr(strategy.name)
    remark(op, f"computed by strategy {strategy.name}")
    Rewriter.replace_op(op, [], values)
