"""Uses of functions and constructors by name: each has the types of an instance of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.definitions import definition_named
from stepwell.dialects.type_variables import VarType, mapped_type, params_of, substituted
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.passes.graph.types.type_terms import Term, TypeTerms
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class Signature:
    """The type of a function or constructor, with the names of its type variables."""

    type: FunctionType
    variables: Sequence[str]


@dataclass
class _Use:
    """A use: its symbols' extents, and the extents that expressions of them give."""

    symbols: dict[str, Term] = field(default_factory=dict[str, Term])
    derived: list[tuple[Dim, Term]] = field(default_factory=list[tuple[Dim, Term]])


@dataclass
class FunctionUses:
    """The uses of functions in a group: variables and symbols of a signature are fresh classes in each."""

    terms: TypeTerms
    signature: Callable[[Operation], Signature | None]
    _uses: dict[Operation, _Use] = field(default_factory=dict[Operation, _Use])

    def lacks_arguments(self, op: Operation) -> bool:
        """Whether an op names a polymorphic function without type arguments."""
        if (
            not isinstance(op, graph.CallOp | graph.FunctionOp)
            or op.callee is None
            or op.type_args is not None
        ):
            return False
        return (signature := self.signature(op)) is not None and bool(signature.variables)

    def relate(self, op: Operation) -> None:
        """
        Relate the types of a use with the signature of what it names; nothing for other ops.

        Raises: StepwellError `type-mismatch`, `bad-kind`.
        """
        if op not in self._uses:
            if (signature := self.signature(op)) is None:
                return
            self._uses[op] = use = _Use()
            arguments = self._arguments(op, signature)
            type = cast(FunctionType, substituted(signature.type, arguments))
            self._unify(op, cast(FunctionType, self._with_fresh_symbols(type, use)))
        self._derive(op, self._uses[op])

    def _arguments(self, op: Operation, signature: Signature) -> Mapping[str, Attribute]:
        """The type arguments of a use, by variable; fresh ones where the text gives none."""
        if not signature.variables:
            return {}
        given = op.properties.get("type_args")
        if given is None:
            given = ArrayAttr([self.terms.fresh_hole() for _ in signature.variables])
            if isinstance(op, graph.CallOp | graph.FunctionOp):
                op.properties["type_args"] = given
        arguments = cast("ArrayAttr[Attribute]", given).data
        if len(arguments) != len(signature.variables):
            message = f"{len(signature.variables)} type arguments are needed, found {len(arguments)}"
            help = f"write <{', '.join(signature.variables)}>"
            raise StepwellError("bad-kind", op, message, help=help)
        return dict(zip(signature.variables, arguments, strict=True))

    def _with_fresh_symbols(self, type: Attribute, use: _Use) -> Attribute:
        """A signature with fresh classes for symbols, whose scope is the function."""

        def fresh(part: Attribute) -> Attribute:
            if part.name != TensorType.name:
                return part
            dims = dims_of(part)
            if all(dim.is_static for dim in dims):
                return part
            return tensor_type(
                cast(Tensor, part).element_type, [self._fresh_extent(dim, use) for dim in dims]
            )

        return mapped_type(type, fresh)

    def _fresh_extent(self, dim: Dim, use: _Use) -> Dim:
        if dim.is_static or self.terms.has_unknown(dim):
            return dim
        if dim.is_unknown:
            return self.terms.symbol_of(self.terms.fresh(is_open=True))
        for name in dim.symbols():
            if name not in use.symbols:
                use.symbols[name] = self.terms.fresh(is_open=True)
        if dim.symbols() == frozenset({str(dim)}):
            return self.terms.symbol_of(use.symbols[str(dim)])
        use.derived.append((dim, term := self.terms.fresh(is_open=True)))
        return self.terms.symbol_of(term)

    def _derive(self, op: Operation, use: _Use) -> None:
        """Compute the extents of expressions whose symbols are known."""
        for dim, extent in use.derived:
            found = {name: self.terms.find(use.symbols[name]).known for name in dim.symbols()}
            if all(isinstance(known, Dim) for known in found.values()):
                known = dim.substitute(cast("dict[str, Dim]", found))
                self.terms.unify(extent, Term(-1, known, op), op)

    def _unify(self, op: Operation, type: FunctionType) -> None:
        inputs, outputs = list(type.inputs.data), list(type.outputs.data)
        match op:
            case graph.CallOp():
                own, others = [*op.arguments, *op.results], [*inputs, *outputs]
            case adt.MakeOp():
                own, others = [*op.inputs, op.result], [*inputs, *outputs]
            case graph.ClosureOp():
                rest = FunctionType.from_lists(inputs[len(op.captured) :], outputs)
                own, others = [*op.captured, op.result], [*inputs[: len(op.captured)], rest]
            case _:
                own, others = list(op.results), [type]
        if len(own) != len(others):
            message = f"a function of type {type} is used with {len(own)} arguments and results"
            raise StepwellError("type-mismatch", op, message)
        for value, other in zip(own, others, strict=True):
            self.terms.unify(self.terms.of(value.type, op), self.terms.of(other, op), op)


def signature_of(op: Operation, functions: Mapping[str, Operation]) -> Signature | None:
    """
    The signature of the function or constructor that an op names; None for an op that names none.

    Raises: StepwellError `unknown-symbol`, `bad-kind`.
    """
    if isinstance(op, adt.MakeOp):
        return _constructor(op.constructor.root_reference.data, op.name_of_constructor, op)
    if not isinstance(op, graph.CallOp | graph.FunctionOp | graph.ClosureOp) or op.callee is None:
        return None
    name, nested = op.callee.root_reference.data, op.callee.nested_references.data
    if nested:
        return _constructor(name, nested[-1].data, op)
    if not isinstance(function := functions.get(name), FuncOp):
        message = f"the module has no function @{name}"
        raise StepwellError(
            "unknown-symbol", op, message, help="run link-prelude first for those of the prelude"
        )
    params = params_of(function)
    return Signature(function.function_type, params.names if params is not None else ())


def _constructor(data: str, constructor: str, op: Operation) -> Signature:
    definition = definition_named(data, op)
    type = definition.applied(*map(VarType, definition.variables))
    return Signature(
        FunctionType.from_lists(definition.fields(constructor, type), [type]), definition.variables
    )
