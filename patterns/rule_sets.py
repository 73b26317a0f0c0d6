"""Application of the rules of a pass: dispatch by op class; new ops inherit locations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from stepwell.dialects._xdsl import matched_op_types
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.parser import nearest_name
from stepwell.patterns.lineage import MAX_DEPTH, Lineage
from stepwell.runtime.errors import StepwellError

_MOVES = 4  # rewrites that an op may take for each op that it passes


def expect_rules(pass_name: str, wanted: Iterable[str], known: Iterable[str]) -> None:
    """
    Require all names in a pass's option to have rules. Raises: StepwellError `bad-option`, with those that
    have.
    """
    known = list(known)
    if unknown := [name for name in wanted if name not in known]:
        message = f"{pass_name} has no rule for {', '.join(unknown)}"
        raise StepwellError("bad-option", None, message, help=f"it has rules for {', '.join(known)}")


def named_ops(names: Iterable[str], ctx: Context) -> frozenset[str]:
    """
    The full names of ops that an option names; without a dialect they are of `graph`.

    Raises: StepwellError `bad-option` for one that no dialect has.
    """
    full = [name if "." in name else f"graph.{name}" for name in names]
    for name in full:
        found = ctx.get_optional_op(name)
        if found is None or issubclass(found, UnregisteredOp):
            raise StepwellError("bad-option", None, f"no dialect has an op {name}{nearest_name(ctx, name)}")
    return frozenset(full)


def apply_rules(region: Region, rules: Sequence[RewritePattern]) -> bool:
    """
    Rewrite the ops of a region until no rule matches: in order, then the ops that rules made or changed.

    Each rule is written with `@op_type_rewrite_pattern`. Returns: whether anything changed.
    Raises: StepwellError `endless-rules`, which names two rules that take turns.
    """
    return RuleSet(region, rules).apply()


class RuleSet:
    """Rules for a region that are applied several times, and may not take turns across these either."""

    def __init__(self, region: Region, rules: Sequence[RewritePattern]):
        depth = MAX_DEPTH + _MOVES * sum(1 for _ in region.walk())
        help = "this is a fault of the pass, please report it; `--disable-pass` goes on without the pass"
        self._region = region
        self._rules = _ByClass(rules, Lineage(region.parent, depth, help))

    def apply(self) -> bool:
        """As `apply_rules`."""
        return PatternRewriteWalker(self._rules).rewrite_region(self._region)


def apply_rules_once(region: Region, rules: Sequence[RewritePattern]) -> None:
    """
    Apply the rules to each op that is in a region at the call, inner ops first; not to ops that rules make.

    Each rule is written with `@op_type_rewrite_pattern`.
    """
    by_class = _ByClass(rules)
    for op in list(region.walk(region_first=True)):
        if op.parent is not None:
            by_class.match_and_rewrite(op, PatternRewriter(op))


class _ByClass(RewritePattern):
    """A pattern that tries the rules for an op's class until a rule changes something."""

    def __init__(self, rules: Sequence[RewritePattern], lineage: Lineage | None = None):
        self._lineage = lineage
        self._declared: dict[type, list[RewritePattern]] = {}
        for rule in rules:
            for op_type in matched_op_types(rule):
                self._declared.setdefault(op_type, []).append(rule)
        self._found: dict[type[Operation], list[RewritePattern]] = {}

    def _rules_of(self, op_type: type[Operation]) -> list[RewritePattern]:
        """The rules for a class and for its bases, the most specific first."""
        if op_type not in self._found:
            lists = [self._declared.get(base, []) for base in op_type.__mro__]
            self._found[op_type] = [rule for rules in lists for rule in rules]
        return self._found[op_type]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        rules = self._rules_of(type(op))
        if not rules or op.parent is None:
            return
        location = op.location
        made: list[Operation] = []
        rewriter.operation_insertion_handler.append(made.append)
        for rule in rules:
            rule.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                self._note(rule, op, made)
                break
        rewriter.operation_insertion_handler.pop()
        for new in made:
            adopt_location(new, location)

    def _note(self, rule: RewritePattern, op: Operation, made: Sequence[Operation]) -> None:
        if self._lineage is not None:
            is_kept = op.parent is not None
            self._lineage.note(type(rule), op, [*made, op] if is_kept else made)
