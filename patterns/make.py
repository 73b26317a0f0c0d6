"""Construction of the replacement ops of `pattern.make`, with operands and attributes from a match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr, UnregisteredOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.pattern.rules import FromAttr, MakeOp
from stepwell.patterns.doubts import in_words, operands_of, unknown_op
from stepwell.patterns.nodes import Pattern, ill_formed, reachable
from stepwell.patterns.rewriting import Callback, NodeMap
from stepwell.patterns.values import attribute_of, owner_of


class Recipe:
    """The checked description of a `pattern.make`, from which `build` creates the op for a match."""

    def __init__(self, op: MakeOp, ctx: Context):
        self.op = op
        self.name = op.op.data
        found = ctx.get_optional_op(self.name)
        self.made = UnregisteredOp.with_name(self.name) if found is None else found
        if self._has_segments():
            raise ill_formed(
                f"pattern.make cannot build {self.name}, whose operands come in several groups",
                help="replace the root by a callback",
                where=op,
            )
        self._expect_operands()
        if op.typed_as is None and op.type is None and not issubclass(self.made, GraphOp):
            unknown = unknown_op(self.name, ctx)
            message = f"the result of {self.name} needs a type" + (f"; {unknown}" if unknown else "")
            raise ill_formed(message, help="write `-> type_of(%root)`", where=op)

    def _expect_operands(self) -> None:
        if not issubclass(self.made, IRDLOperation):
            return
        least, most = operands_of(self.made)
        if (found := len(self.op.args)) < least or (most is not None and found > most):
            raise ill_formed(f"{self.name} takes {in_words(least, most)}, found {found}", where=self.op)

    def _has_segments(self) -> bool:
        if not issubclass(self.made, IRDLOperation):
            return False
        options = self.made.get_irdl_definition().options
        return any(isinstance(option, AttrSizedOperandSegments) for option in options)

    def build(self, values: Mapping[SSAValue, SSAValue]) -> Operation:
        """
        The new op. Args: `values` maps the rule's pattern values and made ops to the values of the match.
        """
        op = self.op
        operands = [values[arg] for arg in op.args]
        type = op.type if op.typed_as is None else values[op.typed_as].type
        properties, attributes = self._attributes(values)
        if issubclass(self.made, GraphOp) and type is None:
            made = self.made.create(
                operands=operands,
                result_types=[operands[0].type if operands else op.result.type],
                properties=properties,
                attributes=attributes,
            )
            made.set_result_types()
            return made
        assert type is not None
        return self.made.create(
            operands=operands, result_types=[type], properties=properties, attributes=attributes
        )

    def _attributes(
        self, values: Mapping[SSAValue, SSAValue]
    ) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
        known = (
            self.made.get_irdl_definition().properties
            if issubclass(self.made, IRDLOperation)
            else dict[str, object]()
        )
        properties: dict[str, Attribute] = {}
        attributes: dict[str, Attribute] = {}
        for name, value in self.op.given.data.items():
            if isinstance(value, FromAttr):
                value = self._taken(value, values)
            (properties if name in known else attributes)[name] = value
        return properties, attributes

    def _taken(self, attribute: FromAttr, values: Mapping[SSAValue, SSAValue]) -> Attribute:
        source = owner_of(values[self.op.sources[cast(IntAttr, attribute.source).data]])
        found = attribute_of(source, attribute.key.data) if source is not None else None
        if found is None:
            raise ill_formed(f"the matched op has no attribute {attribute.key.data!r}", where=self.op)
        return found


def expect_bound(patterns: Mapping[SSAValue, Pattern], root: Pattern, user: Operation) -> None:
    """
    Require the patterns that a replacement op uses to be in the rule's pattern. Raises: StepwellError
    `bad-pattern`.
    """
    bound = {*reachable(root)}
    for value in user.operands:
        if value in patterns and patterns[value] not in bound:
            raise ill_formed(f"%{value.name_hint} is no part of what the rule matches", where=user)


def callback_of(
    recipes: Sequence[Recipe], patterns: Mapping[SSAValue, Pattern], result: SSAValue
) -> Callback:
    """The callback of a rule in text: builds the replacement ops and returns the value of `result`."""

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        values = {value: nodes[pattern][0] for value, pattern in patterns.items() if pattern in nodes}
        try:
            for recipe in recipes:
                made = recipe.build(values)
                rewriter.insert(made)
                values[recipe.op.result] = made.results[0]
            return values[result]
        except KeyError as error:
            name = cast(SSAValue, error.args[0]).name_hint
            raise ill_formed(f"%{name} matched nothing in this match", where=pre.owner) from None

    return replace
