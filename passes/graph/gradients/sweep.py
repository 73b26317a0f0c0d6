"""The reverse sweep over the ops of a block: cotangents by value, absent where they are zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.ir import Attribute, Operation, Region, SSAValue

from stepwell.dialects.graph.functions import values_read
from stepwell.dialects.graph.relations import Domain
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import Tensor, TensorType
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import rule_of, zero
from stepwell.passes.graph.gradients.without_derivative import REASONS
from stepwell.runtime.errors import StepwellError, describe_location


def is_differentiable(value: SSAValue) -> bool:
    """Whether a value is a tensor of floats."""
    return is_float(value.type)


def is_float(type: Attribute) -> bool:
    """Whether a type is that of tensors of floats."""
    return isinstance(type, TensorType) and Domain.FLOAT.holds(cast(Tensor, type).element_type)


def inputs_of(op: Operation) -> list[SSAValue]:
    """
    The values for which a rule gives cotangents: the operands of an op.

    Of an op with regions: its operands and what the regions use of the values around it, each once.
    """
    return list(dict.fromkeys(values_read(op))) if op.regions else list(op.operands)


class Sweep:
    """The cotangents of a block's values; `arguments` and what depends on them are active, they have one."""

    def __init__(self, arguments: Sequence[SSAValue], ops: Sequence[Operation]):
        self._arguments = arguments
        self._cotangents: dict[SSAValue, SSAValue] = {}
        self.active = set(arguments)
        self._ops: list[Operation] = []
        """The ops through which results depend on the arguments."""
        for op in ops:
            rule = rule_of(op)
            if rule is zero or not any(value in self.active for value in inputs_of(op)):
                continue
            found = [result for result in op.results if is_differentiable(result)]
            if found or rule is None:
                self.active.update(found)
                self._ops.append(op)

    def expect_rules(self) -> None:
        """Require a derivative of each op. Raises: StepwellError `no-derivative`, which lists all without."""
        missing = list(self._without_rule())
        if missing:
            names = ", ".join(dict.fromkeys(op.name for op in missing))
            notes = [f"{op.name} at {place}" for op in missing[:20] if (place := describe_location(op))]
            reasons = {op.name: REASONS[type(op)] for op in missing if type(op) in REASONS}
            notes += [f"{name}: {reason}" for name, reason in reasons.items()]
            message = f"no derivative is known of {names}"
            help = "leave out the arguments that need it, or register one: stepwell.plugin.derivative"
            raise StepwellError("no-derivative", missing[0], message, note=notes, help=help)

    def _without_rule(self) -> Iterator[Operation]:
        for op in self._ops:
            if rule_of(op) is None:
                yield op
            for region in op.regions:
                yield from sweep_of(region, self.active)._without_rule()

    def add(self, value: SSAValue, cotangent: SSAValue, b: GradientBuilder) -> None:
        """Add to the cotangent of a value."""
        known = self._cotangents.get(value)
        self._cotangents[value] = cotangent if known is None else b.add(known, cotangent)

    def run(self, b: GradientBuilder) -> list[SSAValue]:
        """The cotangents of the arguments, of zeros where no result depends on one."""
        b = b.within(self.active)
        for op in reversed(self._ops):
            given = [self._cotangents.get(result) for result in op.results]
            if all(each is None for each in given):
                continue
            rule = rule_of(op)
            assert rule is not None
            before = _last_before(b)
            found = rule(op, given[0] if len(given) == 1 else given, b)
            _locate(before, b, op)
            for value, cotangent in zip(inputs_of(op), found, strict=True):
                if cotangent is not None and value in self.active:
                    self.add(value, cotangent, b)
        return [self._cotangents.get(value) or b.zeros(value) for value in self._arguments]


def sweep_of(region: Region, outer: set[SSAValue]) -> Sweep:
    """The sweep over a region, of active values around it and of all its arguments."""
    arguments = [value for value in region.block.args if is_differentiable(value)]
    return Sweep([*outer, *arguments], list(region.block.ops)[:-1])


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
