"""Instances of polymorphic functions: a copy for each set of types of a use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from stepwell.dialects import graph
from stepwell.dialects.adt.kinds import expect_kinds
from stepwell.dialects.type_variables import (
    MOST_PARTS,
    TYPE_PARAMS,
    is_polymorphic,
    params_of,
    readable_type,
    substituted,
    types_inside,
    without_sizes,
)
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.analysis.function_names import unused_name
from stepwell.passes.analysis.type_substitution import substitute_types
from stepwell.passes.context import count
from stepwell.runtime.errors import StepwellError

Instance: TypeAlias = tuple[str, tuple[Attribute, ...]]
"""A polymorphic function and its type arguments."""
_Asked: TypeAlias = tuple[Instance, Sequence[str]]
MOST_INSTANCES = 64


def monomorphize(module: ModuleOp) -> None:
    """
    Replace the polymorphic functions of a module by their instances.

    Raises: StepwellError `bad-kind`, `type-mismatch` for wrong uses; `too-large` for too many instances.
    """
    generic = {name: f for name, f in functions_by_name(module).items() if params_of(f) is not None}
    if not generic:
        return
    instances = _Instances(module, generic)
    for function in [f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data not in generic]:
        instances.redirect(function, ())
    instances.make_all()
    for function in generic.values():
        function.detach()
        function.erase(safe_erase=False)


@dataclass
class _Instances:
    """The instances of a module's polymorphic functions that have been asked for."""

    module: ModuleOp
    generic: Mapping[str, FuncOp]
    names: dict[Instance, str] = field(default_factory=dict[Instance, str])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    waiting: list[tuple[Instance, Sequence[str]]] = field(
        default_factory=list[tuple[Instance, "Sequence[str]"]]
    )
    """Instances to make, each with the names of those that led to it."""

    def redirect(self, function: FuncOp, chain: Sequence[str]) -> None:
        """Let the uses of polymorphic functions in a function name instances."""
        for op in function.walk():
            if not isinstance(op, graph.CallOp | graph.FunctionOp) or op.callee is None:
                continue
            name = op.callee.root_reference.data
            if (target := self.generic.get(name)) is None:
                continue
            arguments = self._arguments(op, target)
            op.properties["callee"] = SymbolRefAttr(self._name((name, arguments), op, chain))
            op.properties.pop("type_args", None)

    def make_all(self) -> None:
        """Copy the functions of all instances, with those that the copies ask for."""
        while self.waiting:
            (name, arguments), chain = self.waiting.pop()
            copy = self.generic[name].clone()
            params = params_of(copy)
            copy.properties["sym_name"] = StringAttr(self.names[name, arguments])
            del copy.attributes[TYPE_PARAMS]
            substitute_types(copy, dict(zip(params.names if params else (), arguments, strict=True)))
            self.redirect(copy, chain)
            self.module.body.block.insert_op_before(copy, self.generic[name])

    def _arguments(self, op: graph.CallOp | graph.FunctionOp, target: FuncOp) -> tuple[Attribute, ...]:
        """The type arguments of a use. Raises: StepwellError `bad-kind`, `type-mismatch`."""
        given: ArrayAttr[Attribute] | None = op.type_args
        params = params_of(target)
        wanted = params.names if params is not None else []
        name = target.sym_name.data
        if given is None or len(given) != len(wanted):
            found = 0 if given is None else len(given)
            message = f"@{name} takes {len(wanted)} type arguments, found {found}"
            raise StepwellError("bad-kind", op, message, help=f"write @{name}<{', '.join(wanted)}>")
        if params is not None:
            expect_kinds(params, given.data, op)
        if free := next((each for each in given if is_polymorphic(each)), None):
            raise StepwellError(
                "bad-kind", op, f"the type argument {free} has a variable that nothing declares"
            )
        self._expect_type(op, target, dict(zip(wanted, given, strict=True)))
        return tuple(given)

    def _expect_type(
        self, op: graph.CallOp | graph.FunctionOp, target: FuncOp, arguments: Mapping[str, Attribute]
    ) -> None:
        """Require a use to have the type of its instance. Raises: StepwellError `type-mismatch`."""
        expected = substituted(target.function_type, arguments)
        if isinstance(op, graph.FunctionOp):
            found = op.result.type
        else:
            found = FunctionType.from_lists([a.type for a in op.arguments], list(op.result_types))
        if not _same_but_sizes(expected, found):
            message = f"@{target.sym_name.data} of these type arguments is {expected}, used as {found}"
            raise StepwellError("type-mismatch", op, message)

    def _name(self, instance: Instance, at: Operation, chain: Sequence[str]) -> str:
        """The name of an instance, which is asked for when it is new. Raises: StepwellError `too-large`."""
        name, arguments = instance
        if not any(map(_is_huge, arguments)) and instance in self.names:
            return self.names[instance]
        self.counts[name] = self.counts.get(name, 0) + 1
        if self.counts[name] > MOST_INSTANCES or any(map(_is_huge, arguments)):
            raise StepwellError(
                "too-large",
                at,
                f"@{name} needs more than {MOST_INSTANCES} instances: it is used at ever larger types",
                note=[f"needed by @{_shortened(each)}" for each in chain[-4:]],
                help="call it at the types of its own arguments",
            )
        text = "_".join(readable_type(type) for type in arguments)
        unique = unused_name(f"{name}.{text}", {*self.names.values(), *functions_by_name(self.module)})
        count("instances")
        self.names[instance] = unique
        self.waiting.append((instance, [*chain, unique]))
        return unique


def _is_huge(type: Attribute) -> bool:
    return sum(1 for _ in islice(types_inside(type), MOST_PARTS + 1)) > MOST_PARTS


def _shortened(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:57]}…"


def _same_but_sizes(a: Attribute, b: Attribute) -> bool:
    """Whether two types differ at most in the sizes of tensors, which a call checks by itself."""
    return without_sizes(a) == without_sizes(b)
