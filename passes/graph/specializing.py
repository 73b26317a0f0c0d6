"""Specialization: a function is copied for each set of known functions among its arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects.locations import adopt_location
from stepwell.passes.analysis.call_graph import call_graph, functions_by_name, reached_from
from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.passes.base import functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.instances import MOST_INSTANCES
from stepwell.passes.graph.lambda_lifting import lift_lambdas

KnownFunction: TypeAlias = graph.ClosureOp | graph.FunctionOp
_Key: TypeAlias = tuple[str, tuple[tuple[int, str], ...]]
"""A function, and the functions that arguments are known to be, by number."""


def specialize_functions(module: ModuleOp, entries: Iterable[FuncOp]) -> None:
    """Copy functions for known arguments that are functions, in what some functions of a module reach."""
    names = reached_from([each.sym_name.data for each in entries], call_graph(module))
    functions = [function for function in functions_of(module) if function.sym_name.data in names]
    _Specialization(module, [*functions, *lift_lambdas(module, functions)]).run()


class _Specialization:
    """The copies of a module's functions that have been asked for."""

    def __init__(self, module: ModuleOp, waiting: Sequence[FuncOp]):
        self._module, self._functions = module, functions_by_name(module)
        self._waiting = list(waiting)
        self._names: dict[_Key, str] = {}
        self._origin: dict[str, str] = {}
        self._copies = Counter[str]()

    def run(self) -> None:
        """Copy the callees of the waiting functions, and those of the copies."""
        while self._waiting:
            function = self._waiting.pop()
            calls = [op for op in function.walk() if isinstance(op, graph.CallOp | CallOp)]
            while calls:
                if (made := self._replaced(calls.pop())) is not None:
                    calls.append(made)
            erase_dead_ops(function.body.block)

    def _replaced(self, op: graph.CallOp | CallOp) -> graph.CallOp | None:
        """The new call where a call is of a known function, or is given one; None for others."""
        if isinstance(op, CallOp):
            made = graph.CallOp(op.callee.string_value(), op.arguments, op.result_types)
        elif op.function is not None:
            value = known_function(op.function)
            if value is None:
                return None
            made = graph.CallOp(name_of(value), [*captured_by(value), *op.arguments], op.result_types)
        else:
            assert op.callee is not None
            values = ((n, known_function(each)) for n, each in enumerate(op.arguments))
            known = {n: value for n, value in values if value is not None}
            callee = self._functions.get(op.callee.string_value())
            if not known or callee is None or callee.is_declaration:
                return None
            name = self._copy(callee, known, op)
            if name is None:
                return None
            kept = [each for n, each in enumerate(op.arguments) if n not in known]
            captured = [each for value in known.values() for each in captured_by(value)]
            made = graph.CallOp(name, [*kept, *captured], op.result_types)
        adopt_location(made, op.location)
        Rewriter.replace_op(op, made)
        return made

    def _copy(self, function: FuncOp, known: dict[int, KnownFunction], at: Operation) -> str | None:
        """The name of the copy of a function for known arguments; None where there are too many."""
        name = function.sym_name.data
        key = name, tuple((number, name_of(value)) for number, value in known.items())
        if key in self._names:
            return self._names[key]
        origin = self._origin.get(name, name)
        if self._copies[origin] >= MOST_INSTANCES:
            remark(at, f"@{origin} is given ever other functions: there are {MOST_INSTANCES} copies of it")
            return None
        self._copies[origin] += 1
        label = ".".join([name, *(name_of(value) for value in known.values())])
        unique, number = label, 1
        while unique in self._functions:
            unique, number = f"{label}.{number}", number + 1
        self._names[key], self._origin[unique] = unique, origin
        made = self._functions[unique] = _with_known(function, known, unique)
        self._module.body.block.insert_op_after(made, function)
        self._waiting.append(made)
        count("functions copied")
        return unique


def _with_known(function: FuncOp, known: dict[int, KnownFunction], name: str) -> FuncOp:
    """A copy of a function with closures in the places of known arguments; captured values are the last."""
    made = function.clone()
    made.properties["sym_name"] = StringAttr(name)
    made.properties["sym_visibility"] = StringAttr("private")
    for given in ("arg_attrs", "res_attrs"):
        made.properties.pop(given, None)
    block = made.body.block
    arguments = list(block.args)
    ops: list[Operation] = []
    for number, value in known.items():
        captured: list[SSAValue] = []
        for each in captured_by(value):
            captured.append(block.insert_arg(each.type, len(block.args)))
            captured[-1].name_hint = each.name_hint
        type = cast(FunctionType, arguments[number].type)
        closure = graph.ClosureOp(name_of(value), captured, type)
        if isinstance(value, graph.FunctionOp):
            closure = graph.FunctionOp(name_of(value), type)
        arguments[number].replace_all_uses_with(closure.result)
        block.erase_arg(arguments[number])
        ops.append(closure)
    assert block.first_op is not None
    block.insert_ops_before(ops, block.first_op)
    outputs = made.function_type.outputs.data
    made.properties["function_type"] = FunctionType.from_lists(block.arg_types, outputs)
    return made


def known_function(value: SSAValue) -> KnownFunction | None:
    """The op of a function value that is a function of the module; None for others."""
    owner = value.owner
    if isinstance(owner, Block) or not isinstance(owner, graph.ClosureOp | graph.FunctionOp):
        return None
    return None if owner.callee.nested_references.data else owner


def name_of(value: KnownFunction) -> str:
    return value.callee.string_value()


def captured_by(value: KnownFunction) -> Sequence[SSAValue]:
    return value.captured if isinstance(value, graph.ClosureOp) else ()
