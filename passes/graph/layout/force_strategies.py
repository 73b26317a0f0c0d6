"""`force-strategies`: a way to compute each of some ops, by the names of their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.graph_ir.annotations import STRATEGY
from stepwell.dialects.locations import node_names
from stepwell.dialects.plugins.strategies import DEFAULT, Situation
from stepwell.passes.analysis.strategies import candidates, has_strategies
from stepwell.passes.base import Pass
from stepwell.passes.context import remark
from stepwell.runtime.errors import StepwellError, did_you_mean

_ALL = "*"
_WHERE_POSSIBLE = "?"


class _Choice(NamedTuple):
    """The strategy of an option for a node, or for all nodes that have it."""

    node: str
    strategy: str
    is_strict: bool
    """Whether an unknown node or strategy is an error."""

    @property
    def must_apply(self) -> bool:
        """Whether it is an error that the strategy does not apply to a node."""
        return self.is_strict and self.node != _ALL

    @staticmethod
    def of(text: str) -> _Choice:
        """The choice of the text `NODE=NAME` or `NODE=NAME?`."""
        node, _, name = text.rpartition("=")
        plain = name.removesuffix(_WHERE_POSSIBLE)
        return _Choice(node, plain, plain == name)


@dataclass(frozen=True)
class ForceStrategiesPass(Pass):
    """
    Write the strategies that `nodes` names, such as `nodes="Conv_3=winograd4"`, for the passes that follow.

    ```mlir
    %y = graph.conv %x, %w … loc("Conv_3")
    // ->
    %y = graph.conv %x, %w … {graph.strategy = "winograd4"} loc("Conv_3")
    ```
    Strategies of convolutions are `product`, `rows`, `blocks`, `winograd2` and `winograd4`, and for all ops
    those that plugins register; `default` leaves the choice to the compiler. A node without strategies, and a
    strategy that does not apply, is an error; with `NODE=NAME?` it is a remark, and `*=NAME` is for all nodes
    to which the strategy applies. Class: exact. Runs before `apply-strategies` and `convert-layout`.
    """

    name = "force-strategies"

    nodes: tuple[str, ...] = ()
    """Nodes with their strategies, as `NODE=STRATEGY`."""
    lanes: int = 16
    """The elements of a vector register."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        situation = Situation(target_of(ctx), self.lanes)
        ops = [each for each in op.walk() if has_strategies(each)]
        by_node = {name: each for each in ops for name in node_names(each.location)}
        for choice in map(_Choice.of, self.nodes):
            if choice.node == _ALL:
                _force_all(ops, choice, situation)
            elif choice.node in by_node:
                _force(by_node[choice.node], choice, situation)
            elif choice.is_strict:
                raise _unknown(choice.node, list(by_node))


def _unknown(node: str, known: Sequence[str]) -> StepwellError:
    help = f"{did_you_mean(node, known)}the nodes with strategies are {', '.join(known) or 'none'}"
    return StepwellError("bad-option", None, f"strategy of {node!r}: no such node has several", help=help)


def _force_all(ops: Sequence[Operation], choice: _Choice, situation: Situation) -> None:
    """Write a strategy on all ops that have it. Raises: StepwellError `bad-option` for a name of none."""
    known = {each.name for op in ops for each in candidates(op, situation)} | {DEFAULT}
    if choice.is_strict and choice.strategy not in known:
        help = f"{did_you_mean(choice.strategy, known)}the strategies are {', '.join(sorted(known))}"
        raise StepwellError("bad-option", None, f"no node has a strategy {choice.strategy!r}", help=help)
    for op in ops:
        if choice.strategy == DEFAULT or any(c.name == choice.strategy for c in candidates(op, situation)):
            _force(op, choice, situation)


def _force(op: Operation, choice: _Choice, situation: Situation) -> None:
    """Write a strategy on an op. Raises: StepwellError `bad-option` for one that must apply and does not."""
    name, node = choice.strategy, ", ".join(node_names(op.location)) or op.name
    every = {each.name: each for each in candidates(op, situation)}
    found = every.get(name)
    if found is None and name != DEFAULT:
        message = f"strategy {name!r} of {node}: no such strategy"
        help = f"{did_you_mean(name, every)}the strategies are {', '.join(every)}"
    elif found is not None and found.refusal is not None:
        message = f"strategy {name} of {node} does not apply: {found.refusal}"
        help = f"possible: {', '.join(name for name, each in every.items() if each.refusal is None)}"
    else:
        op.attributes[STRATEGY] = StringAttr(name)
        return
    if choice.must_apply:
        raise StepwellError("bad-option", op, message, help=help)
    remark(op, message)
