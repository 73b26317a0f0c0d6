"""Calls of functions, which have no form below level 1, as errors with advice."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TupleType
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.passes.analysis.call_graph import (
    CallGraph,
    cycle_of,
    functions_by_name,
    mention_of,
    reached_from,
)
from stepwell.passes.analysis.manager import analysis
from stepwell.patterns.groups import blocks_of
from stepwell.runtime.errors import StepwellError

_INLINE = (
    "`stepwell-opt FILE -p inline -o inlined.mlir` writes the program without them, for `stepwell compile`"
)


def refuse_calls(module: ModuleOp) -> None:
    """
    Require that what `@main` reaches calls kernels only, and that no branch or loop gives a tuple.

    Raises: StepwellError `unsupported-op`, for recursion with the functions of the cycle.
    """
    functions = {n: f for n, f in functions_by_name(module).items() if not is_kernel(f)}
    errors = {name: _error_in(function, functions) for name, function in functions.items()}
    if not any(errors.values()):
        return
    calls = analysis(module, CallGraph).callees
    reached = reached_from(["main"], calls) if "main" in functions else set(functions)
    found = [error for name, error in errors.items() if name in reached and error is not None]
    for name in filter(reached.__contains__, functions):
        if cycle := cycle_of(name, calls):
            raise StepwellError(
                "unsupported-op",
                mention_of(functions[name], cycle[1]),
                f"recursion is not compiled yet: {' -> '.join(f'@{n}' for n in cycle)}",
                help="write it as a loop: graph.while or graph.for, Loop in ONNX",
            )
    if found:
        raise found[0]


def _error_in(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> StepwellError | None:
    """The error for the first op of a function that cannot be compiled; None when there is none."""
    for op in (op for block in blocks_of(function) for op in block.ops):
        match op:
            case graph.CallOp() if (value := op.function) is not None:
                known = isinstance(value.owner, graph.LambdaOp | graph.FunctionOp)
                help = _INLINE if known else "call a function by its name, in each branch of a graph.if"
                return _unsupported(op, "a call of a function value", help)
            case graph.CallOp(callee=SymbolRefAttr() as callee) | func.CallOp(callee=callee):
                name = callee.string_value()
                if isinstance(op, graph.CallOp) or name in functions:
                    return _unsupported(
                        op, f"a call of the function @{name}", _help(name, functions.get(name))
                    )
            case graph.ControlFlowOp() if any(isinstance(type, TupleType) for type in op.result_types):
                what = f"a tuple as the result of {op.name}"
                return _unsupported(op, what, "yield its fields, each as a result of its own")
            case _:
                pass
    return None


def _help(name: str, function: func.FuncOp | None) -> str:
    """The advice for a call of a function by its name: `inline`, where that pass would take it."""
    if function is None or function.is_declaration:
        return f"define @{name} in the module"
    kept = "remove `skip_optimization` from it: then " if "skip_optimization" in function.attributes else ""
    return kept + _INLINE


def _unsupported(op: Operation, what: str, help: str) -> StepwellError:
    return StepwellError("unsupported-op", op, f"{what} is not compiled yet", help=help)
