"""The values of a model's nodes in its program at level 1, judged against those of an earlier run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.lowering.interpret import STEP_WATCHER, Noise, interpret
from stepwell.passes.base import Numerics
from stepwell.runtime.layout import Layout
from stepwell.runtime.meaning import Array
from stepwell.tools.check.judgement import Judgement, judged_value, slack_of
from stepwell.tools.check.layouts import feature_maps_of, in_model_layout, layouts_of
from stepwell.tools.check.origins import Origins, before_views


class Held(NamedTuple):
    """The array of a value as a program stores it; without a layout, as the model has it."""

    array: Array
    layout: Layout | None


class ModelValues:
    """
    The values of the nodes of a model, by name.

    Args: `main` is the function as it was imported; `origins` has to follow all passes that run on it.
    """

    def __init__(self, main: FuncOp):
        self.origins = Origins(main)
        self._wanted: dict[str, Array] = {}
        self._slack: dict[str, float] = {}
        self._others: set[str] = set()
        """The values that are no feature maps."""
        self._classes: dict[str, Numerics] = {}
        """By value that the program did not have after the last passes: their class."""

    def start(
        self, module: ModuleOp, ctx: Context, inputs: Sequence[Array]
    ) -> tuple[list[Array], list[float]]:
        """
        The results of `@main` and what roundings may do to each; values of this run are the wanted ones.

        Raises: StepwellError of the interpreter.
        """
        results, found = self.run(module, ctx, inputs)
        noisy, others = self.run(module, ctx, inputs, Noise())
        maps = feature_maps_of(module)
        located = self.origins.located(module).items()
        self._others = {node.name for node, value in located if maps.isdisjoint(before_views(value))}
        self._wanted = {name: held.array for name, held in found.items() if held.layout is None}
        names = [name for name in self._wanted if name in others]
        slack = slack_of([others[name].array for name in names], [self._wanted[name] for name in names])
        self._slack = dict(zip(names, slack, strict=True))
        return results, slack_of(noisy, results)

    def run(
        self, module: ModuleOp, ctx: Context, inputs: Sequence[Array], noise: Noise | None = None
    ) -> tuple[list[Array], dict[str, Held]]:
        """
        The results of `@main`, and the program's values; a value in a loop is from the last iteration.

        Raises: StepwellError of the interpreter.
        """
        layouts = layouts_of(module)
        names: dict[SSAValue, list[str]] = {}
        for node, value in self.origins.located(module).items():
            if node.weight is None:
                source = next((v for v in before_views(value) if v in layouts), value)
                names.setdefault(source, []).append(node.name)
        makers = {value.owner for value in names}
        found: dict[str, Held] = {}

        def see(op: Operation, operands: Sequence[Array], outcome: Any) -> None:
            if op in makers:
                for result, array in zip(
                    op.results, [outcome] if len(op.results) == 1 else outcome, strict=True
                ):
                    held = Held(np.asarray(array), layouts.get(result))
                    if held.array.dtype.kind != "O":
                        found.update(dict.fromkeys(names.get(result, ()), held))

        token = STEP_WATCHER.set(see)
        try:
            return interpret(module, ctx, "main", inputs, noise=noise), found
        finally:
            STEP_WATCHER.reset(token)

    def departing(self, found: Mapping[str, Held], numerics: Numerics) -> Judgement | None:
        """
        The judgement of the first value, in the model's order, that a pass of a class has made wrong.

        Values that are stored in another shape or type are not judged; all others may round, since a pass
        that is exact may choose a layout that sums in another order.
        """
        for name in self._in_order(found):
            wanted = self._wanted[name]
            numbers = numerics.or_more(Numerics.ROUNDING, *self._pending(name))
            if (array := self._in_wanted_layout(name, found[name])) is not None:
                slack = self._slack.get(name, 0.0)
                judgement = judged_value(name, wanted, array, numbers, of_model=True, slack=slack)
                if not judgement.right:
                    return judgement
        return None

    def departing_from(self, reference: Mapping[str, Array], numerics: Numerics) -> Judgement | None:
        """The same for the values of `start` against those of a reference, as far as it has them."""
        found = {name: Held(array, None) for name, array in self._wanted.items() if name in reference}
        self._wanted, wanted = {name: np.asarray(reference[name]) for name in found}, self._wanted
        try:
            return self.departing(found, numerics)
        finally:
            self._wanted = wanted

    def accept(self, found: Mapping[str, Held], numerics: Numerics) -> None:
        """Let values of a run after a pass of a class be the wanted ones."""
        for name in self._wanted:
            array = self._in_wanted_layout(name, found[name]) if name in found else None
            if array is None:
                self._classes[name] = numerics.or_more(*self._pending(name))
            else:
                self._wanted[name] = array
                self._classes.pop(name, None)

    def node_of(self, name: str) -> str:
        """The node that makes a value; empty where none does."""
        return next((value.node for value in self.origins.values if value.name == name), "")

    def _pending(self, name: str) -> list[Numerics]:
        return [self._classes[name]] if name in self._classes else []

    def _in_order(self, found: Mapping[str, Held]) -> list[str]:
        names = dict.fromkeys(value.name for value in self.origins.values)
        return [name for name in names if name in found and name in self._wanted]

    def _in_wanted_layout(self, name: str, held: Held) -> Array | None:
        """The array of a value in the layout of the wanted one; None for another type or shape."""
        shape, is_map = self._wanted[name].shape, name not in self._others
        if held.array.dtype != self._wanted[name].dtype:
            return None
        return in_model_layout(held.array, held.layout, shape, is_feature_map=is_map)
