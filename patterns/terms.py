"""
Patterns as terms: necessary conditions on a node and its operands for a match.

Equal parts of all patterns of a list are one term, whatever objects they are: that two uses of an object mean
one node is left to the matcher, as are predicates, negation and recursion. The terms that hold at a node are
a bit set.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from stepwell.patterns.calls import associations, callee_test
from stepwell.patterns.compile import inner_first
from stepwell.patterns.constraints import has_attributes, holds
from stepwell.patterns.constructs import GET, TUPLE
from stepwell.patterns.machine import Blocks, Machine
from stepwell.patterns.nodes import (
    And,
    Call,
    Constant,
    Constraint,
    Dominates,
    Expr,
    FunctionPattern,
    Get,
    HasAttr,
    HasDtype,
    HasShape,
    HasType,
    If,
    Let,
    Not,
    Op,
    Or,
    Pattern,
    Tuple,
    Var,
    Where,
    Wildcard,
    ill_formed,
)
from stepwell.patterns.values import TRAIT, commutes, is_constant_op, op_name, owner_of

Node = Operation | BlockArgument
Bits = int
Test = Callable[[Bits, Sequence[Bits]], bool]
"""Whether a term holds, given the terms that hold at the node and those at each operand."""

ANY: Bits = 1
WAY: Bits = 2
"""The bit of ops other than constants, among which a dominator looks for its parent."""
ARGUMENT: Bits = 4
COMMUTES: Bits = 8


@dataclass(frozen=True)
class LocalTerm:
    """A condition on a node alone: its class, attributes or types."""

    bit: Bits
    needs: Bits
    test: Callable[[Node], bool]
    attributes: tuple[str, ...] = ()
    types: bool = False


@dataclass(frozen=True)
class Term:
    """A condition on a node and the operands, tested only where one of the local terms `needs` holds."""

    bit: Bits
    needs: Bits
    test: Test


class Terms:
    """The terms of a list of patterns; the terms that a term refers to come before it."""

    def __init__(self, patterns: Iterable[Pattern]):
        self.classes: list[LocalTerm] = [
            LocalTerm(WAY, WAY, lambda node: isinstance(node, Operation) and not is_constant_op(node)),
            LocalTerm(ARGUMENT, ARGUMENT, lambda node: isinstance(node, BlockArgument)),
            LocalTerm(COMMUTES, COMMUTES, _of_op(commutes)),
        ]
        self.names: dict[str, Bits] = {}
        """Terms that hold at the ops of a name."""
        self.properties: list[LocalTerm] = []
        self.inner: list[Term] = []
        self._bits: dict[Hashable, Bits] = {}
        self._needs: dict[Bits, Bits] = {ANY: ANY, ARGUMENT: ARGUMENT}
        self._next: Bits = 2 * COMMUTES
        self.roots = [self._root(pattern) for pattern in patterns]

    def _root(self, pattern: Pattern) -> Bits:
        order = inner_first(pattern)
        # The variable of a let matches the definition, whatever it would match by itself.
        anything = {inner.var for inner in order if isinstance(inner, Let)}
        done: dict[Pattern, Bits] = {}

        def add(pattern: Pattern) -> Bits:
            if pattern not in done:
                done[pattern] = ANY if pattern in anything else self._bit(pattern, add)
            return done[pattern]

        for inner in order:
            add(inner)
        return done[pattern]

    def _bit(self, pattern: Pattern, of: Callable[[Pattern], Bits]) -> Bits:
        """The term of a pattern. Args: `of` returns the terms of a part."""
        match pattern:
            case Wildcard() | Not():
                return ANY  # a recursion is not followed
            case Var():
                return ARGUMENT
            case Constant():
                return self._class("constant", is_constant_op)
            case Expr():
                owner = owner_of(pattern.value)
                return ARGUMENT if owner is None else self._name(op_name(owner))
            case Op() if not pattern.name.startswith(TRAIT):
                return self._name(pattern.name)
            case Op():
                return self._class(pattern.name, callee_test(pattern))
            case Call():
                return self._call(pattern, of)
            case Or():
                return self._either(of(pattern.left), of(pattern.right))
            case And():
                return self._both(of(pattern.left), of(pattern.right))
            case Where():
                return of(pattern.inner)
            case Constraint():
                inner = of(pattern.inner)
                return self._both(inner, self._property(pattern, self._needs[inner]))
            case Let():
                return of(pattern.body)
            case Dominates():
                return self._dominates(of(pattern.parent), of(pattern.path), of(pattern.child))
            case _:
                return self._construct(pattern, of)

    def _construct(self, pattern: Pattern, of: Callable[[Pattern], Bits]) -> Bits:
        match pattern:
            case Tuple():
                fields = None if pattern.fields is None else tuple(of(field) for field in pattern.fields)
                return self._on_operands(self._name(TUPLE), fields, ())
            case Get():
                source, get = of(pattern.source), self._name(GET)
                return self._add(
                    ("get", source),
                    self._needs[source] | get,
                    lambda here, operands: bool((operands[0] if here & get and operands else here) & source),
                )
            case If():
                condition = of(pattern.condition)
                branch = self._class("if", lambda op: op.name.endswith(".if"))
                return self._add(
                    ("if", condition),
                    branch,
                    lambda here, operands: bool(here & branch and operands and operands[0] & condition),
                )
            case FunctionPattern():
                return self._class(
                    "function", lambda op: op.has_trait(IsolatedFromAbove) or op.name == "graph.lambda"
                )
            case _:
                raise ill_formed(f"{type(pattern).__name__} is no pattern of the language")

    def _new_bit(self, key: Hashable, needs: Bits | None) -> Bits:
        bit = self._bits[key] = self._next
        self._next *= 2
        self._needs[bit] = bit if needs is None else needs
        return bit

    def _name(self, name: str) -> Bits:
        if name not in self.names:
            self.names[name] = self._new_bit(("name", name), None)
        return self.names[name]

    def _class(self, key: str, test: Callable[[Operation], bool]) -> Bits:
        if key not in self._bits:
            bit = self._new_bit(key, None)
            self.classes.append(LocalTerm(bit, bit, _of_op(test)))
        return self._bits[key]

    def _property(self, pattern: Constraint, needs: Bits) -> Bits:
        """The local term of a constraint, tested only where one of `needs` holds."""
        names: tuple[str, ...] = ()
        test = _of_values(lambda value: holds(pattern, value, Machine(Blocks())))
        match pattern:
            case HasAttr():
                wanted = pattern.attributes
                key, names = frozenset(wanted.items()), tuple(wanted)
                test = _of_op(lambda op: has_attributes(op, wanted))
            case HasType():
                key = pattern.type
            case HasDtype():
                key = pattern.dtype
            case HasShape():
                key = pattern.shape
            case _:
                raise ill_formed(f"{type(pattern).__name__} is no constraint of the language")
        if (said := (type(pattern), key, needs)) not in self._bits:
            bit = self._new_bit(said, needs)
            self.properties.append(LocalTerm(bit, needs, test, names, types=not names))
        return self._bits[said]

    def _add(self, key: Hashable, needs: Bits, test: Test) -> Bits:
        if key not in self._bits:
            bit = self._new_bit(key, needs)
            self.inner.append(Term(bit, needs, test))
        return self._bits[key]

    def _either(self, left: Bits, right: Bits) -> Bits:
        if left == right or ANY in (left, right):
            return left if left == right else ANY
        either = left | right
        needs = self._needs[left] | self._needs[right]
        return self._add(("or", either), needs, lambda here, operands: bool(here & either))

    def _both(self, left: Bits, right: Bits) -> Bits:
        if ANY in (left, right) or left == right:
            return right if left == ANY else left
        both = left | right
        needs = min(self._needs[left], self._needs[right], key=lambda bits: bits & ANY)
        return self._add(("and", both), needs, lambda here, operands: here & both == both)

    def _call(self, call: Call, of: Callable[[Pattern], Bits]) -> Bits:
        args = None if call.args is None else tuple(of(arg) for arg in call.args)
        variadic: tuple[tuple[Bits, ...] | None, ...] = ()
        if call.args is not None and len(call.args) == 1 and isinstance(group := call.args[0], Tuple):
            variadic = (None if group.fields is None else tuple(of(field) for field in group.fields),)
        bit = self._on_operands(of(call.callee), args, variadic)
        for other in associations(call):
            for part in inner_first(other):
                of(part)
            bit = self._either(bit, of(other))
        return bit

    def _on_operands(
        self, callee: Bits, args: tuple[Bits, ...] | None, variadic: Sequence[tuple[Bits, ...] | None]
    ) -> Bits:
        """
        The term of a call: the callee's term holds, and the operands' terms are `args` or one of `variadic`.
        """
        if args is None or None in variadic:
            return callee
        lists = [args, *(wanted for wanted in variadic if wanted is not None)]

        def test(here: Bits, operands: Sequence[Bits]) -> bool:
            if not here & callee:
                return False
            for wanted in lists:
                if len(wanted) == len(operands) and (
                    _all_hold(wanted, operands) or (here & COMMUTES and _all_hold(wanted, operands[::-1]))
                ):
                    return True
            return False

        return self._add(("call", callee, *lists), self._needs[callee], test)

    def _dominates(self, parent: Bits, path: Bits, child: Bits) -> Bits:
        """
        The term of a dominator: the child's term holds, and all paths up from it lead along `path` to a
        parent.
        """
        up = self._way_up(parent, path)
        return self._add(
            ("dominates", child, up),
            self._needs[child],
            lambda here, operands: bool(here & child and _all_ways(up, operands)),
        )

    def _way_up(self, parent: Bits, path: Bits) -> Bits:
        """
        The term of a node on a dominator's path: the parent's, or the path's with this term at all operands.
        """
        if parent == ANY:
            return ANY
        if (key := ("up", parent, path)) not in self._bits:
            needs = self._needs[parent] | self._needs[path]
            up = self._new_bit(key, needs)

            def test(here: Bits, operands: Sequence[Bits]) -> bool:
                return bool(here & parent or (here & path and _all_ways(up, operands)))

            self.inner.append(Term(up, needs, test))
        return self._bits[key]


def _all_hold(wanted: Sequence[Bits], operands: Sequence[Bits]) -> bool:
    return all(bit & held for bit, held in zip(wanted, operands, strict=True))


def _all_ways(bit: Bits, operands: Sequence[Bits]) -> bool:
    """Whether a term holds at all operands with the bit `WAY`, at least one."""
    ways = [held for held in operands if held & WAY]
    return bool(ways) and all(held & bit for held in ways)


def _of_op(test: Callable[[Operation], bool]) -> Callable[[Node], bool]:
    return lambda node: isinstance(node, Operation) and test(node)


def _of_values(test: Callable[[SSAValue], bool]) -> Callable[[Node], bool]:
    return lambda node: any(test(v) for v in ([node] if isinstance(node, BlockArgument) else node.results))
