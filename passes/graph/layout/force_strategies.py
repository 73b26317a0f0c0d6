"""`force-strategies`: a way to compute each of some convolutions, by the names of their nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from stepwell.dialects import graph
from stepwell.dialects._xdsl import target_of
from stepwell.dialects.graph_ir.annotations import STRATEGY
from stepwell.dialects.locations import node_names
from stepwell.passes.base import Pass
from stepwell.passes.graph.layout.strategies import Situation, candidates
from stepwell.runtime.errors import StepwellError, did_you_mean


@dataclass(frozen=True)
class ForceStrategiesPass(Pass):
    """
    Write the strategies that `nodes` names, such as `nodes="Conv_3=winograd4"`, for the passes of layouts.

    ```mlir
    %y = graph.conv %x, %w … loc("Conv_3")
    // ->
    %y = graph.conv %x, %w … {graph.strategy = "winograd4"} loc("Conv_3")
    ```
    Strategies are `product`, `rows`, `blocks`, `winograd2` and `winograd4`. A node that is no convolution,
    and a strategy that does not apply, is an error. Class: exact. Runs before `convert-layout`.
    """

    name = "force-strategies"

    nodes: tuple[str, ...] = ()
    """Nodes with their strategies, as `NODE=STRATEGY`."""
    lanes: int = 16
    """The elements of a vector register."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        situation = Situation(target_of(ctx), self.lanes)
        convolutions = {name: conv for conv, names in _named(op) for name in names}
        for text in self.nodes:
            node, _, strategy = text.rpartition("=")
            if (conv := convolutions.get(node)) is None:
                known = ", ".join(convolutions) or "none"
                help = f"{did_you_mean(node, convolutions)}the convolutions are {known}"
                message = f"strategy of {node!r}: no such convolution"
                raise StepwellError("bad-option", None, message, help=help)
            _force(conv, node, strategy, situation)


def _named(module: ModuleOp) -> Iterator[tuple[graph.ConvOp, list[str]]]:
    """The convolutions of a module with the names of their nodes."""
    for op in module.walk():
        if isinstance(op, graph.ConvOp):
            yield op, node_names(op.location)


def _force(op: graph.ConvOp, node: str, strategy: str, situation: Situation) -> None:
    """Write a strategy on a convolution. Raises: StepwellError `bad-option` for one that does not apply."""
    every = {each.name: each for each in candidates(op, situation)}
    if (found := every.get(strategy)) is None:
        help = f"{did_you_mean(strategy, every)}the strategies are {', '.join(every)}"
        raise StepwellError("bad-option", op, f"strategy {strategy!r} of {node}: no such strategy", help=help)
    if found.refusal is not None:
        legal = [name for name, each in every.items() if each.refusal is None]
        message = f"strategy {strategy} of {node} does not apply: {found.refusal}"
        raise StepwellError("bad-option", op, message, help=f"possible: {', '.join(legal)}")
    op.attributes[STRATEGY] = StringAttr(strategy)
