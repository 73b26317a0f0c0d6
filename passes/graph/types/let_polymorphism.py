"""Closed lambdas of unknown types that are used several times, as functions with types of each use."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.incomplete import has_hole
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.type_variables import HoleType
from stepwell.passes.analysis.symbol_names import SymbolNames
from stepwell.passes.base import functions_of
from stepwell.passes.context import count
from stepwell.passes.graph.lambda_lifting import lift_lambda


def open_lambdas(module: ModuleOp) -> Iterator[tuple[str, graph.LambdaOp]]:
    """The closed lambdas of unknown types with several uses, each with the name of the function around."""
    for function in functions_of(module):
        for op in function.walk():
            if isinstance(op, graph.LambdaOp) and has_hole(op.result.type) and not captured_values(op.body):
                if len(list(op.result.uses)) > 1:
                    yield function.sym_name.data, op


def make_functions(module: ModuleOp) -> None:
    """
    Make private functions of closed lambdas whose types are unknown, so that each use has its own types.

    Source: Milner, "A theory of type polymorphism in programming" (1978): what `let` binds is generalized.
    """
    names, made = SymbolNames(module), set[str]()
    for outer, op in list(open_lambdas(module)):
        made.add(name := names.numbered(f"{outer}_lambda"))
        module.body.block.add_op(lift_lambda(op, name))
        count("lambdas with type variables")
    holes = 0
    for op in [each for each in module.walk() if isinstance(each, graph.ClosureOp)]:
        if op.callee.string_value() not in made or op.captured:  # sizes of the function around
            continue
        for use in list(op.result.uses):
            value = graph.FunctionOp(op.callee.string_value(), FunctionType.from_lists([], []))
            set_type(value.result, HoleType(f"use {holes}"))
            adopt_location(value, op.location)
            Rewriter.insert_op(value, InsertPoint.before(use.operation))
            use.operation.operands[use.index] = value.result
            holes += 1
        Rewriter.erase_op(op)
