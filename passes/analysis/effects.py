"""Effects of ops and functions: everything that a call can do besides returning results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, RecursiveMemoryEffect, get_effects

from stepwell.dialects import adt, graph
from stepwell.dialects.type_variables import is_polymorphic, types_inside, without_sizes
from stepwell.passes.analysis.call_graph import functions_by_name

EFFECTS = "graph.effects"
"""Key of a function's attribute: the names of its effects, without it not known."""
ALLOC, READ, WRITE, CHECK, HOST = "alloc", "read", "write", "check", "host"
ALL = (ALLOC, READ, WRITE, CHECK, HOST)
"""The effects, in the order of the text: a new cell, reads and writes of cells, checks, calls of the host."""
KEPT = frozenset((WRITE, CHECK, HOST))
"""The effects of an op that is kept though nothing uses its results."""

_ANYTHING = frozenset(ALL)
_NAMES: Mapping[MemoryEffectKind, str] = {
    MemoryEffectKind.ALLOC: ALLOC,
    MemoryEffectKind.READ: READ,
    MemoryEffectKind.WRITE: WRITE,
    MemoryEffectKind.FREE: WRITE,
}
_Body: TypeAlias = FuncOp | graph.LambdaOp


@dataclass(frozen=True)
class Effects:
    """
    The effects of a module's functions and lambdas, from which the effects of every op follow.

    A call of a function value has the effects of every function of that type which the module makes a value
    (0-CFA by type), and all effects where values of the type may come from outside.

    Source: Shivers, "Control-flow analysis in Scheme" (PLDI 1988), with one abstract value a type.
    """

    name: ClassVar[str] = "effects"

    by_body: Mapping[_Body, frozenset[str]]
    _values: _FunctionValues

    @classmethod
    def of(cls, module: ModuleOp) -> Effects:
        """The effects in a module: the least fixpoint over its call graph."""
        values = _FunctionValues.of(module)
        bodies = [op for op in module.walk() if isinstance(op, FuncOp | graph.LambdaOp)]
        found: dict[_Body, frozenset[str]] = {}
        callers: dict[_Body, list[_Body]] = {body: [] for body in bodies}
        for body in bodies:
            found[body], callees = _of_body(body, values)
            for callee in callees:
                callers[callee].append(body)
        waiting = list(bodies)
        while waiting:
            body = waiting.pop()
            for caller in callers[body]:
                if not found[body] <= found[caller]:
                    found[caller] |= found[body]
                    waiting.append(caller)
        return cls(found, values)

    def of_op(self, op: Operation) -> frozenset[str]:
        """The effects of an op, of the ops inside, and of called functions."""
        effects, callees = _of_ops(run_by(op), self._values)
        return effects.union(*(self.by_body[callee] for callee in callees))


def _of_body(body: _Body, values: _FunctionValues) -> tuple[frozenset[str], Sequence[_Body]]:
    """The effects of a function's own ops, and the called functions."""
    if isinstance(body, FuncOp) and body.is_declaration:
        return declared_effects(body), []
    inside = (op for region in body.regions for block in region.blocks for op in block.ops)
    return _of_ops((each for op in inside for each in run_by(op)), values)


def declared_effects(function: FuncOp) -> frozenset[str]:
    """The effects that a function's attribute says; all without one."""
    declared = function.attributes.get(EFFECTS)
    if not isinstance(declared, ArrayAttr):
        return _ANYTHING
    names = cast("ArrayAttr[Attribute]", declared)
    return frozenset(name.data for name in names if isinstance(name, StringAttr))


def run_by(op: Operation) -> Iterator[Operation]:
    """An op and all ops inside, but for the bodies of lambdas, which run elsewhere."""
    waiting = [op]
    while waiting:
        yield (each := waiting.pop())
        if not isinstance(each, graph.LambdaOp):
            waiting += (inner for region in each.regions for block in region.blocks for inner in block.ops)


def _of_ops(ops: Iterable[Operation], values: _FunctionValues) -> tuple[frozenset[str], Sequence[_Body]]:
    """The effects of ops without those of called functions; and the called functions."""
    effects: set[str] = set()
    callees: dict[_Body, None] = {}
    for op in ops:
        if isinstance(op, graph.CallOp | func.CallOp):
            if (targets := values.callees(op)) is None:
                effects |= _ANYTHING
            callees.update(dict.fromkeys(targets or ()))
        else:
            effects |= _own_effects(op)
    return frozenset(effects), list(callees)


def _own_effects(op: Operation) -> frozenset[str]:
    """The effects of an op alone, without regions and called functions."""
    if isinstance(op, graph.AssertOp | graph.CheckAccessesOp | graph.CheckIndicesOp | graph.CheckOffsetsOp):
        return frozenset((CHECK,))
    if op.has_trait(IsTerminator) or op.has_trait(RecursiveMemoryEffect):
        return frozenset()
    if (known := get_effects(op)) is None:
        return _ANYTHING
    if isinstance(op, graph.HostCallOp):
        return frozenset((HOST,)) if known else frozenset()
    return frozenset(_NAMES[effect.kind] for effect in known)


@dataclass(frozen=True)
class _FunctionValues:
    """The functions and lambdas that a module makes values of, by type, and the types from outside."""

    functions: Mapping[str, FuncOp]
    made: Mapping[FunctionType, Sequence[_Body]]
    open_types: frozenset[FunctionType]
    anything_open: bool
    """Whether values of data types come from outside that contain functions."""

    @classmethod
    def of(cls, module: ModuleOp) -> _FunctionValues:
        """The function values of a module."""
        functions = functions_by_name(module)
        made: dict[FunctionType, list[_Body]] = {}
        for op in module.walk():
            if isinstance(op, graph.LambdaOp):
                made.setdefault(_value_type(op), []).append(op)
            elif isinstance(op, graph.FunctionOp | graph.ClosureOp):
                if (body := functions.get(op.callee.root_reference.data)) is not None:
                    made.setdefault(_value_type(op), []).append(body)
        outside = [part for type in _types_from_outside(module) for part in types_inside(type)]
        open_types = frozenset(
            cast(FunctionType, without_sizes(type)) for type in outside if isinstance(type, FunctionType)
        )
        anything = any(isinstance(type, adt.DataType) for type in outside) and any(
            isinstance(part, FunctionType) for part in _types_in_data(module)
        )
        return cls(functions, made, open_types, anything)

    def callees(self, call: graph.CallOp | func.CallOp) -> Sequence[_Body] | None:
        """The functions that a call may reach; None where it may be any."""
        if call.callee is not None:
            target = self.functions.get(call.callee.root_reference.data)
            return None if target is None else [target]
        assert isinstance(call, graph.CallOp) and call.function is not None
        if (known := self._function_of(call.function)) is not None:
            return known
        type = cast(FunctionType, without_sizes(call.function.type))
        if self.anything_open or any(_may_be(type, each) for each in self.open_types):
            return None
        return [body for other, bodies in self.made.items() if _may_be(type, other) for body in bodies]

    def _function_of(self, value: SSAValue) -> Sequence[_Body] | None:
        """
        The body of the only function that a value can be; empty for a constructor; None if it is not known.
        """
        owner = value.owner
        if isinstance(owner, Block):
            around = owner.parent_op()
            return [around] if isinstance(around, graph.LambdaOp) and around.itself is value else None
        if isinstance(owner, graph.LambdaOp):
            return [owner]
        if isinstance(owner, graph.FunctionOp) and owner.callee.nested_references.data:
            return []
        if isinstance(owner, graph.FunctionOp | graph.ClosureOp):
            target = self.functions.get(owner.callee.root_reference.data)
            return None if target is None else [target]
        return None


def _types_from_outside(module: ModuleOp) -> Iterator[Attribute]:
    """The types of the values from outside: arguments of public functions, results of unknown ones."""
    for op in module.walk():
        if isinstance(op, FuncOp):
            is_public = op.sym_visibility is None or op.sym_visibility.data == "public"
            yield from op.function_type.inputs.data if is_public else ()
            yield from op.function_type.outputs.data if op.is_declaration else ()
        elif isinstance(op, graph.HostCallOp):
            yield from op.result_types


def _types_in_data(module: ModuleOp) -> Iterator[Attribute]:
    """All types in the fields of the module's data types."""
    for op in module.walk():
        if isinstance(op, adt.ConstructorOp):
            for field in op.fields:
                yield from types_inside(field)


def _may_be(a: FunctionType, b: FunctionType) -> bool:
    """Whether one function value can have both types; one of them can have type variables."""
    if is_polymorphic(a) or is_polymorphic(b):
        return len(a.inputs) == len(b.inputs) and len(a.outputs) == len(b.outputs)
    return a == b


def _value_type(op: graph.LambdaOp | graph.FunctionOp | graph.ClosureOp) -> FunctionType:
    return cast(FunctionType, without_sizes(op.result.type))
