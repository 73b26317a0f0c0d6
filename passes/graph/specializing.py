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
from stepwell.passes.analysis.function_names import unused_name
from stepwell.passes.base import functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.instances import MOST_INSTANCES
from stepwell.passes.graph.lambda_lifting import lift_lambdas

KnownFunction: TypeAlias = graph.ClosureOp | graph.FunctionOp
_Key: TypeAlias = tuple[str, tuple[tuple[int, "_Shape"], ...]]
"""A function, and what arguments are known to be, by number."""
_Shape: TypeAlias = tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
"""The name of each function in a value, with those that it captures: positions, and numbers in this list."""


class _Known:
    """
    A function value with the known functions that it captures, and these capture, as far as a limit goes.

    Copies are made for the whole of it: one for each function inside would make as many copies of a copy.
    """

    def __init__(self, value: KnownFunction, most: int):
        """Args: `most` bounds the number of functions, and the depth of their nesting."""
        self.functions: list[tuple[KnownFunction, dict[int, int]]] = [(value, {})]
        depths = [1]
        for at, (function, inside) in enumerate(self.functions):  # which grows
            for position, each in enumerate(captured_by(function)):
                captured = known_function(each)
                if captured is not None and len(self.functions) < most:
                    inside[position] = len(self.functions)
                    self.functions.append((captured, {}))
                    depths.append(depths[at] + 1)
        self.depth = max(depths)

    @property
    def shape(self) -> _Shape:
        """The functions by name, without what they capture besides."""
        return tuple((name_of(value), tuple(inside.items())) for value, inside in self.functions)

    @property
    def captured(self) -> Sequence[SSAValue]:
        """The captured values that are no known functions, in order."""
        return [
            each
            for value, inside in self.functions
            for position, each in enumerate(captured_by(value))
            if position not in inside
        ]


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
            found = {n: value for n, value in values if value is not None}
            callee = self._functions.get(op.callee.string_value())
            if not found or callee is None or callee.is_declaration:
                return None
            left = MOST_INSTANCES - self._copies[self._origin_of(callee)]
            known = {n: _Known(value, max(1, left)) for n, value in found.items()}
            name = self._copy(callee, known, op)
            if name is None:
                return None
            kept = [each for n, each in enumerate(op.arguments) if n not in known]
            captured = [each for value in known.values() for each in value.captured]
            made = graph.CallOp(name, [*kept, *captured], op.result_types)
        adopt_location(made, op.location)
        Rewriter.replace_op(op, made)
        return made

    def _origin_of(self, function: FuncOp) -> str:
        name = function.sym_name.data
        return self._origin.get(name, name)

    def _copy(self, function: FuncOp, known: dict[int, _Known], at: Operation) -> str | None:
        """The name of the copy of a function for known arguments; None where there are too many."""
        name = function.sym_name.data
        key = name, tuple((number, value.shape) for number, value in known.items())
        if key in self._names:
            return self._names[key]
        origin = self._origin_of(function)
        if self._copies[origin] >= MOST_INSTANCES:
            remark(
                at, f"@{origin} is not copied again for other functions: {MOST_INSTANCES} copies are the most"
            )
            return None
        self._copies[origin] += max(value.depth for value in known.values())
        inside = [each for value in known.values() for each, _ in value.functions]
        unique = unused_name(".".join([name, *map(name_of, inside)]), self._functions)
        self._names[key], self._origin[unique] = unique, origin
        made = self._functions[unique] = _with_known(function, known, unique)
        self._module.body.block.insert_op_after(made, function)
        self._waiting.append(made)
        count("functions copied")
        return unique


def _with_known(function: FuncOp, known: dict[int, _Known], name: str) -> FuncOp:
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
        closures = _closures(value, block, cast(FunctionType, arguments[number].type))
        arguments[number].replace_all_uses_with(closures[-1].results[0])
        block.erase_arg(arguments[number])
        ops += closures
    assert block.first_op is not None
    block.insert_ops_before(ops, block.first_op)
    outputs = made.function_type.outputs.data
    made.properties["function_type"] = FunctionType.from_lists(block.arg_types, outputs)
    return made


def _closures(known: _Known, block: Block, outer: FunctionType) -> Sequence[Operation]:
    """The ops of a function value, its own last, of a type; the block gets arguments for what it captures."""
    captured: list[list[SSAValue | None]] = []
    for value, inside in known.functions:
        row: list[SSAValue | None] = []
        for position, each in enumerate(captured_by(value)):
            row.append(None if position in inside else block.insert_arg(each.type, len(block.args)))
            if (argument := row[-1]) is not None:
                argument.name_hint = each.name_hint
        captured.append(row)
    made: dict[int, KnownFunction] = {}
    for number in reversed(range(len(known.functions))):
        value, inside = known.functions[number]
        type = value.result.type if number else outer
        values = [
            made[inside[position]].result if each is None else each
            for position, each in enumerate(captured[number])
        ]
        made[number] = (
            graph.FunctionOp(name_of(value), type)
            if isinstance(value, graph.FunctionOp)
            else graph.ClosureOp(name_of(value), values, type)
        )
    return list(made.values())


def known_function(value: SSAValue) -> KnownFunction | None:
    """The op that makes a function of the module a value; None for other values."""
    owner = value.owner
    if isinstance(owner, Block) or not isinstance(owner, graph.ClosureOp | graph.FunctionOp):
        return None
    return None if owner.callee.nested_references.data else owner


def name_of(value: KnownFunction) -> str:
    return value.callee.string_value()


def captured_by(value: KnownFunction) -> Sequence[SSAValue]:
    return value.captured if isinstance(value, graph.ClosureOp) else ()
