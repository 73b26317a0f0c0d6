"""Type terms: union-find classes of unknown types, elements, shapes and extents, and their unification."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects.builtin import NoneAttr, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation

from stepwell.dialects.incomplete import SOLVER_SYMBOL, has_hole, lacks_shape
from stepwell.dialects.type_variables import MOST_PARTS, HoleType, nothing_said, type_parts, with_parts
from stepwell.dialects.types import DimsAttr, Tensor, dims_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError, describe_location

Known: TypeAlias = Attribute | Dim | tuple[Dim, ...]
"""What a class may be: a type or an element type, an extent, or a shape."""
_TENSOR = "tensor"
_PLACE = HoleType("_")
_ANY_EXTENT = Dim.symbol(UNKNOWN)


class Term:
    """
    A class of equal unknowns: unknown, or with a known head and terms for the parts, or known.

    Relations that wait for it are its `watchers`; `forced_at` is the op whose relation gave its head.
    """

    __slots__ = ("forced_at", "head", "is_open", "known", "link", "number", "parts", "watchers")

    def __init__(self, number: int, known: Known | None = None, forced_at: Operation | None = None):
        self.number = number
        self.link: Term | None = None
        self.known = known
        self.head: Hashable = None
        self.parts: Sequence[Term] = ()
        self.watchers: list[int] = []
        self.forced_at = forced_at
        self.is_open = False
        """Of an extent: any size will do, so that it is `?` where nothing else says what it is."""

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known."""
        return self.known is None and self.head is None


@dataclass
class TypeTerms:
    """
    The terms of a group of functions. Classes become more precise by `unify`, never less.

    Source: unification by classes (Huet 1976; Martelli and Montanari 1982), shapes as lists of extents.
    """

    wake: Callable[[int], None]
    """Called with a relation when a class that it waits for has become more precise."""
    by_number: list[Term] = field(default_factory=list[Term])
    _placeholders: dict[int, HoleType] = field(default_factory=dict[int, HoleType])
    _sizes: dict[int, tuple[int, Attribute]] = field(default_factory=dict[int, "tuple[int, Attribute]"])
    """The numbers of types inside of types, by identity too; the types are kept, so that it is theirs."""
    _complete: dict[int, Attribute] = field(default_factory=dict[int, Attribute])
    """Types without anything unknown, by identity: hashing a type costs more than all the rest."""

    def fresh(self, *, is_open: bool = False) -> Term:
        """A class of which nothing is known."""
        self.by_number.append(term := Term(len(self.by_number)))
        term.is_open = is_open
        return term

    def fresh_hole(self) -> HoleType:
        """The placeholder of a class of which nothing is known."""
        return self._placeholder(self.fresh())

    def _placeholder(self, term: Term) -> HoleType:
        if (hole := self._placeholders.get(term.number)) is None:
            hole = self._placeholders[term.number] = HoleType(f"#{term.number}")
        return hole

    def find(self, term: Term) -> Term:
        """The representative of a term's class."""
        root = term
        while root.link is not None:
            root = root.link
        while term.link is not None:
            term.link, term = root, term.link
        return root

    def of(self, type: Attribute, at: Operation | None = None) -> Term:
        """The term of a type, whose placeholders stand for classes."""
        if isinstance(type, HoleType):
            if type == nothing_said():
                return self.fresh()
            return self.find(self.by_number[int(type.label.data[1:])])
        if id(type) in self._complete:
            return Term(-1, type, at)
        self._expect_small(type, at)
        if has_hole(type) or lacks_shape(type):
            return self._partial(type, at)
        self._complete[id(type)] = type
        return Term(-1, type, at)

    def symbol_of(self, extent: Term) -> Dim:
        """The symbol that stands for an unknown extent."""
        return Dim.symbol(f"{SOLVER_SYMBOL}{extent.number}")

    def has_unknown(self, dim: Dim) -> bool:
        """Whether a symbol that stands for an unknown extent is in an expression."""
        return any(name.startswith(SOLVER_SYMBOL) for name in dim.symbols())

    def hint(self, type: Attribute, at: Operation | None = None) -> Term:
        """The term of a type of which `?` says nothing."""
        if type.name == TensorType.name and any(dim.is_unknown for dim in dims_of(type)):
            return self._partial(type, at, says_nothing=True)
        return self.of(type, at)

    def type_of(self, term: Term) -> Attribute:
        """A type that has placeholders for what is unknown. Raises: StepwellError `too-large`."""
        built = self._built(self.find(term), [0])
        assert isinstance(built, Attribute)
        return built

    def said_of(self, term: Term) -> Attribute:
        """As `type_of`, with `tensor<*xf32>` for a tensor of which the element type alone is known."""
        type, term = self.type_of(term), self.find(term)
        if term.head is not _TENSOR or not isinstance(type, HoleType):
            return type
        return UnrankedTensorType(cast(Attribute, self._built(self.find(term.parts[0]), [0])))

    def is_complete(self, term: Term) -> bool:
        """Whether all is known of a class."""
        return next(self.unknown_inside(term), None) is None

    def unknown_inside(self, term: Term) -> Iterator[Term]:
        """The classes inside of a term of which nothing is known."""
        pending = [term]
        while pending:
            if (each := self.find(pending.pop())).known is not None:
                continue
            if each.head is None:
                yield each
            pending += each.parts

    def unify(self, one: Term, other: Term, at: Operation) -> None:
        """
        Make two terms one class, part by part.

        Raises: StepwellError `type-mismatch` where they differ, or one would be inside of itself.
        """
        pending = [(one, other)]
        while pending:
            a, b = (self.find(each) for each in pending.pop())
            if a is b:
                continue
            if b.is_unknown:
                a, b = b, a
            if a.is_unknown:
                self._bind(a, b, at)
            elif a.known is not None and b.known is not None:
                if not _fit(a.known, b.known):
                    raise self._mismatch(a, b, at)
            else:
                self._expand(a)
                self._expand(b)
                if a.head != b.head or len(a.parts) != len(b.parts):
                    raise self._mismatch(a, b, at)
                pending += zip(a.parts, b.parts, strict=True)
                if a.known is None:  # the other may be all known
                    a.link = b
                    b.watchers += a.watchers
                else:
                    b.link = a
                    a.watchers += b.watchers

    def assume(self, term: Term, known: Known) -> None:
        """Say what a class is of which nothing is known."""
        self._bind(self.find(term), Term(-1, known), None)

    def _bind(self, unknown: Term, to: Term, at: Operation | None) -> None:
        if to.is_unknown:
            if len(unknown.watchers) > len(to.watchers):
                unknown, to = to, unknown
            to.is_open = to.is_open and unknown.is_open
            to.watchers += unknown.watchers
        else:
            if to.known is None and any(each is unknown for each in self.unknown_inside(to)):
                type = self.type_of(to)
                message = f"a type inside itself: {self.text(unknown)} would be {readable(type)}"
                raise StepwellError("type-mismatch", at, message, note=forced_note(to, type))
            for watcher in unknown.watchers:
                self.wake(watcher)
            if to.forced_at is None and to.known is not None and at is not None:
                to = Term(-1, to.known, at)
        unknown.watchers = []
        unknown.link = to

    def _partial(self, type: Attribute, at: Operation | None, *, says_nothing: bool = False) -> Term:
        """The term of a type with placeholders inside: its head, and terms of its parts."""
        term = self.fresh()
        term.forced_at = at
        if isinstance(type, UnrankedTensorType):
            term.head, term.parts = _TENSOR, [self.of(cast(Tensor, type).element_type, at), self.fresh()]
        elif _is_plain_tensor(type):
            shape = self.fresh()
            shape.parts = [self._extent(dim, at, says_nothing) for dim in dims_of(type)]
            shape.head, shape.forced_at = len(shape.parts), at
            term.head, term.parts = _TENSOR, [self.of(cast(Tensor, type).element_type, at), shape]
        else:
            parts = type_parts(type)
            term.head = with_parts(type, [_PLACE] * len(parts)) if parts else type
            term.parts = [self.of(part, at) for part in parts]
        return term

    def _extent(self, dim: Dim, at: Operation | None, says_nothing: bool) -> Term:
        if dim.is_unknown:
            return self.fresh() if says_nothing else Term(-1, _ANY_EXTENT, at)
        if (own := [name for name in dim.symbols() if name.startswith(SOLVER_SYMBOL)]) == [str(dim)]:
            return self.find(self.by_number[int(own[0].removeprefix(SOLVER_SYMBOL))])
        return self.fresh() if own else Term(-1, dim, at)

    def _expand(self, term: Term) -> None:
        """Give a known term the head and the parts that a partly known one has."""
        known = term.known
        if known is None or term.head is not None:
            return
        if isinstance(known, tuple):
            term.head, term.parts = len(known), [Term(-1, dim, term.forced_at) for dim in known]
        elif isinstance(known, Dim):
            term.head = known
        elif _is_plain_tensor(known):
            parts = (cast(Tensor, known).element_type, dims_of(known))
            term.head, term.parts = _TENSOR, [Term(-1, part, term.forced_at) for part in parts]
        else:
            parts = type_parts(known)
            term.head = with_parts(known, [_PLACE] * len(parts)) if parts else known
            term.parts = [Term(-1, part, term.forced_at) for part in parts]

    def _built(self, term: Term, count: list[int]) -> Known:
        count[0] += 1
        if count[0] > MOST_PARTS:
            raise _too_large(term.forced_at)
        if term.known is not None:
            return term.known
        if term.head is None:
            return self._placeholder(term)
        if term.head is _TENSOR:
            built: Known = self._built_tensor(term, count)
        else:
            parts = [self._built(self.find(part), count) for part in term.parts]
            built = with_parts(cast(Attribute, term.head), cast("Sequence[Attribute]", parts))
            self._expect_small(built, term.forced_at)
        if all(self.find(part).known is not None for part in term.parts):
            term.known = built
        return built

    def _expect_small(self, type: Attribute, at: Operation | None) -> None:
        """Require that a type has few types inside. Raises: StepwellError `too-large`."""
        if self._size(type) > MOST_PARTS:
            raise _too_large(at)

    def _size(self, type: Attribute) -> int:
        """The number of types inside a type; those that it has twice are looked at once."""
        if (known := self._sizes.get(id(type))) is None:
            size = 1 + sum(map(self._size, type_parts(type)))
            known = self._sizes[id(type)] = size, type
        return known[0]

    def _built_tensor(self, term: Term, count: list[int]) -> Attribute:
        element, shape = (self.find(part) for part in term.parts)
        of = cast(Attribute, self._built(element, count))
        if shape.known is not None:
            return tensor_type(of, cast("tuple[Dim, ...]", shape.known))
        if shape.head is None:
            return self._placeholder(term)  # the class, which `tensor<*xf32>` would not name
        extents = [self.find(part) for part in shape.parts]
        dims = [
            cast(Dim, e.known) if e.known is not None else Dim.symbol(f"{SOLVER_SYMBOL}{e.number}")
            for e in extents
        ]
        if all(e.known is not None for e in extents):
            shape.known = tuple(dims)
        return tensor_type(of, dims)

    def text(self, term: Term) -> str:
        """A term for an error message."""
        term = self.find(term)
        if isinstance(term.known, tuple):
            return f"the shape ({', '.join(map(str, term.known))})"
        if isinstance(term.known, Dim):
            return f"the extent {term.known}"
        if isinstance(term.head, int):
            return f"a shape of rank {term.head}"
        return readable(self.type_of(term))

    def _mismatch(self, a: Term, b: Term, at: Operation) -> StepwellError:
        texts = [self.text(each) for each in (a, b)]
        notes = [note for each, text in zip((a, b), texts, strict=True) for note in forced_note(each, text)]
        message = f"{at.name}: one type would be both {texts[0]} and {texts[1]}"
        return StepwellError("type-mismatch", at, message, note=notes)


def _too_large(at: Operation | None) -> StepwellError:
    message = f"an inferred type has more than {MOST_PARTS} parts"
    return StepwellError("too-large", at, message, help="let it not contain ever larger values")


def forced_note(term: Term, text: object) -> list[str]:
    """A note with the op that forced a type and the op's location; none for an unknown op."""
    if (op := term.forced_at) is None:
        return []
    where = describe_location(op)
    return [f"{readable(text)} is forced by {op.name}{f' at {where}' if where else ''}"]


def readable(type: object) -> str:
    """The text of a type whose placeholders are unknown to the user: `_`."""
    from re import sub

    return sub(r'!graph\.hole<"#\d+">', "_", sub(rf"{SOLVER_SYMBOL}\d+", UNKNOWN, str(type)))


def _is_plain_tensor(type: Attribute) -> bool:
    return isinstance(type, TensorType) and isinstance(cast(Tensor, type).encoding, (NoneAttr, DimsAttr))


def _fit(a: Known, b: Known) -> bool:
    """Whether two known types, shapes or extents are one; an extent `?` is any."""
    if a == b:
        return True
    if isinstance(a, Dim) and isinstance(b, Dim):
        return a.is_unknown or b.is_unknown or a.proves_equal(b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_fit, a, b))
    if not (isinstance(a, Attribute) and isinstance(b, Attribute)):
        return False
    if _is_plain_tensor(a) and _is_plain_tensor(b):
        elements = [cast(Tensor, each).element_type for each in (a, b)]
        return elements[0] == elements[1] and _fit(dims_of(a), dims_of(b))
    parts, others = type_parts(a), type_parts(b)
    if not parts or len(parts) != len(others) or isinstance(a, TensorType) or isinstance(b, TensorType):
        return False
    same = [_PLACE] * len(parts)
    return with_parts(a, same) == with_parts(b, same) and all(map(_fit, parts, others))
