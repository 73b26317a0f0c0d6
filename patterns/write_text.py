"""Conversion of pattern objects to the `pattern` dialect; shared objects stay shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects.pattern import calls, combinators, edges, leaves, rules
from stepwell.dialects.pattern.base import NODE, YieldOp
from stepwell.dialects.types import dims_attr
from stepwell.patterns import nodes
from stepwell.patterns.edges import GraphPattern
from stepwell.patterns.nodes import Pattern, Wildcard, ill_formed, inner_patterns, parts_first, reachable
from stepwell.patterns.values import owner_of

Path = tuple[Pattern, ...]
"""The optional patterns whose regions contain an object, the outermost first."""

PLAIN: dict[type[Pattern], type[Operation]] = {
    nodes.Constant: leaves.ConstantOp,
    nodes.If: calls.IfOp,
    nodes.Let: calls.LetOp,
    nodes.Dominates: combinators.DominatesOp,
    nodes.Or: combinators.OrOp,
    nodes.And: combinators.AndOp,
    nodes.Not: combinators.NotOp,
}
"""The patterns that consist of their parts alone, with the ops on these."""


def to_text(pattern: Pattern | GraphPattern, name: str = "pattern") -> str:
    """
    A pattern as a `pattern.def @name`, a graph as a `pattern.graph @name`; with more of them where it is
    recursive.
    """
    return str(
        graph_module(pattern, name) if isinstance(pattern, GraphPattern) else to_module({name: pattern})
    )


def graph_module(graph: GraphPattern, name: str) -> ModuleOp:
    """
    A module with a graph pattern, and with a definition for each pattern object that is used several times.
    """
    together = nodes.Tuple(tuple(graph.nodes))  # so that objects that its patterns share are written once
    names = _definitions({name: together})
    # The graph's patterns as operands of one tuple, and definitions of shared objects.
    made = [_Definition(root, names) for root in names]
    first, *others = (definition.write(names[definition.root]) for definition in made)
    block = first.body.block
    values = made[0].values
    for op in list(block.ops)[-2:]:  # the tuple, and the end of the definition
        op.detach()
    # Edges and the binding of nodes replace the tuple.
    block.add_ops(_edges(graph, values))
    block.add_op(edges.BindOp.create(operands=[values[pattern] for pattern in graph.nodes]))
    body = first.detach_region(first.body)
    return ModuleOp(
        [edges.GraphOp.create(properties={"sym_name": StringAttr(name)}, regions=[body]), *others]
    )


def _edges(graph: GraphPattern, values: dict[Pattern, SSAValue]) -> list[Operation]:
    made: list[Operation] = []
    for edge in graph.edges:
        properties: dict[str, Attribute] = {"only": UnitAttr()} if edge.only else {}
        if edge.index is not None:
            properties["index"] = IntegerAttr(edge.index, i64)
        made.append(
            edges.EdgeOp.create(operands=[values[edge.source], values[edge.user]], properties=properties)
        )
    for first, second in graph.same_shapes:
        made.append(edges.SameShapeOp.create(operands=[values[first], values[second]]))
    return made


def to_module(patterns: dict[str, Pattern]) -> ModuleOp:
    """A module with a `pattern.def` for each pattern, and for each object that several of them share."""
    names = _definitions(patterns)
    return ModuleOp([_Definition(root, names).write(name) for root, name in names.items()])


def _own(root: Pattern, roots: Sequence[Pattern] | dict[Pattern, str]) -> list[Pattern]:
    """The objects in the definition of `root`, parts first; other roots are referenced by name."""

    def parts(current: Pattern) -> Sequence[Pattern]:
        used_by_name = current is not root and current in roots
        return () if used_by_name or isinstance(current, Wildcard) else inner_patterns(current)

    return parts_first([root], parts)


def _definitions(patterns: dict[str, Pattern]) -> dict[Pattern, str]:
    """
    The objects that need a definition, with names: given patterns, targets of wildcards, shared objects.
    """
    names: dict[Pattern, str] = {}
    for name, pattern in patterns.items():
        names.setdefault(pattern, name)
    everything = {inner: None for pattern in patterns.values() for inner in reachable(pattern)}
    targets = [p.target for p in everything if isinstance(p, Wildcard) and p.target is not None]
    wanted = dict.fromkeys(target for target in targets if target not in names)
    while wanted:
        for pattern in wanted:
            base = pattern.label or "part"
            taken = set(names.values())
            names[pattern] = next(n for i in range(len(taken) + 1) if (n := f"{base}_{i}") not in taken)
        homes: dict[Pattern, int] = {}
        for root in names:
            for inner in _own(root, names):
                homes[inner] = homes.get(inner, 0) + 1
        wanted = dict.fromkeys(p for p, count in homes.items() if count > 1 and p not in names)
    return names


@dataclass
class _Definition:
    """The state of writing a `pattern.def`."""

    root: Pattern
    names: dict[Pattern, str]
    values: dict[Pattern, SSAValue] = field(default_factory=dict[Pattern, SSAValue])
    blocks: dict[Path, Block] = field(default_factory=dict[Path, Block])

    def write(self, name: str) -> rules.DefOp:
        own = _own(self.root, self.names)
        self.users = _users(own, self._inner)
        paths = self._paths(own)
        self.blocks[()] = Block()
        for pattern in own:
            if not self._is_merged(pattern):
                self._add(pattern, paths[pattern])
        self.blocks[()].add_op(YieldOp.create(operands=[self.values[self.root]]))
        return rules.DefOp.create(
            properties={"sym_name": StringAttr(name)}, regions=[Region(self.blocks[()])]
        )

    def _inner(self, pattern: Pattern) -> tuple[Pattern, ...]:
        if isinstance(pattern, Wildcard) or (pattern is not self.root and pattern in self.names):
            return ()
        return inner_patterns(pattern)

    def _is_merged(self, pattern: Pattern) -> bool:
        """Whether an object is written as part of its only user: a callee, or a call with attributes."""
        users = self.users.get(pattern, [])
        if len(users) != 1 or pattern is self.root or pattern in self.names:
            return False
        (user,) = users
        if isinstance(user, nodes.Call):
            return isinstance(pattern, nodes.Op) and user.callee is pattern and pattern not in user.parts()
        return isinstance(user, nodes.HasAttr) and bool(user.attributes) and self._is_plain(pattern)

    def _is_plain(self, pattern: Pattern) -> bool:
        """Whether an object can be written as `pattern.op` with attributes."""
        if isinstance(pattern, nodes.Call):
            return self._is_merged(pattern.callee)
        return isinstance(pattern, nodes.Op)

    def _paths(self, own: Sequence[Pattern]) -> dict[Pattern, Path]:
        """
        Maps each object to the nested regions that contain all users of the object and whose argument it
        depends on.
        """
        depending: dict[Pattern, set[Pattern]] = {
            o: self._users_of(o.left, own) for o in own if isinstance(o, nodes.Optional)
        }
        paths: dict[Pattern, Path] = {own[-1]: ()}
        for pattern in reversed(own[:-1]):
            wanted: Path | None = None
            for user in self.users[pattern]:
                inside = isinstance(user, nodes.Optional) and pattern is not user.left
                path = (*paths[user], user) if inside else paths[user]
                wanted = path if wanted is None else _common(wanted, path)
            path = wanted or ()
            outside = [i for i, optional in enumerate(path) if pattern not in depending[optional]]
            paths[pattern] = path[: outside[0]] if outside else path
        return paths

    def _users_of(self, pattern: Pattern, own: Sequence[Pattern]) -> set[Pattern]:
        """The objects that contain `pattern`, directly or not."""
        found = {pattern}
        for user in own:
            if not found.isdisjoint(self._inner(user)):
                found.add(user)
        return found

    def _block(self, path: Path) -> Block:
        if path not in self.blocks:
            self.blocks[path] = block = Block(arg_types=[NODE])
            block.args[0].name_hint = path[-1].label or None
        return self.blocks[path]

    def _value(self, pattern: Pattern, path: Path) -> SSAValue:
        """The SSA value of an object in a region; for the optional part, the argument of the region."""
        for i in range(len(path), 0, -1):
            if pattern is path[i - 1].parts()[0]:
                return self._block(path[:i]).args[0]
        return self.values[pattern]

    def _add(self, pattern: Pattern, path: Path) -> None:
        if pattern is not self.root and pattern in self.names:
            op = leaves.UseOp.create(
                properties={"target": SymbolRefAttr(self.names[pattern])}, result_types=[NODE]
            )
        else:
            op = self._op(pattern, path)
        self._block(path).add_op(op) if path else self.blocks[()].add_op(op)
        self.values[pattern] = op.results[0]
        op.results[0].name_hint = pattern.label or None

    def _op(self, pattern: Pattern, path: Path) -> Operation:
        if isinstance(pattern, nodes.Optional):
            return self._optional(pattern, path)
        wanted: dict[str, Attribute] = {}
        plain = pattern
        if isinstance(pattern, nodes.HasAttr) and self._is_merged(pattern.inner):
            wanted = {"wanted": DictionaryAttr(dict(pattern.attributes))}
            plain = pattern.inner
        if isinstance(plain, nodes.Op):
            properties = {"op": StringAttr(plain.name), "bare": UnitAttr()} | wanted
            return calls.OpOp.create(properties=properties, result_types=[NODE])
        if (
            isinstance(plain, nodes.Call)
            and isinstance(plain.callee, nodes.Op)
            and self._is_merged(plain.callee)
        ):
            properties = {"op": StringAttr(plain.callee.name)} | _any_args(plain.args) | wanted
            operands = [self._value(arg, path) for arg in plain.parts()]
            return calls.OpOp.create(operands=operands, properties=properties, result_types=[NODE])
        op_class, properties, parts = _spelling(pattern, self.names)
        operands = [self._value(part, path) for part in parts]
        regions = [_expression(pattern.value)] if isinstance(pattern, nodes.Expr) else []
        return op_class.create(operands=operands, properties=properties, result_types=[NODE], regions=regions)

    def _optional(self, pattern: nodes.Optional, path: Path) -> Operation:
        inside = (*path, pattern)
        block = self._block(inside)
        block.add_op(YieldOp.create(operands=[self._value(pattern.right, inside)]))
        return combinators.OptionalOp.create(
            operands=[self._value(pattern.left, path)], result_types=[NODE], regions=[Region(block)]
        )


def _users(
    own: Sequence[Pattern], inner: Callable[[Pattern], tuple[Pattern, ...]]
) -> dict[Pattern, list[Pattern]]:
    """Maps each object of a definition to the objects that refer to it, once for each reference."""
    users: dict[Pattern, list[Pattern]] = {}
    for pattern in own:
        for part in inner(pattern):
            users.setdefault(part, []).append(pattern)
    return users


def _common(a: Path, b: Path) -> Path:
    length = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x is not y), min(len(a), len(b)))
    return a[:length]


def _any_args(args: Sequence[Pattern] | None) -> dict[str, Attribute]:
    return {"any_args": UnitAttr()} if args is None else {}


Spelling = tuple[type[Operation], dict[str, Attribute], tuple[Pattern, ...]]


def _spelling(pattern: Pattern, names: dict[Pattern, str]) -> Spelling:
    """The op class, properties and operand objects of a pattern object."""
    match pattern:
        case Wildcard() if pattern.target is not None:
            return leaves.RefOp, {"target": SymbolRefAttr(names[pattern.target])}, ()
        case Wildcard():
            return leaves.AnyOp, {}, ()
        case nodes.Var():
            return leaves.VarOp, {"variable": StringAttr(pattern.name)} if pattern.name else {}, ()
        case nodes.Expr():
            return leaves.ExprOp, {}, ()
        case nodes.Call():
            return calls.CallOp, _any_args(pattern.args), (pattern.callee, *pattern.parts())
        case nodes.Tuple():
            return calls.TupleOp, _any_args(pattern.fields), pattern.parts()
        case nodes.FunctionPattern():
            return calls.FunctionOp, _any_args(pattern.params), (pattern.body, *(pattern.params or ()))
        case nodes.Get():
            index = {} if pattern.index is None else {"index": IntegerAttr(pattern.index, i64)}
            return calls.GetOp, dict[str, Attribute](index), pattern.parts()
        case _:
            op_class, properties = _combinator(pattern)
            return op_class, properties, pattern.parts()


def _combinator(pattern: Pattern) -> tuple[type[Operation], dict[str, Attribute]]:
    if (plain := PLAIN.get(type(pattern))) is not None:
        return plain, {}
    match pattern:
        case nodes.HasAttr():
            return combinators.HasAttrOp, {"wanted": DictionaryAttr(dict(pattern.attributes))}
        case nodes.HasType():
            return combinators.HasTypeOp, {"type": pattern.type}
        case nodes.HasDtype():
            return combinators.HasDtypeOp, {"dtype": StringAttr(pattern.dtype)}
        case nodes.HasShape():
            return combinators.HasShapeOp, {"shape": dims_attr(pattern.dims())}
        case nodes.Where() if pattern.name:
            return combinators.WhereOp, {"predicate": SymbolRefAttr(pattern.name)}
        case nodes.Where():
            raise ill_formed(
                "a predicate without a name cannot be written as text", help="where(function, name)"
            )
        case _:
            raise ill_formed(f"{type(pattern).__name__} is no pattern of the language")


def _expression(value: SSAValue) -> Region:
    """A copy of the ops that compute a value."""
    order: dict[Operation, None] = {}
    stack = [(value, False)]
    while stack:
        current, expanded = stack.pop()
        if (op := owner_of(current)) is None:
            raise ill_formed("an expression that reads a block argument cannot be written as text")
        if expanded:
            order[op] = None
        elif op not in order:
            stack.append((current, True))
            stack += [(operand, False) for operand in op.operands]
    copies: dict[SSAValue, SSAValue] = {}
    block = Block([op.clone(copies) for op in order])
    block.add_op(leaves.ContentOp.create(operands=[copies[value]]))
    return Region(block)
