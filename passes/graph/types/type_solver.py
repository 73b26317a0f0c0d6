"""The solver of `infer-types`: a worklist of relations over the type terms of a group of functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.incomplete import has_hole, is_incomplete, lacks_shape, related_values
from stepwell.dialects.type_variables import HoleType, mapped_type
from stepwell.passes.analysis.type_substitution import map_types
from stepwell.passes.graph.types.function_uses import FunctionUses, Signature
from stepwell.passes.graph.types.type_terms import Term, TypeTerms, forced_note, readable
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError

T = TypeVar("T")


class TypeSolver:
    """
    The relations of a group of functions that are inferred together, and the terms of their values.

    A relation is an op, or an equation of a use of a function. It is evaluated when it is new, and again when
    a class that it waits for has become more precise: each change moves a class down a finite lattice, so
    there are at most a few evaluations an op.
    """

    def __init__(self, functions: Sequence[FuncOp], signature: Callable[[Operation], Signature | None]):
        """Args: `signature` gives the type of the function or constructor that an op names; None for none."""
        self.functions = functions
        self.terms = TypeTerms(self._wake)
        self.evaluations = 0
        """The number of evaluations of relations, the measure of the work."""
        self._names = {function.sym_name.data for function in functions}
        self._values: dict[SSAValue, Term] = {}
        self._relations: list[Operation] = []
        self._queue: deque[int] = deque()
        self._queued: list[bool] = []
        self._evaluated = -1
        self._woken = False
        """Whether the relation that is evaluated has changed a class that it waited for."""
        self._uses = FunctionUses(self.terms, signature)

    def solve(self) -> None:
        """
        Find all types that are forced; the IR has placeholders for the others then.

        Raises: StepwellError `type-mismatch`, `too-large`.
        """
        for function in self.functions:
            self._name_placeholders(function)
        for function in self.functions:
            for op in function.walk():
                if is_incomplete(op) or self._calls_member(op) or self._uses.lacks_arguments(op):
                    self._add(op)
        self._settle()
        self._assume_likely()
        self._open_extents()

    def write_types(self) -> None:
        """Write what has been found into the functions."""
        for function in self.functions:
            map_types(function, self.resolved)

    def resolved(self, type: Attribute) -> Attribute:
        """A type with all that is known in the places of placeholders."""
        return self.terms.said_of(self.terms.of(type)) if has_hole(type) or lacks_shape(type) else type

    def is_open(self, hole: HoleType) -> bool:
        """Whether nothing is known of the class of a placeholder, not even that it is a tensor."""
        return self.terms.of(hole).is_unknown

    def say(self, hole: HoleType, type: Attribute) -> None:
        """Say what the class of a placeholder is."""
        self.terms.assume(self.terms.of(hole), type)

    def waiting_for(self, value: SSAValue) -> Term | None:
        """The first unknown class in the type of a value; None of one that has a type."""
        return next(self.terms.unknown_inside(self._term(value)), None)

    def _name_placeholders(self, function: FuncOp) -> None:
        """Put placeholders in the places of the holes of a function's text: equal names are one class."""
        holes: dict[Attribute, Attribute] = {}

        def named(part: Attribute) -> Attribute:
            if not isinstance(part, HoleType):
                return part
            if part not in holes:
                holes[part] = self.terms.fresh_hole()
            return holes[part]

        map_types(function, lambda type: mapped_type(type, named))

    def _calls_member(self, op: Operation) -> bool:
        """Whether an op names a function of the group, and so constrains the function's type."""
        callee = op.properties.get("callee")
        return isinstance(callee, SymbolRefAttr) and callee.root_reference.data in self._names

    def _add(self, op: Operation) -> None:
        self._relations.append(op)
        self._queued.append(True)
        self._queue.append(len(self._relations) - 1)

    def _wake(self, relation: int) -> None:
        if relation == self._evaluated:
            self._woken = True
        elif not self._queued[relation]:
            self._queued[relation] = True
            self._queue.append(relation)

    def _settle(self) -> None:
        """Evaluate relations until nothing changes."""
        while self._queue:
            relation = self._queue.popleft()
            self.evaluations += 1
            self._woken = False
            unknown = self._evaluate(relation)
            self._queued[relation] = self._woken and unknown  # its own changes may let it infer more
            if self._queued[relation]:
                self._queue.append(relation)

    def _evaluate(self, relation: int) -> bool:
        """Evaluate a relation; returns whether it lacks something, and waits for that."""
        self._evaluated = relation
        op = self._relations[relation]
        values = list(related_values(op))
        unknown = self._refresh(values)
        if isinstance(op, GraphOp):
            self._relate(op, is_known=not self._refresh(_inputs(op)))
        elif isinstance(op, ReturnOp) and isinstance(function := op.parent_op(), FuncOp):
            outputs = function.function_type.outputs.data
            if len(outputs) != len(op.operands):
                message = f"the function has {len(outputs)} results, {len(op.operands)} values are returned"
                raise StepwellError("type-mismatch", op, message)
            self._equate(zip((self._current(v) for v in op.operands), outputs, strict=True), op)
        waits = False
        for term in unknown:
            if (still := self.terms.find(term)).known is None:
                for part in self.terms.unknown_inside(still):
                    waits = True
                    if not part.watchers or part.watchers[-1] != relation:
                        part.watchers.append(relation)
        self._evaluated = -1
        return waits

    def _relate(self, op: GraphOp, *, is_known: bool) -> None:
        """Evaluate the relations of an op: equations, backward, forward."""
        self._uses.relate(op)
        self._equate(_attempted(op.equal_types) or (), op)
        if is_known:
            self._infer_known(op)
            return
        operands = [self.terms.said_of(self._term(value)) for value in op.operands]
        results = [self.terms.said_of(self._term(value)) for value in op.results]
        forced = _attempted(lambda: op.infer_operands(results, operands)) or ()
        for value, type in zip(op.operands, forced, strict=False):
            if type is not None:
                self.terms.unify(self._term(value), self.terms.hint(type, op), op)
        if not self._refresh(_inputs(op)):
            self._infer_known(op)
        elif (types := _attempted(op.inferred_types)) is not None:
            for value, type in zip(op.results, types, strict=True):
                self.terms.unify(self._term(value), self.terms.hint(type, op), op)

    def _infer_known(self, op: GraphOp) -> None:
        """Give the results of an op with known operands their types. Raises: StepwellError."""
        try:
            types = op.inferred_types()
            for value, type in zip(op.results, types, strict=True):
                self.terms.unify(self._term(value), self.terms.of(type, op), op)
            self._refresh(op.results)
            op.check()
        except StepwellError as error:
            raise self._with_forced(error, op) from None
        except VerifyException as error:
            mismatch = StepwellError("type-mismatch", op, f"{op.name}: {readable(error)}")
            raise self._with_forced(mismatch, op) from None

    def _with_forced(self, error: StepwellError, op: GraphOp) -> StepwellError:
        """The error with a note for each operand's type that another op has forced, results following."""
        for value in op.operands:
            if self._term(value).forced_at is not op:
                for note in forced_note(self._term(value), value.type):
                    error = error.with_note(f"operand {note}")
        return error

    def _equate(self, pairs: Iterable[tuple[Attribute, Attribute]], op: Operation) -> None:
        for one, other in pairs:
            self.terms.unify(self.terms.of(one, op), self.terms.of(other, op), op)

    def _refresh(self, values: Iterable[SSAValue]) -> list[Term]:
        """Write into values what is known of their types; returns the terms of those that lack something."""
        unknown: list[Term] = []
        for value in values:
            if (term := self._term(value)).known is None:
                type = self.terms.type_of(term)
                if term.known is None:
                    unknown.append(term)
            else:
                type = cast(Attribute, term.known)
            if value.type is not type:
                set_type(value, type)
        return unknown

    def _current(self, value: SSAValue) -> Attribute:
        return self.terms.type_of(self._term(value))

    def _term(self, value: SSAValue) -> Term:
        if (term := self._values.get(value)) is None:
            owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
            term = self._values[value] = self.terms.of(value.type, owner)
        return self.terms.find(term)

    def _assume_likely(self) -> None:
        """Take the types of branches and results to be equal, an op at a time, after all other relations."""
        for op in list(self._relations):
            if isinstance(op, GraphOp) and self._refresh(related_values(op)):
                pairs = _attempted(op.likely_types) or ()
                for one, other in pairs:
                    terms = self.terms.of(one, op), self.terms.of(other, op)
                    if not all(map(self.terms.is_complete, terms)):
                        self.terms.unify(*terms, op)
                self._settle()

    def _open_extents(self) -> None:
        """Say `?` of extents of which any will do: sizes of what a call returns."""
        for term in [term for term in self.terms.by_number if term.is_open]:
            if self.terms.find(term).is_unknown and self.terms.find(term).is_open:
                self.terms.assume(term, Dim.symbol(UNKNOWN))
        self._settle()


def _inputs(op: GraphOp) -> Iterable[SSAValue]:
    """The values whose types a relation infers result types from."""
    results = set(op.results)
    return [value for value in related_values(op) if value not in results]


def _attempted(function: Callable[[], Sequence[T]]) -> Sequence[T] | None:
    """The result of a relation on partly known types; None if it raises an error."""
    try:
        return function()
    except Exception:
        return None
