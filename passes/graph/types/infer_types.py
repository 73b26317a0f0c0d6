"""`infer-types`: holes get the types that the rest of the program forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.dialects.incomplete import has_holes
from stepwell.dialects.type_variables import params_of
from stepwell.passes.analysis.call_graph import call_graph, functions_by_name
from stepwell.passes.analysis.untyped_values import incomplete_types
from stepwell.passes.base import Pass
from stepwell.passes.context import count
from stepwell.passes.graph.types.function_uses import Signature, signature_of
from stepwell.passes.graph.types.generalization import generalize
from stepwell.passes.graph.types.let_polymorphism import make_functions, open_lambdas
from stepwell.passes.graph.types.type_solver import TypeSolver
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class InferTypesPass(Pass):
    """
    Replace holes by the types that constraints of ops, calls and signatures force, forward and backward.

    ```mlir
    %y = graph.add %x, %h : (tensor<10x20xf32>, !graph.hole<"h">) -> !graph.hole<"y">
    %z = graph.neg %h : !graph.hole<"h"> -> tensor<10x1x1xf32>
    // ->
    %y = graph.add %x, %h : (tensor<10x20xf32>, tensor<10x1x1xf32>) -> tensor<10x10x20xf32>
    %z = graph.neg %h : tensor<10x1x1xf32> -> tensor<10x1x1xf32>
    ```
    Callees come first, mutually recursive functions together; a use of a polymorphic function gets the type
    arguments that it lacks. Types that private functions leave open become type variables `T0`, `T1`, …; a
    closed lambda that is used at two types becomes such a function. A module without holes is unchanged.
    Class: exact. Fails for types that nothing
    forces (`incomplete-types`) and where two are forced (`type-mismatch`).
    Source: unification with classes (Huet 1976) over the type relations of Relay (Roesch et al. 2018).
    """

    name = "infer-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(True for _ in open_lambdas(op)):
            try:
                _infer_module(op.clone())
            except StepwellError as error:
                if error.code != "type-mismatch":
                    raise
                make_functions(op)  # at two types: a function has types of its own for each use
        _infer_module(op)


def _infer_module(op: ModuleOp) -> None:
    """Infer the types of a module. Raises: StepwellError."""
    functions = functions_by_name(op)
    others = [each for each in op.ops if not isinstance(each, FuncOp) and has_holes(each)]
    if (error := incomplete_types(others)) is not None:
        raise error  # no relation gives the types of the fields of a definition
    made_polymorphic: set[str] = set()
    graph = call_graph(op)
    for group in _groups(graph):
        members = [functions[name] for name in group]
        callees = {callee for name in group for callee in graph[name]}
        if any(map(has_holes, members)) or not made_polymorphic.isdisjoint(callees):
            before = [params_of(function) for function in members]
            _infer(members, functions)
            changed = zip(group, members, before, strict=True)
            made_polymorphic.update(name for name, f, params in changed if params_of(f) != params)


def _infer(group: Sequence[FuncOp], functions: Mapping[str, FuncOp]) -> None:
    """Infer the types of functions that call each other. Raises: StepwellError."""

    def signature(op: Operation) -> Signature | None:
        return signature_of(op, functions)

    solver = TypeSolver(group, signature)
    solver.solve()
    generalize(solver)
    solver.write_types()
    count("relations", solver.evaluations)
    if (error := incomplete_types(group)) is not None:
        raise error


def _groups(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """
    The groups of mutually recursive functions, callees first.

    Source: Tarjan, "Depth-first search and linear graph algorithms" (1972), with a stack of its own.
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_names: list[str] = []
    groups: list[list[str]] = []
    for root in graph:
        path = [(root, iter(graph[root]))] if root not in order else []
        while path:
            name, callees = path[-1]
            if name not in order:
                order[name] = lowest[name] = len(order)
                open_names.append(name)
            if (callee := next(callees, None)) is not None:
                if callee not in order:
                    path.append((callee, iter(graph[callee])))
                elif callee in open_names:
                    lowest[name] = min(lowest[name], order[callee])
                continue
            path.pop()
            if path:
                lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
            if lowest[name] == order[name]:
                place = open_names.index(name)
                groups.append(open_names[place:])
                del open_names[place:]
    return groups
