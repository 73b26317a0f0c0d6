"""Plans with a strategy for each node, by the measured times of nodes and the traffic of layout changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Operation

from stepwell.dialects.locations import node_name
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model_source import ProfileRow
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.inputs import made_up_inputs
from stepwell.tools.measure.calibrate import kept_limits, machine_limits
from stepwell.tools.measure.profile import profile
from stepwell.tools.records.plans import NODES, keys_of
from stepwell.tools.tuning.graph.elimination import cheapest_choices
from stepwell.tools.tuning.graph.strategies_in import Strategies, strategies_in
from stepwell.tools.tuning.tasks import copy_of

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model

PLANS = 3
"""The plans that are compared as whole models."""
_RUNS = 5
_ROUNDS = 3
_BYTES_PER_SECOND = 10e9
"""The traffic of a layout change where the machine's limits are not known."""


def node_plans(
    model: Model, options: CompileOptions, module: ModuleOp, threads: int, left: Callable[[], float]
) -> list[Mapping[str, object]]:
    """
    The choices of the cheapest plans, each for the nodes whose strategy differs from the compiler's own.

    Args: `module` is the model on level 1; `left` gives the seconds for this: none are left, no plans.
    Raises: StepwellError of the model as it is.
    """
    known = strategies_in(copy_of(model), options)
    keys = keys_of(module)
    nodes = {name: each for name, each in known.items() if name in keys and len(each.legal) > 1}
    if not nodes:
        return []
    times = _Times(model, options, threads)
    names = dict.fromkeys(name for each in nodes.values() for name in each.legal)
    measured: dict[str, Mapping[str, float]] = {"": times.of("")}
    for strategy in names:
        if left() <= 0:
            return []
        measured[strategy] = times.of(strategy)
    costs = _costs(nodes, keys, measured)
    pairs = _pairs(module, nodes, keys)
    plans = cheapest_choices(costs, pairs, PLANS)
    return [choices for plan in plans if (choices := _choices(plan, nodes, keys))]


class _Times:
    """The times of a model's nodes, with a strategy wherever that applies."""

    def __init__(self, model: Model, options: CompileOptions, threads: int):
        self._model, self._options, self._threads = model, options, threads
        self._limits = machine_limits()

    def of(self, strategy: str) -> Mapping[str, float]:
        """The seconds of kernels by node; the compiler's own choices for an empty name; none on a failure."""
        forced = (*self._options.strategies, f"*={strategy}?") if strategy else self._options.strategies
        options = replace(self._options, strategies=forced, profile=True)
        try:
            model = compile_model(copy_of(self._model), options, threads=self._threads)
            feeds = made_up_inputs(model.interface, "random", 0, {})
            found: dict[str, float] = {}
            for _ in range(_ROUNDS):
                rows = profile(model, feeds, _RUNS, self._limits)
                for node, seconds in _by_node(rows).items():
                    found[node] = min(seconds, found.get(node, seconds))
            return found
        except StepwellError:
            if not strategy:
                raise
            return {}


def _by_node(rows: Sequence[ProfileRow]) -> dict[str, float]:
    """The seconds of the kernels that compute each node."""
    found: dict[str, float] = {}
    for row in rows:
        for node in dict.fromkeys(row.nodes) if row.kind == "kernel" else ():
            found[node] = found.get(node, 0.0) + 1e-6 * row.microseconds
    return found


def _costs(
    nodes: Mapping[str, Strategies], keys: Mapping[str, str], measured: Mapping[str, Mapping[str, float]]
) -> dict[str, Sequence[float]]:
    """The seconds of each strategy of each kind of node, over all nodes of the kind."""
    found: dict[str, list[float]] = {}
    for name, each in nodes.items():
        own = [
            measured["" if strategy == each.chosen else strategy].get(name, float("inf"))
            for strategy in each.legal
        ]
        before = found.get(keys[name], [0.0] * len(own))
        found[keys[name]] = [a + b for a, b in zip(before, own, strict=True)]
    return dict(found)


def _pairs(
    module: ModuleOp, nodes: Mapping[str, Strategies], keys: Mapping[str, str]
) -> dict[tuple[str, str], Sequence[Sequence[float]]]:
    """The seconds of layout changes between a node and the readers of its result."""
    limits = kept_limits()
    found: dict[tuple[str, str], list[list[float]]] = {}
    for op in module.walk():
        if (name := node_name(op)) not in nodes:
            continue
        bytes = _bytes_of(op)
        speed = _BYTES_PER_SECOND if limits is None else limits.bandwidth(1, bytes)
        for reader in _readers(op, nodes):
            changes = _changes(nodes[name], nodes[reader], 2 * bytes / speed)
            key = keys[name], keys[reader]
            found[key] = _sum(found[key], changes) if key in found else changes
    return dict(found)


def _changes(a: Strategies, b: Strategies, seconds: float) -> list[list[float]]:
    """The seconds between strategies of two nodes: a layout changes where one of them computes in blocks."""
    return [[seconds if (m in a.blocked) != (n in b.blocked) else 0.0 for n in b.legal] for m in a.legal]


def _sum(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> list[list[float]]:
    return [[x + y for x, y in zip(m, n, strict=True)] for m, n in zip(a, b, strict=True)]


def _bytes_of(op: Operation) -> int:
    """About the bytes of the first result of an op; open sizes count as 1, elements as f32."""
    type = op.results[0].type if op.results else None
    shape = type.get_shape() if isinstance(type, TensorType) else ()
    return 4 * prod(1 if extent == DYNAMIC_INDEX else extent for extent in shape)


def _readers(op: Operation, nodes: Mapping[str, Strategies]) -> list[str]:
    """The nodes with strategies that read a result of an op, also after other ops."""
    found: dict[str, None] = {}
    waiting, seen = [op], {op}
    while waiting:
        for result in waiting.pop().results:
            for use in result.uses:
                reader = use.operation
                if reader in seen:
                    continue
                seen.add(reader)
                if (name := node_name(reader)) in nodes:
                    found[name] = None
                else:
                    waiting.append(reader)
    return list(found)


def _choices(
    plan: Mapping[str, int], nodes: Mapping[str, Strategies], keys: Mapping[str, str]
) -> Mapping[str, object]:
    """The choices of a plan that differ from the compiler's own; empty without any."""
    found: dict[str, str] = {}
    for name, each in nodes.items():
        if (strategy := each.legal[plan[keys[name]]]) != each.chosen:
            found[keys[name]] = strategy
    return {NODES: found} if found else {}
