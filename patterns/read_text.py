"""From the `pattern` dialect to pattern objects, rules and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects.pattern import calls, combinators, edges, leaves, rules
from stepwell.dialects.pattern.base import NodeOp, YieldOp
from stepwell.patterns import nodes
from stepwell.patterns.calls import callee_test
from stepwell.patterns.compile import program_of
from stepwell.patterns.doubts import doubts
from stepwell.patterns.edges import GraphPattern
from stepwell.patterns.groups import Check
from stepwell.patterns.make import Recipe, callback_of, expect_bound
from stepwell.patterns.nodes import Pattern, Wildcard, ill_formed
from stepwell.patterns.registry import CALLBACKS, PREDICATES, look_up, unknown_name
from stepwell.patterns.rewriting import NodeMap, Rule
from stepwell.patterns.spelling import is_op
from stepwell.patterns.write_text import PLAIN
from stepwell.runtime.errors import StepwellError

_PLAIN: dict[type[Operation], Callable[..., Pattern]] = {op: node for node, op in PLAIN.items()}


@dataclass(frozen=True)
class TableEntry:
    """A named pattern of a table, with the check of its matches."""

    name: str
    pattern: Pattern
    check: Check | None
    rule: Rule | None = None
    """The rewrite rule, if the entry is a rule."""

    def as_rule(self) -> Rule:
        """
        The entry's rule, which leaves matches unchanged that the check refuses. Raises: ValueError for an
        entry that is none.
        """
        if (rule := self.rule) is None:
            raise ValueError(f"{self.name} is no rule")
        if (check := self.check) is None:
            return rule

        def checked(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
            return rule.callback(pre, post, nodes, rewriter) if check(pre) else post

        return replace(rule, callback=checked, name=str(rule))


@dataclass
class PatternFile:
    """The patterns, graphs, rules and tables of a module by name, in the order of the text."""

    patterns: dict[str, Pattern] = field(default_factory=dict[str, Pattern])
    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])
    tables: dict[str, list[TableEntry]] = field(default_factory=dict[str, list[TableEntry]])
    graphs: dict[str, GraphPattern] = field(default_factory=dict[str, GraphPattern])
    warnings: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])
    """Probable mistakes, each with the op that it concerns."""


def from_text(module: ModuleOp, ctx: Context) -> PatternFile:
    """
    The patterns, rules and tables of a module; other ops in it are left alone.

    Args: `ctx` has the loaded dialects: an op name that none of them has is a warning.
    Raises: StepwellError `bad-pattern`.
    """
    return _Reader(module, ctx).read()


class _Reader:
    def __init__(self, module: ModuleOp, ctx: Context):
        self.ctx = ctx
        self.ops = list(module.body.block.ops)
        self.definitions = {op.sym_name.data: op for op in self.ops if isinstance(op, rules.DefOp)}
        self.file = PatternFile()
        self.refs: list[tuple[Wildcard, leaves.RefOp]] = []
        self.in_progress: list[str] = []

    def read(self) -> PatternFile:
        """Read all ops of the `pattern` dialect; returns the file with patterns, rules and tables."""
        # Definitions, rules and graphs, in the order of the text.
        for op in self.ops:
            match op:
                case rules.DefOp():
                    self.definition(op.sym_name.data, op)
                case rules.RuleOp():
                    self.file.rules[op.sym_name.data] = self.rule(op)
                case edges.GraphOp():
                    self.file.graphs[op.sym_name.data] = self.graph(op)
                case _:
                    pass
        # Tables, which name the above; then `pattern.ref`s, which may name later definitions.
        for op in self.ops:
            if isinstance(op, rules.TableOp):
                self.file.tables[op.sym_name.data] = list(self.table(op))
        self.file.patterns = {name: self.file.patterns[name] for name in self.definitions}
        for wildcard, op in self.refs:
            target = self.definition(op.target.string_value(), op)
            wildcard.redirect_to(target)
        # Complete patterns can be compiled, which finds their errors.
        for op in self.ops:
            if isinstance(op, rules.DefOp):
                self.compile(self.file.patterns[op.sym_name.data], op)
            elif isinstance(op, rules.RuleOp):
                self.compile(self.file.rules[op.sym_name.data].pattern, op)
            elif isinstance(op, edges.GraphOp):
                for pattern in self.file.graphs[op.sym_name.data].nodes:
                    self.compile(pattern, op)
        return self.file

    def compile(self, pattern: Pattern, where: Operation) -> None:
        """Compile a pattern at once, so that its errors have the location of the text."""
        try:
            program_of(pattern)
        except StepwellError as error:
            raise ill_formed(error.message, help=error.help, where=where) from None

    def definition(self, name: str, where: Operation) -> Pattern:
        """The pattern of a definition, read at the first use of the name."""
        if name in self.file.patterns:
            return self.file.patterns[name]
        if (op := self.definitions.get(name)) is None:
            raise unknown_name("pattern", name, self.definitions, where)
        if name in self.in_progress:
            raise ill_formed(f"@{name} is part of itself", help="pattern.ref makes it recursive", where=where)
        self.in_progress.append(name)
        values = self.block(op.body.block, {})
        self.in_progress.pop()
        root = values[cast(YieldOp, op.body.block.last_op).root[0]]
        root.label = root.label or name
        self.file.patterns[name] = root
        return root

    def block(self, block: Block, outer: Mapping[SSAValue, Pattern]) -> dict[SSAValue, Pattern]:
        """The pattern objects of a block, by their SSA values."""
        values = dict(outer)
        for op in block.ops:
            if isinstance(op, NodeOp) and not isinstance(op, rules.MakeOp):
                made = self.node(op, values)
                # `pattern.use` gives an object that has its name already.
                made.label = made.label or op.result.name_hint or ""
                values[op.result] = made
                if op.result.first_use is None:
                    name = f"%{op.result.name_hint}" if op.result.name_hint else "the result"
                    self.file.warnings.append((op, f"{name} of {op.name} is not used: nothing asks for it"))
        return values

    def node(self, op: NodeOp, values: Mapping[SSAValue, Pattern]) -> Pattern:
        parts = [values[operand] for operand in op.operands]
        match op:
            case leaves.AnyOp():
                return Wildcard()
            case leaves.VarOp():
                return nodes.Var("" if op.variable is None else op.variable.data)
            case leaves.RefOp():
                self.refs.append((made := Wildcard(), op))
                return made
            case leaves.UseOp():
                return self.definition(op.target.string_value(), op)
            case leaves.ExprOp():
                return nodes.Expr(cast(leaves.ContentOp, op.body.block.last_op).value)
            case calls.OpOp():
                return self.op(op, tuple(parts))
            case calls.CallOp():
                return nodes.Call(parts[0], None if op.any_args else tuple(parts[1:]))
            case calls.TupleOp():
                return nodes.Tuple(None if op.any_args else tuple(parts))
            case calls.FunctionOp():
                return nodes.FunctionPattern(None if op.any_args else tuple(parts[1:]), parts[0])
            case calls.GetOp():
                return nodes.Get(parts[0], None if op.index is None else op.index.value.data)
            case combinators.OptionalOp():
                inner = self.block(op.body.block, {**values, op.body.block.args[0]: parts[0]})
                return nodes.Optional(parts[0], inner[cast(YieldOp, op.body.block.last_op).root[0]])
            case _:
                return _combined(op, parts)

    def op(self, op: calls.OpOp, args: tuple[Pattern, ...]) -> Pattern:
        name = op.op.data
        self.file.warnings += [(op, doubt) for doubt in doubts(op, self.ctx)]
        try:
            made: Pattern = is_op(name)
            callee_test(made)
        except StepwellError as error:
            raise ill_formed(error.message, help=error.help, where=op) from None
        if op.bare is None:
            made = nodes.Call(made, None if op.any_args else args)
        if op.wanted is not None:
            made.label = f"{op.result.name_hint or name}"
            made = nodes.HasAttr(made, op.wanted.data)
        return made

    def graph(self, op: edges.GraphOp) -> GraphPattern:
        values = self.block(op.body.block, {})
        made = GraphPattern()
        made.add(*(values[node] for node in cast(edges.BindOp, op.body.block.last_op).nodes))
        for inner in op.body.block.ops:
            match inner:
                case edges.EdgeOp():
                    index = None if inner.index is None else inner.index.value.data
                    made.add_edge(values[inner.source], values[inner.user], index, inner.only is not None)
                case edges.SameShapeOp():
                    made.add_same_shape(values[inner.first], values[inner.second])
                case _:
                    pass
        return made

    def rule(self, op: rules.RuleOp) -> Rule:
        values = self.block(op.body.block, {})
        end = cast(rules.ReplaceOp, op.body.block.last_op)
        if end.root not in values:
            raise ill_formed("what is replaced must be a pattern, found pattern.make", where=end)
        if end.callback is not None:
            callback = look_up(CALLBACKS, end.callback.string_value(), "callback", end)
        else:
            made = [made for made in op.body.block.ops if isinstance(made, rules.MakeOp)]
            assert end.value is not None
            for user in (*made, end):
                expect_bound(values, values[end.root], user)
            callback = callback_of([Recipe(new, self.ctx) for new in made], values, end.value)
        return Rule(
            values[end.root],
            callback,
            require_type=op.require_type is not None,
            rewrite_once=op.rewrite_once is not None,
            name=op.sym_name.data,
        )

    def table(self, op: rules.TableOp) -> Iterator[TableEntry]:
        for name, check in op.entries():
            function = None if check is None else look_up(PREDICATES, check, "check", op)
            rule = self.file.rules.get(name)
            pattern = self.definition(name, op) if rule is None else rule.pattern
            yield TableEntry(f"{op.sym_name.data}.{name}", pattern, function, rule)


def _combined(op: NodeOp, parts: list[Pattern]) -> Pattern:
    if (plain := _PLAIN.get(type(op))) is not None:
        return plain(*parts)
    match op:
        case combinators.HasAttrOp():
            return nodes.HasAttr(parts[0], op.wanted.data)
        case combinators.HasTypeOp():
            return nodes.HasType(parts[0], op.type)
        case combinators.HasDtypeOp():
            return nodes.HasDtype(parts[0], op.dtype.data)
        case combinators.HasShapeOp():
            return nodes.HasShape(parts[0], _shape(op.shape.dims.data))
        case combinators.WhereOp():
            name = op.predicate.string_value()
            return nodes.Where(parts[0], look_up(PREDICATES, name, "predicate", op), name)
        case _:
            raise ill_formed(f"{op.name} is no pattern", where=op)


def _shape(dims: Sequence[Attribute]) -> tuple[int | str | None, ...]:
    extents = (dim.data for dim in cast("Sequence[IntAttr | StringAttr]", dims))
    return tuple(None if extent == "?" else extent for extent in extents)
