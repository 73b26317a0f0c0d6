"""Rewriting: matches of rules are replaced, round after round, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp
from stepwell.patterns.driver.carry_out import carry_out
from stepwell.patterns.driver.lineage import MAX_DEPTH, Lineage
from stepwell.patterns.groups import blocks_of
from stepwell.patterns.index import PatternIndex
from stepwell.patterns.machine import Blocks
from stepwell.patterns.matching import Match, match
from stepwell.patterns.nodes import Pattern
from stepwell.patterns.values import owner_of
from stepwell.runtime.errors import StepwellError

MAX_GROWTH = 100
"""A function may grow to this many times its ops (and a thousand more) before its rules count as endless."""

NodeMap = dict[Pattern, list[SSAValue]]
Callback = Callable[[SSAValue, SSAValue, NodeMap, PatternRewriter], SSAValue]


@dataclass(frozen=True, eq=False)
class Rule:
    """
    A pattern and the callback that computes the replacement of its root.

    `callback(pre, post, node_map, rewriter)` returns the new value: `pre` is the matched root, `post` the
    same root with its operands rewritten already (ops change in place, so both are one value), `node_map` the
    nodes of each pattern object; `rewriter` inserts before the root. Returning `post` means no change.
    `require_type`: the new value must have the root's type; without it, users are typed anew.
    `rewrite_once`: the rule takes part in the first round only.
    """

    pattern: Pattern
    callback: Callback
    require_type: bool = False
    rewrite_once: bool = False
    name: str = ""

    def __str__(self) -> str:
        return self.name or getattr(self.callback, "__name__", "a rule")


def rewrite(rules: Sequence[Rule], func: Operation, *, max_depth: int = MAX_DEPTH) -> int:
    """
    Replace matches of rules until nothing changes; each round replaces all matches that do not overlap.

    Args: In a round, earlier rules have precedence; `max_depth` bounds the length of a chain of rewrites,
    each of a result of the one before.
    Returns: the number of replacements.
    Raises: StepwellError `endless-rules`, `bad-rule`.
    """
    rounds = _Rounds(rules, func, max_depth)
    while rounds.run_one():
        pass
    return rounds.replacements


@dataclass
class _Rounds:
    rules: Sequence[Rule]
    func: Operation
    max_depth: int
    replacements: int = 0
    done: set[SSAValue] = field(default_factory=set[SSAValue])
    """Replaced roots; some of them are not erased, since another result of the op has uses."""
    is_first: bool = True

    def __post_init__(self) -> None:
        help = "let no rule match what another makes from its own matches; where it does end, only later, "
        help += "call `stepwell.patterns.rewrite` with a larger max_depth"
        self.lineage = Lineage(self.func, self.max_depth, help)
        self.limit = 1000 + MAX_GROWTH * sum(1 for _ in self.func.walk())
        self.set_rules(self.rules)

    def set_rules(self, rules: Sequence[Rule]) -> None:
        """Set the rules of the following rounds."""
        self.rules = rules
        self.index = PatternIndex([rule.pattern for rule in rules])

    def run_one(self) -> bool:
        """Run a round: find the matches and apply their rules. Returns: whether anything changed."""
        found = self._find()
        replaced: dict[SSAValue, SSAValue] = {}
        changed = False
        for rule, matched in found:
            changed |= self._replace(rule, matched, replaced)
        if self.is_first:
            self.is_first = False
            self.set_rules([rule for rule in self.rules if not rule.rewrite_once])
        if changed and sum(1 for _ in self.func.walk()) > self.limit:
            raise self.lineage.endless()
        return changed

    def _find(self) -> list[tuple[Rule, Match]]:
        """Matches that share no interior node, in program order; later roots are preferred."""
        found: list[tuple[Rule, Match]] = []
        blocks = Blocks()
        self.index.forget()
        for block in list(blocks_of(self.func)):
            self.index.read_block(block)
            taken: set[Operation] = set()
            here: list[tuple[Rule, Match]] = []
            for op in reversed(block.ops):
                if op not in taken and (first := self._first(op, blocks, taken)) is not None:
                    here.append(first)
            found += reversed(here)
        return found

    def _first(self, op: Operation, blocks: Blocks, taken: set[Operation]) -> tuple[Rule, Match] | None:
        for i in self.index.candidates(op):
            for value in op.results:
                if value in self.done or (matched := match(self.rules[i].pattern, value, blocks)) is None:
                    continue
                ops = {inner for node in matched.interior() if (inner := owner_of(node)) is not None}
                if op in ops and not ops & taken:
                    taken |= ops
                    return self.rules[i], matched
        return None

    def _replace(self, rule: Rule, matched: Match, replaced: dict[SSAValue, SSAValue]) -> bool:
        op = owner_of(matched.value)
        assert op is not None
        replacement = _Replacement(rule, matched, replaced)
        if carry_out([replacement], op, PatternRewriter(op), self.lineage) is None:
            return False
        self.done.add(matched.value)
        self.replacements += 1
        return True


@dataclass(frozen=True)
class _Replacement:
    """The rewrite of a match by the callback of its rule."""

    origin: Rule
    matched: Match
    replaced: dict[SSAValue, SSAValue]
    """The replaced roots of the round, and their new values."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace the uses of the root, and erase what has none afterwards."""
        rule, root = self.origin, self.matched.value
        nodes = {p: [_follow(node, self.replaced) for node in found] for p, found in self.matched.items()}
        new = expect_value(rule, root, rule.callback(root, root, nodes, rewriter))
        rewriter.has_done_action = new is not root
        if new is root:
            return
        if rule.require_type:
            expect_type(rule, root, new)
        self.replaced[root] = new
        if new.name_hint is None:
            new.name_hint = root.name_hint
        root.replace_all_uses_with(new)
        _type_users(rule, new, root.type)
        inside = [above for node in self.matched.interior() if (above := owner_of(node)) is not None]
        erase_unused([above for above in inside if above is op or above.has_trait(Pure)])


def _follow(value: SSAValue, replaced: dict[SSAValue, SSAValue]) -> SSAValue:
    while value in replaced:
        value = replaced[value]
    return value


def expect_value(who: object, root: SSAValue, new: object) -> SSAValue:
    """Require the result of a callback to be an SSA value. Raises: StepwellError `bad-rule`."""
    if isinstance(new, SSAValue):
        return cast("SSAValue[Attribute]", new)
    found = new.name if isinstance(new, Operation) else new
    raise StepwellError(
        "bad-rule",
        root.owner,
        f"{who} returned {found}, not the value that replaces the match",
        help="return `rewriter.insert(op).result`",
    )


def expect_type(who: object, root: SSAValue, new: SSAValue) -> None:
    """Require a replacement to have the type of the replaced root. Raises: StepwellError `bad-rule`."""
    if new.type != root.type:
        raise _wrong_type(who, root.owner, root.type, new.type)


def _wrong_type(
    who: object, where: object, wanted: Attribute, found: Attribute, why: str = ""
) -> StepwellError:
    message = f"{who} replaces a value of type {wanted} by one of type {found}{why}"
    return StepwellError("bad-rule", where, message)


def _type_users(rule: Rule, new: SSAValue, wanted: Attribute) -> None:
    """
    Infer the result types of all ops after a value of a new type. Raises: for a type that must not change.
    """
    if new.type == wanted:
        return
    stack = list(dict.fromkeys(use.operation for use in new.uses))
    while stack:
        op = stack.pop()
        if not isinstance(op, GraphOp) or op.regions or not op.results:
            raise _wrong_type(rule, op, wanted, new.type)
        before = list(op.result_types)
        try:
            op.set_result_types()
        except VerifyException as error:
            raise _wrong_type(
                rule, op, wanted, new.type, f", which {op.name} does not take: {error}"
            ) from None
        for result, type in zip(op.results, before, strict=True):
            if result.type != type:
                stack += dict.fromkeys(use.operation for use in result.uses)


def erase_unused(ops: Sequence[Operation]) -> None:
    """Erase the ops that a rewrite left without uses, roots first."""
    for op in reversed(list(dict.fromkeys(ops))):
        if op.parent is not None and all(r.first_use is None for r in op.results):
            op.detach()
            op.erase()
