"""The reverse sweep over the ops of a block: cotangents by value, absent where they are zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, Region, SSAValue

from stepwell.dialects import adt, graph
from stepwell.dialects.graph.functions import values_read
from stepwell.dialects.locations import adopt_location
from stepwell.passes.analysis.tangents import Tangents
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Fields, Rule, rule_of, zero
from stepwell.passes.graph.gradients.straight_through import STRAIGHT_THROUGH
from stepwell.passes.graph.gradients.without_derivative import reason_of
from stepwell.runtime.errors import StepwellError, describe_location


def inputs_of(op: Operation) -> list[SSAValue]:
    """
    The values for which a rule gives cotangents: the operands of an op.

    For an op with regions, these are its operands and the outside values that the regions use, each once.
    """
    return list(dict.fromkeys(values_read(op))) if op.regions else list(op.operands)


class Sweep:
    """The cotangents of the active values of a block: of `arguments`, and of values that depend on them."""

    def __init__(self, arguments: Sequence[SSAValue], ops: Sequence[Operation], tangents: Tangents):
        self._arguments, self._tangents = arguments, tangents
        self._cotangents: dict[SSAValue, SSAValue | Fields] = {}
        self.active = set(arguments)
        self._ops: list[Operation] = []
        """The ops through which results depend on the arguments."""
        for op in ops:
            rule = self._rule(op)
            if rule is zero or not any(value in self.active for value in inputs_of(op)):
                continue
            found = [result for result in op.results if tangents.has(result)]
            if found or rule is None:
                self.active.update(found)
                self._ops.append(op)

    def _rule(self, op: Operation) -> Rule | None:
        straight = STRAIGHT_THROUGH.get(type(op)) if self._tangents.straight_through else None
        return straight or rule_of(op)

    def expect_rules(self) -> None:
        """Require a derivative of each op. Raises: StepwellError `no-derivative`, which lists all without."""
        missing = list(self._without_rule())
        if missing:
            raise no_derivative(missing)

    def _without_rule(self) -> Iterator[Operation]:
        for op in self._ops:
            if self._rule(op) is None:
                yield op
            for region in op.regions:
                yield from self._inside(op, region)._without_rule()

    def _inside(self, op: Operation, region: Region) -> Sweep:
        """The sweep over a region of an op, of active values around it and of arguments that are active."""
        is_given = not isinstance(op, adt.MatchOp) or op.value in self.active
        arguments = [value for value in region.block.args if is_given and self._tangents.has(value)]
        return Sweep([*self.active, *arguments], list(region.block.ops)[:-1], self._tangents)

    def add(self, value: SSAValue, cotangent: SSAValue | Fields, b: GradientBuilder) -> None:
        """Add to the cotangent of a value."""
        known = self._cotangents.get(value)
        if known is None:
            self._cotangents[value] = cotangent
        elif isinstance(known, Fields) and isinstance(cotangent, Fields):
            both = {
                i: b.sum_of(known.known[i], cotangent.known[i]) for i in known.known if i in cotangent.known
            }
            self._cotangents[value] = Fields({**known.known, **cotangent.known, **both})
        else:
            parts = (
                each.whole(value, b) if isinstance(each, Fields) else each for each in (known, cotangent)
            )
            self._cotangents[value] = b.sum_of(*parts)

    def _of(self, value: SSAValue, b: GradientBuilder) -> SSAValue | None:
        """The cotangent of a value; None where it is zero."""
        found = self._cotangents.get(value)
        return found.whole(value, b) if isinstance(found, Fields) else found

    def run(self, b: GradientBuilder) -> list[SSAValue]:
        """The cotangents of the arguments, zeros where no result depends on one."""
        b = b.within(self.active)
        for op in reversed(self._ops):
            if not any(result in self._cotangents for result in op.results):
                continue
            rule = self._rule(op)
            assert rule is not None
            before = _last_before(b)
            if isinstance(op, graph.TupleOp):  # its rule takes fields apart
                given = [self._cotangents.get(op.result)]
            else:
                given = [self._of(result, b) for result in op.results]
            inputs = inputs_of(op)
            found = rule(op, given[0] if len(given) == 1 else given, b)
            _locate(before, b, op)
            for value, cotangent in zip(inputs, found, strict=True):
                if cotangent is not None and value in self.active:
                    self.add(value, cotangent, b)
            if op.parent is None:  # the rule has put another op in its place
                op.erase()
        return [self._of(value, b) or b.zeros(value) for value in self._arguments]


def _last_before(b: GradientBuilder) -> Operation | None:
    """The op before the place of a builder."""
    following = b.rewriter.insertion_point.insert_before
    return None if following is None else following.prev_op


def _locate(before: Operation | None, b: GradientBuilder, op: Operation) -> None:
    """Give the ops that a rule has made the location of the op whose derivative they are."""
    made = _last_before(b)
    while made is not None and made is not before:
        adopt_location(made, op.location)
        made = made.prev_op


def no_derivative(missing: Sequence[Operation]) -> StepwellError:
    """The error for ops without a derivative, with their places and reasons."""
    names = ", ".join(dict.fromkeys(op.name for op in missing))
    notes = [f"{op.name} at {place}" for op in missing[:20] if (place := describe_location(op))]
    reasons = {op.name: reason for op in missing if (reason := reason_of(op))}
    notes += [f"{name}: {reason}" for name, reason in reasons.items()]
    message = f"no derivative is known of {names}"
    help = "leave out the arguments that need it, or register one: stepwell.plugin.derivative"
    return StepwellError("no-derivative", missing[0], message, note=notes, help=help)
