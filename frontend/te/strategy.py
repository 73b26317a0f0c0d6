"""`te.strategy`: another way to compute an op of level 1, by a formula, with an estimate of its cost."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from stepwell.frontend.te.operator import FormulaT, place, tensors_of, tensors_returned
from stepwell.runtime.errors import StepwellError, did_you_mean

if TYPE_CHECKING:
    from xdsl.ir import Attribute, Operation, SSAValue
    from xdsl.irdl import IRDLOperation, OpDef

    from stepwell.dialects.plugins.strategies import Insert, Situation
    from stepwell.runtime.machine.target import TargetDescription

Applies: TypeAlias = "Callable[[Any, TargetDescription], str | None]"
Cost: TypeAlias = "Callable[[Any, TargetDescription], float | None]"


def strategy(
    op: str, *, name: str, cost: Cost | float | None = None, applies: Applies | None = None
) -> Callable[[FormulaT], FormulaT]:
    """
    Register a function on tensors as a way to compute an op of level 1, for this process.

    It decorates a function whose positional parameters are the operands of the op, as `te.placeholder` makes
    them (None for those that an op has not), and whose keyword-only parameters are properties of the op by
    name; it returns the tensors of the results. An op with another than the default value of a property that
    the function does not take is computed in another way.

    Args: `op` is the name of the op, such as `graph.conv`; `cost(op, target)` estimates the cycles on one
    core of a sample, or is their number: a strategy that costs less than all others is chosen, one without
    an estimate only where a user or a tuning database says so; `applies(op, target)` is None, or the reason
    why an op cannot be computed so.
    Raises: StepwellError `bad-plugin`, `name-taken`.
    """
    from stepwell.dialects.plugins.strategies import STRATEGIES, Strategy, StrategyName

    def decorate(function: FormulaT) -> FormulaT:
        own = _Formula(function, name, _class_of(op, function))
        if not isinstance(cast("object", name), str) or not name.strip() or {*name} & {*'=?*"'}:
            raise own.bad(f"a strategy has a name without = ? * and quotes, found {name!r}")
        found = Strategy(op, name, own.refusal(applies), own.cycles(cost), own.expand, function)
        STRATEGIES.add(StrategyName(op, name), found, function)
        return function

    return decorate


def _class_of(op: str, function: object) -> type[IRDLOperation]:
    """The class of an op of level 1. Raises: StepwellError `bad-plugin`."""
    from stepwell.dialects import graph
    from stepwell.dialects.graph.base import GraphOp

    known: dict[str, type[IRDLOperation]] = {
        each.name: each for each in graph.OPS if issubclass(each, GraphOp)
    }
    if op not in known:
        help = f"{did_you_mean(op, known)}docs/dialects.md lists the ops of level 1"
        raise StepwellError("bad-plugin", place(function), f"te.strategy: there is no op {op!r}", help=help)
    return known[op]


class _Formula:
    """The function of a strategy, whose parameters are operands and properties of an op."""

    def __init__(self, function: Callable[..., object], name: str, op_class: type[IRDLOperation]):
        """Raises: StepwellError `bad-plugin` for a function that does not fit the op."""
        self._function, self._name, self._op = function, name, op_class
        self._definition: OpDef = op_class.get_irdl_definition()
        given = inspect.signature(function).parameters.values()
        self._taken = [each for each in given if each.kind is inspect.Parameter.KEYWORD_ONLY]
        self._count = len(given) - len(self._taken)
        self._expect_fit()

    def bad(self, what: str, help: str | None = None) -> StepwellError:
        """The error for a strategy that cannot be registered."""
        return StepwellError("bad-plugin", place(self._function), f"te.strategy: {what}", help=help)

    def _expect_fit(self) -> None:
        """Require the parameters to be those of the op. Raises: StepwellError `bad-plugin`."""
        from stepwell.dialects.plugins.ops import is_variadic

        operands, properties = self._definition.operands, self._definition.properties
        if many := [name for name, each in operands if is_variadic(each)]:
            raise self.bad(f"{self._op.name} has any number of operands `{many[0]}`, a formula has some")
        if self._count != len(operands):
            names = ", ".join(name for name, _ in operands)
            found = (
                f"{self._op.name} has {len(operands)} operands ({names}), the function takes {self._count}"
            )
            raise self.bad(found)
        for each in self._taken:
            if each.name not in properties:
                known = ", ".join(properties)
                help = f"{did_you_mean(each.name, properties)}its properties are: {known}"
                raise self.bad(f"{self._op.name} has no property `{each.name}`", help)
        if left := [name for name in self._required() if name not in {each.name for each in self._taken}]:
            message = f"the function does not take `{left[0]}`, which each {self._op.name} has"
            raise self.bad(message, f"add a keyword-only parameter: `*, {', '.join(left)}`")

    def _required(self) -> list[str]:
        """The properties that each op has, without a default."""
        from xdsl.irdl import OptionalDef

        return [
            name
            for name, each in self._definition.properties.items()
            if not isinstance(each, OptionalDef) and each.default_value is None
        ]

    def refusal(self, applies: Applies | None) -> Callable[[Any, Situation], str | None]:
        """The condition of a strategy: properties that the function does not take have their defaults."""

        def refuse(op: Operation, situation: Situation) -> str | None:
            taken = {each.name for each in self._taken}
            for name, each in self._definition.properties.items():
                value = op.properties.get(name, each.default_value)
                if name not in taken and value != each.default_value and not name.endswith("SegmentSizes"):
                    return f"its formula takes no `{name}`, which is {_value(value)}"
            found = None if applies is None else applies(op, situation.target)
            if found is None or (isinstance(cast("object", found), str) and found):
                return found
            raise self._failed(f"applies returned {found!r}, expected None or the reason why it does not")

        return refuse

    def cycles(self, cost: Cost | float | None) -> Callable[[Any, Situation], float | None]:
        """The estimate of a strategy, checked."""

        def estimate(op: Operation, situation: Situation) -> float | None:
            found = cost(op, situation.target) if callable(cost) else cost
            if found is None:
                return None
            if isinstance(cast("object", found), int | float) and isfinite(found) and found >= 0:
                return float(found)
            raise self._failed(f"the cost is {found!r}, expected a number of cycles, or None")

        return estimate

    def expand(self, op: Operation, insert: Insert) -> Sequence[SSAValue]:
        """The results of an op, computed by the function. Raises: StepwellError `te-operator`."""
        from stepwell.frontend.te.to_graph import emit

        operands = [getattr(op, name) for name, _ in self._definition.operands]
        tensors = tensors_of(self._function, operands)
        returned = self._function(*tensors, **self._values(op.properties))
        outputs = tensors_returned(returned, self._function, self._name)
        given = {t: v for t, v in zip(tensors, operands, strict=True) if t is not None and v is not None}
        return emit(outputs, given, insert)

    def _values(self, properties: Mapping[str, Attribute]) -> dict[str, object]:
        """The properties of an op for the function, in Python, without absent ones."""
        defaults = self._definition.properties
        found = {
            each.name: properties.get(each.name, defaults[each.name].default_value) for each in self._taken
        }
        return {name: _value(value) for name, value in found.items() if value is not None}

    def _failed(self, what: str) -> StepwellError:
        return StepwellError("plugin-failed", place(self._function), f"strategy {self._name}: {what}")


def _value(attribute: Attribute | None) -> object:
    """A property in Python."""
    from stepwell.dialects.attributes import python_value

    return None if attribute is None else python_value(attribute)
