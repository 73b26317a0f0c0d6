"""The nodes of a pattern: what Python spells with `is_op(...)(...)`, and the `pattern` dialect in text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import cast

from xdsl.ir import Attribute, SSAValue

from stepwell.dialects.attributes import AttributeLike, attribute
from stepwell.patterns.edges import GraphPattern
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

Predicate = Callable[[SSAValue], bool]


@dataclass(eq=False)
class Pattern:
    """
    Matches a node: a value, that is an op and a result index, or a block argument.

    Two uses of one pattern object mean one and the same node; two equal objects are independent.
    """

    label: str = field(default="", init=False, repr=False)
    """The object's name in text and in explanations; without effect on matching."""
    program: object = field(default=None, init=False, repr=False)
    """The compiled pattern (`compile.Program`), from the first match on."""

    def parts(self) -> tuple[Pattern, ...]:
        """The patterns inside, in the order in which they are matched; never through `redirect_to`."""
        values = (getattr(self, each.name) for each in fields(self) if each.init)
        return tuple(value for value in values if isinstance(value, Pattern))

    def __call__(self, *args: Pattern | None) -> Call:
        """An op that this pattern matches, on exactly these operands; `p(None)` has any operands."""
        for arg in cast("tuple[object, ...]", args):
            if arg is not None and not isinstance(arg, Pattern):
                raise ill_formed(
                    f"an operand is a pattern, found {type(arg).__name__}",
                    help="`is_expr(value)` is the pattern of a value like this one",
                )
        if None in args and len(args) != 1:
            raise ill_formed("p(None) means any operands: pass no others")
        return Call(self, None if None in args else tuple(arg for arg in args if arg is not None))

    def __or__(self, other: Pattern) -> Or:
        return Or(self, other)

    def __and__(self, other: Pattern) -> And:
        return And(self, other)

    def __invert__(self) -> Not:
        return Not(self)

    def has_attr(self, attributes: Mapping[str, AttributeLike]) -> HasAttr:
        """An op that has every given attribute with an equal value; `{}` is any op."""
        return HasAttr(self, {name: attribute(value) for name, value in attributes.items()})

    def has_type(self, type: Attribute) -> HasType:
        """A value of exactly this type."""
        return HasType(self, type)

    def has_dtype(self, dtype: str) -> HasDtype:
        """A tensor of elements of this type, by its numpy name or ours: `"float32"` or `"f32"`."""
        return HasDtype(self, dtype)

    def has_shape(self, shape: Sequence[int | str | None]) -> HasShape:
        """
        A tensor of this shape: None is any extent, a string a symbol, which has the same extent at all
        occurrences.
        """
        return HasShape(self, tuple(shape))

    def where(self, predicate: Predicate, name: str = "") -> Where:
        """A value for which a predicate holds; in text it goes by its registered name."""
        return Where(self, predicate, name)

    def optional(self, more: Callable[[Pattern], Pattern]) -> Optional:
        """This pattern, or `more(this pattern)`."""
        return Optional(self, more(self))

    def dominates(self, parent: Pattern, path: Pattern) -> Dominates:
        """This pattern as the child of a dominator: all ways from `parent` to it go through `path`."""
        return Dominates(parent, path, self)

    def __rshift__(self, user: Pattern) -> Pattern:
        """Graph mode: `user` is the only user. Returns `user`, so that edges chain."""
        return self.used_by(user, only=True)

    def __xor__(self, user: Pattern) -> Pattern:
        """Graph mode: `user` is one of the users. Returns `user`, so that edges chain."""
        return self.used_by(user)

    def used_by(self, user: Pattern, index: int | None = None, *, only: bool = False) -> Pattern:
        """Graph mode: an edge to `user`, at the operand `index` if one is given. Returns `user`."""
        GraphPattern.current().add_edge(self, user, index, only)
        return user

    def fork_to(self, *users: Pattern) -> None:
        """Graph mode: each of `users` is one of the users."""
        for user in users:
            self.used_by(user)

    def same_shape_as(self, *others: Pattern) -> None:
        """Graph mode: this and each of `others` have equal shapes."""
        for other in others:
            GraphPattern.current().add_same_shape(self, other)

    def dup(self) -> Pattern:
        """A fresh copy, which shares nothing with this pattern."""
        copies = {inner: copy(inner) for inner in reachable(self)}
        for made in copies.values():
            made.program = None
            for name, value in vars(made).items():
                if isinstance(value, Pattern):
                    setattr(made, name, copies[value])
                elif isinstance(value, tuple) and name in ("args", "fields", "params"):
                    setattr(made, name, tuple(copies[inner] for inner in cast("tuple[Pattern, ...]", value)))
            if isinstance(made, Call):
                made.other_associations = None
        return copies[self]


def ill_formed(message: str, *, help: str | None = None, where: object = None) -> StepwellError:
    """The error `bad-pattern`, for a pattern that cannot be right."""
    return StepwellError("bad-pattern", where, message, help=help)


@dataclass(eq=False)
class Wildcard(Pattern):
    """Any node; once redirected, any node that the target matches, so that a pattern can be recursive."""

    target: Pattern | None = field(default=None, init=False)
    in_use: bool = field(default=False, init=False, repr=False)

    def redirect_to(self, target: Pattern) -> None:
        """Match what `target` matches, which may contain this wildcard."""
        if self.in_use or self.target is not None:
            raise ill_formed("redirect_to comes once, before the first match")
        self.target = target


@dataclass(eq=False)
class Var(Pattern):
    """A block argument, such as a function's input; with a name, of that name."""

    name: str = ""


@dataclass(eq=False)
class Constant(Pattern):
    """The result of a constant."""


@dataclass(eq=False)
class Expr(Pattern):
    """A value structurally equal to another; constants are compared by content."""

    value: SSAValue


@dataclass(eq=False)
class Op(Pattern):
    """A result of an op of this name, or of a class of ops (`trait:elementwise`), on any operands."""

    name: str


@dataclass(eq=False)
class Call(Pattern):
    """A result of an op that `callee` matches, with exactly these operands; `args` None: any."""

    callee: Pattern
    args: tuple[Pattern, ...] | None
    associates: bool = True
    """Whether multiply and divide may match in another association."""
    other_associations: tuple[Call, ...] | None = field(default=None, init=False, repr=False)
    """The other associations, once they are computed: the same objects for every match."""

    def parts(self) -> tuple[Pattern, ...]:
        return self.args or ()


@dataclass(eq=False)
class Tuple(Pattern):
    """A tuple, or the variadic operands of an op; `fields` None: any."""

    fields: tuple[Pattern, ...] | None

    def parts(self) -> tuple[Pattern, ...]:
        return self.fields or ()


@dataclass(eq=False)
class Get(Pattern):
    """A field of a tuple, or a result of an op that has several; `index` None: any."""

    source: Pattern
    index: int | None = None


@dataclass(eq=False)
class If(Pattern):
    """A branch: the condition, and the returned values of both regions."""

    condition: Pattern
    then: Pattern
    otherwise: Pattern


@dataclass(eq=False)
class Let(Pattern):
    """A definition that `value` matches, known as `var` in `body`, a later value of the same block."""

    var: Pattern
    value: Pattern
    body: Pattern


@dataclass(eq=False)
class FunctionPattern(Pattern):
    """
    A result of an op with one closed region, such as `graph.fused`, matched by the region's arguments and
    result.
    """

    params: Sequence[Pattern] | None
    body: Pattern

    def __post_init__(self) -> None:
        if self.params is not None:
            self.params = tuple(self.params)

    def parts(self) -> tuple[Pattern, ...]:
        return (*(self.params or ()), self.body)


@dataclass(eq=False)
class Or(Pattern):
    """A node that the left arm matches, else the right arm."""

    left: Pattern
    right: Pattern


class Optional(Or):
    """A pattern with an optional part: `left | right`, where `right` contains `left`."""


@dataclass(eq=False)
class And(Pattern):
    """A node that both patterns match."""

    left: Pattern
    right: Pattern


@dataclass(eq=False)
class Not(Pattern):
    """A node that the inner pattern does not match; binds nothing."""

    inner: Pattern


@dataclass(eq=False)
class Constraint(Pattern):
    """A node that the inner pattern matches and that has a property."""

    inner: Pattern


@dataclass(eq=False)
class HasAttr(Constraint):
    """An op with these attributes."""

    attributes: Mapping[str, Attribute]


@dataclass(eq=False)
class HasType(Constraint):
    """A value of this type."""

    type: Attribute


@dataclass(eq=False)
class HasDtype(Constraint):
    """A tensor of these elements."""

    dtype: str


@dataclass(eq=False)
class HasShape(Constraint):
    """A tensor of this shape."""

    shape: tuple[int | str | None, ...]

    def dims(self) -> tuple[Dim, ...]:
        """The shape as dimensions, any extent as the unknown one."""
        return tuple(Dim.of("?" if extent is None else extent) for extent in self.shape)


@dataclass(eq=False)
class Where(Constraint):
    """A value for which a predicate holds."""

    predicate: Predicate
    name: str = ""


@dataclass(eq=False)
class Dominates(Pattern):
    """
    A dominator: `child` matches the node, exactly one node above matches `parent`, `path` matches every node
    between them, and all paths from the parent to the function's result lead through the child.
    """

    parent: Pattern
    path: Pattern
    child: Pattern


LEAVES = (Wildcard, Var, Constant, Expr)


def reachable(pattern: Pattern) -> Iterator[Pattern]:
    """A pattern and all patterns inside, each once, with callees and targets of wildcards."""
    seen = {pattern: None}
    stack = [pattern]
    while stack:
        yield (current := stack.pop())
        for inner in inner_patterns(current):
            if inner not in seen:
                seen[inner] = None
                stack.append(inner)


def parts_first(starts: Iterable[Pattern], parts: Callable[[Pattern], Sequence[Pattern]]) -> list[Pattern]:
    """Patterns and their transitive parts (by `parts`) in post-order: each once, parts before wholes."""
    order: dict[Pattern, None] = {}
    for start in starts:
        stack = [(start, False)]
        while stack:
            current, expanded = stack.pop()
            if expanded:
                order[current] = None
            elif current not in order:
                stack.append((current, True))
                stack += [(part, False) for part in reversed(parts(current))]
    return list(order)


def inner_patterns(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns inside a pattern: its parts, after the callee of a call; for a wildcard, the target."""
    match pattern:
        case Call():
            return (pattern.callee, *pattern.parts())
        case Wildcard() if pattern.target is not None:
            return (pattern.target,)
        case _:
            return pattern.parts()
