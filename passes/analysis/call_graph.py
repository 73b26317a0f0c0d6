"""The call graph of a module: references by calls, as values, in closures and as arguments."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation


def functions_by_name(module: ModuleOp) -> dict[str, FuncOp]:
    """Maps the symbol names of a module's functions to the functions."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def call_graph(module: ModuleOp) -> dict[str, list[str]]:
    """Maps each function to the functions that its ops reference (calls, values), by first reference."""
    functions = functions_by_name(module)
    return {name: _mentioned(function, functions) for name, function in functions.items()}


@dataclass(frozen=True)
class CallGraph:
    """The call graph of a module; printed, a line for each function, with a mark for those on cycles."""

    name: ClassVar[str] = "call-graph"

    callees: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, op: Operation) -> CallGraph:
        """The call graph of a module."""
        return cls(call_graph(op) if isinstance(op, ModuleOp) else {})

    def __str__(self) -> str:
        recursive = recursive_functions(self.callees)
        return "".join(
            f"@{name}{' (recursive)' if name in recursive else ''} calls "
            f"{', '.join(f'@{callee}' for callee in callees) or 'nothing'}\n"
            for name, callees in self.callees.items()
        )


def _mentioned(function: FuncOp, functions: Mapping[str, FuncOp]) -> list[str]:
    found = (name for op in function.body.walk() for name in symbols_of(op))
    return list(dict.fromkeys(name for name in found if name in functions))


def symbols_of(op: Operation) -> Iterable[str]:
    """The symbols that an op names: of a nested one, the outermost."""
    for attribute in (*op.properties.values(), *op.attributes.values()):
        if isinstance(attribute, SymbolRefAttr):
            yield attribute.root_reference.data


def reached_from(entries: Iterable[str], graph: Mapping[str, Iterable[str]]) -> set[str]:
    """The transitive closure of `graph` from some entry functions, which are included."""
    reached: set[str] = set()
    waiting = list(entries)
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            waiting += graph.get(name, ())
    return reached


def recursive_functions(graph: Mapping[str, Iterable[str]]) -> set[str]:
    """The functions on cycles of the call graph."""
    return {name for name, callees in graph.items() if name in reached_from(callees, graph)}


def cycle_of(name: str, graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The shortest chain of functions from one back to itself, with both ends; empty without recursion."""
    chains = deque([[name]])
    seen: set[str] = set()
    while chains:
        chain = chains.popleft()
        for callee in graph.get(chain[-1], ()):
            if callee == name:
                return [*chain, name]
            if callee not in seen:
                seen.add(callee)
                chains.append([*chain, callee])
    return []


def mention_of(function: FuncOp, name: str) -> Operation:
    """The first op of a function that names another function. Raises: StopIteration when none does."""
    return next(op for op in function.body.walk() if name in symbols_of(op))
