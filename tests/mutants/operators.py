"""
Mutation operators: each finds the places of a source where it makes a small fault, by the syntax tree.

Comparisons move by one or turn around, numbers grow by one, conditions and verifiers go, operands change
places, checks for NaN see none, alignments double. Annotations, docstrings and messages stay as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, order=True)
class Mutation:
    """A fault: the bytes from `start` to `end` of a source become `text`."""

    start: int
    end: int
    text: str
    operator: str
    line: int

    def apply(self, source: str) -> str:
        """The source with the fault."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


class Source:
    """The text of a file, and where the nodes of its tree are in it."""

    def __init__(self, text: str):
        self.tree = ast.parse(text)
        self._data = text.encode()
        self._lines = [0]
        for line in self._data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: Any) -> int:
        """The first byte of a node."""
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: Any) -> int:
        """The byte after a node."""
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.between(self.start(node), self.end(node))

    def between(self, start: int, end: int) -> str:
        """A part of the text."""
        return self._data[start:end].decode()

    def replaced(self, node: Any, text: str, operator: str) -> Mutation:
        """A mutation of a whole node."""
        return Mutation(self.start(node), self.end(node), text, operator, node.lineno)


Operator: TypeAlias = Callable[[Source, ast.AST], Iterator[Mutation]]

_COMPARISONS: Mapping[str, str] = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
}
_ORDERED: Mapping[str, str] = {"une": "one", "uno": "one", "ueq": "oeq", "ult": "olt", "ule": "ole"} | {
    "ugt": "ogt",
    "uge": "oge",
}
"""Comparisons of floats that are true for NaN, and those that are not."""
_ORDERED_NAMES: Mapping[str, str] = {
    "MaximumfOp": "MaxnumfOp",
    "MinimumfOp": "MinnumfOp",
    "maximum": "fmax",
    "minimum": "fmin",
}
_VERIFIERS = re.compile(r"_?(verify|check|expect|require|ensure)\w*")
_ALIGNMENTS = re.compile(r"\w*align(ment|_bytes)?", re.IGNORECASE)
_TEXTS = ("cast", "TypeVar", "remark", "StepwellError", "VerifyException")
"""Calls whose arguments are types and messages."""
_ORDERLESS = ("isinstance", "max", "min", "gcd", "lcm")
"""Calls whose arguments may change places, or cannot."""
_ONE_SIDED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.MatMult, ast.Pow)


def comparison(source: Source, node: ast.AST) -> Iterator[Mutation]:
    """`<` becomes `<=`, `==` becomes `!=`, and so on; NaN is what differs from itself."""
    if not isinstance(node, ast.Compare):
        return
    sides = [node.left, *node.comparators]
    for left, right in zip(sides, sides[1:], strict=False):
        start, end = source.end(left), source.start(right)
        between = source.between(start, end)
        found = re.search(r"is\s+not|not\s+in|[<>=!]=?|is|in", between)
        if found is None:
            continue
        text = between[: found.start()] + _COMPARISONS[" ".join(found[0].split())] + between[found.end() :]
        yield Mutation(start, end, text, "comparison", node.lineno)


def off_by_one(source: Source, node: ast.AST) -> Iterator[Mutation]:
    """An integer is one greater."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield source.replaced(node, str(node.value + 1), "off by one")


def condition(source: Source, node: ast.AST) -> Iterator[Mutation]:
    """A part of `and` and `or` is dropped, or `not`; a guard never holds, a choice is always the first."""
    if isinstance(node, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) else " or "
        for dropped in node.values:
            kept = [f"({source.text(value)})" for value in node.values if value is not dropped]
            made = source.replaced(node, word.join(kept), "condition")
            yield Mutation(made.start, made.end, f"({made.text})", made.operator, dropped.lineno)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield source.replaced(node, f"bool({source.text(node.operand)})", "condition")
    elif isinstance(node, ast.If) and not _raises(node) and not _binds(node.test):
        yield source.replaced(node.test, "False", "condition")
    elif isinstance(node, ast.IfExp) and not _binds(node.test):
        yield source.replaced(node.test, "True", "condition")
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            if not _binds(test):
                yield source.replaced(test, "True", "condition")


def operands(source: Source, node: ast.AST) -> Iterator[Mutation]:
    """Both sides of an operator change places, and the first two arguments of a call, where it matters."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ONE_SIDED):
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr):
            return  # a format
        pair = (node.left, node.right)
    elif isinstance(node, ast.Call) and len(node.args) > 1 and _last_name(node.func) not in _ORDERLESS:
        pair = (node.args[0], node.args[1])
        if not all(isinstance(side, ast.Name | ast.Attribute | ast.Subscript) for side in pair):
            return
    else:
        return
    left, right = (source.text(side) for side in pair)
    if left != right:
        middle = source.between(source.end(pair[0]), source.start(pair[1]))
        swapped = f"({right}){middle}({left})"
        yield Mutation(source.start(pair[0]), source.end(pair[1]), swapped, "operands", node.lineno)


def verifier(source: Source, node: ast.AST) -> Iterator[Mutation]:
    """A check that raises never does; a function that checks is not called."""
    if isinstance(node, ast.If) and _raises(node) and not _binds(node.test):
        yield source.replaced(node.test, "False", "verifier")
    elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
        if _VERIFIERS.fullmatch(_last_name(call.func)):
            yield source.replaced(node, "pass", "verifier")


def nan_check(source: Source, node: ast.AST) -> Iterator[Mutation]:
    """A check for NaN or infinity finds none; a comparison or an extremum forgets NaN."""
    if isinstance(node, ast.Call) and _last_name(node.func) in ("isnan", "isinf", "isfinite"):
        nothing = "| True" if _last_name(node.func) == "isfinite" else "& False"
        yield source.replaced(node, f"({source.text(node)} {nothing})", "nan check")
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _ORDERED:
        yield source.replaced(node, f'"{_ORDERED[node.value]}"', "nan check")
    elif isinstance(node, ast.Attribute) and node.attr in _ORDERED_NAMES:
        if node.attr[0].isupper() or source.text(node.value) in ("np", "numpy", "_numpy"):
            text = f"{source.text(node.value)}.{_ORDERED_NAMES[node.attr]}"
            yield source.replaced(node, text, "nan check")


def alignment(source: Source, node: ast.AST) -> Iterator[Mutation]:
    """An alignment is twice what it was."""
    if isinstance(node, ast.keyword):
        name, value = node.arg or "", node.value
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name, value = node.targets[0].id, node.value
    elif isinstance(node, ast.Call):
        for argument in node.args:
            if isinstance(argument, ast.Name) and _ALIGNMENTS.fullmatch(argument.id):
                yield source.replaced(argument, f"2 * {argument.id}", "alignment")
        return
    else:
        return
    is_number = isinstance(value, ast.Constant) and type(value.value) is int
    if _ALIGNMENTS.fullmatch(name) and (is_number or isinstance(value, ast.Name | ast.Call | ast.Attribute)):
        yield source.replaced(value, f"2 * ({source.text(value)})", "alignment")


OPERATORS: Mapping[str, Operator] = {
    "comparison": comparison,
    "off by one": off_by_one,
    "condition": condition,
    "operands": operands,
    "verifier": verifier,
    "nan check": nan_check,
    "alignment": alignment,
}
"""The operators by name."""


def mutations(text: str) -> list[Mutation]:
    """All mutations of a source, in the order of the text, and none twice."""
    source = Source(text)
    nodes = list(_mutable(source.tree))
    return sorted({m for operator in OPERATORS.values() for node in nodes for m in operator(source, node)})


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that may be mutated, without annotations, docstrings, logging and texts."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_fixed(child):
                yield from _mutable(child)


def _is_fixed(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert):
        return True
    if isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
        return True
    call = node.value if isinstance(node, ast.Expr) else node
    return isinstance(call, ast.Call) and (
        "_LOG" in ast.unparse(call.func) or _last_name(call.func) in _TEXTS
    )


def _raises(node: ast.If) -> bool:
    return any(isinstance(statement, ast.Raise) for statement in node.body)


def _binds(node: ast.AST) -> bool:
    """Whether names get values inside an expression, which would be missing after it."""
    return any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node))


def _last_name(node: ast.AST) -> str:
    """`c` of `a.b.c`; nothing for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_inside_function(text: str, line: int) -> bool:
    """Whether a line belongs to the body of a function, which runs when that is called."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.body[0].lineno <= line <= (node.end_lineno or 0):
                return True
    return False
