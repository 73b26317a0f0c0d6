"""Lifting of lambdas: their bodies become functions, with captured values as the first arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.locations import adopt_location
from stepwell.passes.analysis.rename_symbols import missing_symbols
from stepwell.passes.analysis.symbol_names import SymbolNames
from stepwell.passes.context import count
from stepwell.runtime.dims import Dim


def lift_lambdas(module: ModuleOp, functions: Iterable[FuncOp]) -> list[FuncOp]:
    """Move the bodies of the lambdas in functions of a module into functions, which it returns."""
    names, made = SymbolNames(module), list[FuncOp]()
    for function in functions:
        lambdas = [each for each in function.walk() if isinstance(each, graph.LambdaOp)]
        for each in reversed(lambdas):  # inner ones first: outer ones capture what they do
            made.append(lift_lambda(each, names.numbered(f"{function.sym_name.data}_lambda")))
            module.body.block.insert_op_after(made[-1], function)
            count("lambdas lifted")
    return made


def lift_lambda(op: graph.LambdaOp, name: str) -> FuncOp:
    """The function of a lambda, whose calls name it; for other uses a closure replaces the lambda."""
    captured = list(captured_values(op.body))
    type, itself = op.result.type, op.itself
    block = op.body.block
    missing = missing_symbols([op.body], [*(value.type for value in captured), *block.arg_types])
    if missing:
        sizes = graph.ExtentsOp([Dim.symbol(name) for name in missing])
        Rewriter.insert_op(sizes, InsertPoint.before(op))
        adopt_location(sizes, op.location)
        captured.append(sizes.result)
    arguments = [block.insert_arg(value.type, place) for place, value in enumerate(captured)]
    for argument, value in zip(arguments, captured, strict=True):
        argument.name_hint = value.name_hint
        value.replace_uses_with_if(argument, lambda use: _is_inside(use.operation, op))
    if itself is not None:
        _call_by_name(itself, name, arguments)
        if itself.uses and block.first_op is not None:
            own = graph.ClosureOp(name, arguments, type)
            block.insert_op_before(own, block.first_op)
            itself.replace_all_uses_with(own.result)
        block.erase_arg(itself)
    if missing and block.first_op is not None:
        Rewriter.insert_op(graph.BindSizesOp(arguments[-1], missing), InsertPoint.at_start(block))
    last = yield_of(op.body)
    Rewriter.replace_op(last, ReturnOp(*last.operands))
    body = Region()
    op.body.move_blocks(body)
    types = FunctionType.from_lists([argument.type for argument in block.args], list(type.outputs))
    function = FuncOp(name, types, body, visibility="private")
    adopt_location(function, op.location)
    closure = graph.ClosureOp(name, captured, type)
    adopt_location(closure, op.location)
    Rewriter.replace_op(op, closure)
    _call_by_name(closure.result, name, captured)
    if not closure.result.uses:
        Rewriter.erase_op(closure)
    return function


def _is_inside(op: Operation, outer: graph.LambdaOp) -> bool:
    at: Operation | None = op
    while at is not None and at is not outer:
        at = at.parent_op()
    return at is outer


def _call_by_name(function: SSAValue, name: str, captured: Sequence[SSAValue]) -> None:
    """Replace the calls of a function value by calls of the function, with what it captured."""
    for call in [use.operation for use in function.uses if _is_call_of(use.operation, function)]:
        assert isinstance(call, graph.CallOp)
        made = graph.CallOp(name, [*captured, *call.arguments], call.result_types)
        adopt_location(made, call.location)
        Rewriter.replace_op(call, made)


def _is_call_of(op: Operation, function: SSAValue) -> bool:
    return isinstance(op, graph.CallOp) and op.function is function and function not in op.arguments
