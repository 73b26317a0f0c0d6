"""The loops of a script: kinds and bounds."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from stepwell.frontend.script import language
from stepwell.frontend.script.expressions import Expressions
from stepwell.frontend.script.scope import Contents, Scope
from stepwell.frontend.script.source import Source
from stepwell.frontend.te.expressions import (
    Axis,
    Expr,
    Number,
    Operand,
    Size,
    arithmetic,
    of_integers,
    size_of,
)
from stepwell.runtime.dims import Dim

WORDS: Mapping[object, str] = {
    **{range: "range", language.grid: "grid", language.parallel: "parallel"},
    **{language.vectorized: "vectorized", language.unrolled: "unrolled"},
}


@dataclass(frozen=True)
class Bounds:
    """A loop from 0, and the index that its iterations stand for."""

    name: str
    word: str
    axis: Axis
    """The number of the iteration."""
    index: Expr
    """The index that the name has."""
    extent: Expr | None
    """The number of iterations if it is known at run time only; None for the extent of the axis."""


def loops_of(node: ast.For, source: Source, scope: Scope) -> list[Bounds] | Sequence[Operand]:
    """The loops of a statement, outer to inner; or the numbers of a tuple. Raises: StepwellError."""
    call = node.iter
    word = _word(call, source)
    if not isinstance(call, ast.Call) or word is None or call.keywords:
        raise source.foreign(call, f"`for` over `{ast.unparse(call)}`")
    names = _names(node.target, source)
    expressions = Expressions(source, scope)
    if word == "unrolled" and (numbers := _numbers(call, source, expressions)) is not None:
        if len(names) != 1 or isinstance(node.target, ast.Tuple):
            raise source.error_at("script-syntax", node.target, "a loop over a tuple has one name")
        return numbers
    bounds = [expressions.value(argument) for argument in call.args]
    if word == "grid":
        if len(names) != len(bounds) or not isinstance(node.target, ast.Tuple):
            message = f"grid has {len(bounds)} extents, found {len(names)} names"
            raise source.error_at("script-syntax", node.target, message)
        return [
            _loop(name, word, [0, extent, 1], source, node)
            for name, extent in zip(names, bounds, strict=True)
        ]
    if not 1 <= len(bounds) <= 3 or len(names) != 1 or isinstance(node.target, ast.Tuple):
        raise source.error_at("script-syntax", node, f"{word} has one name, and 1 to 3 bounds")
    given = [0, *bounds, 1] if len(bounds) == 1 else [*bounds, 1][:3]
    return [_loop(names[0], word, given, source, node)]


def _word(node: ast.expr, source: Source) -> str | None:
    """The kind of a loop, by the function in its head."""
    found = source.resolved(node.func) if isinstance(node, ast.Call) else None
    return next((name for word, name in WORDS.items() if word is found), None)


def _names(target: ast.expr, source: Source) -> list[str]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    if len(names) < len(parts) or len(set(names)) < len(names):
        raise source.error_at("script-syntax", target, "the indices of loops are names, each once")
    return names


def _numbers(node: ast.Call, source: Source, expressions: Expressions) -> Sequence[Operand] | None:
    """The numbers of a tuple that is written out, or captured; None for bounds."""
    match node.args:
        case [ast.Tuple(elts=parts)]:
            return [expressions.value(part) for part in parts]
        case [part] if isinstance(found := source.resolved(part), tuple):
            numbers = cast("tuple[object, ...]", found)
            known = [number for number in numbers if isinstance(number, bool | int | float)]
            if len(known) < len(numbers):
                raise source.error_at("te-type", part, "the tuple has numbers alone")
            return known
        case _:
            return None


def _loop(name: str, word: str, bounds: Sequence[Operand], source: Source, node: ast.AST) -> Bounds:
    """A loop of three bounds: start, end, and step."""
    low, high, step = bounds
    if not isinstance(step, int) or isinstance(step, bool) or step == 0:
        raise source.error_at(
            "script-syntax", node, f"the step of {name} is a number that is not 0, found {step}"
        )
    for bound in (low, high):
        dtype = bound.dtype if isinstance(bound, Expr) else type(bound).__name__
        if dtype not in ("int", "int64"):
            raise source.error_at("te-type", node, f"the bounds of {name} are int64, found {dtype}")
    first, end = (_dim(bound) for bound in (low, high))
    if first is not None and end is not None:
        span = (end - first if step > 0 else first - end).ceildiv(abs(step))
        span = Dim.of(max(0, span.value)) if span.is_static else span
        if step == 1:
            axis = Axis(name, span, low=first if first != 0 else None)
            return Bounds(name, word, axis, axis, None)
        axis = Axis(name, span)
        return Bounds(name, word, axis, arithmetic("add", arithmetic("multiply", axis, step), low), None)
    span_of = arithmetic("subtract", high, low) if step > 0 else arithmetic("subtract", low, high)
    if abs(step) != 1:
        span_of = of_integers("floordiv", arithmetic("add", span_of, abs(step) - 1), abs(step))
    axis = Axis(name, Dim.symbol("?"))
    index = axis if step == 1 and low == 0 else arithmetic("add", arithmetic("multiply", axis, step), low)
    return Bounds(name, word, axis, index, span_of)


def _dim(bound: Operand) -> Dim | None:
    """A bound that is a number or a size."""
    if isinstance(bound, Size | Number):
        return size_of(bound)
    return Dim.of(bound) if isinstance(bound, int) else None


def assigned_in(statements: Sequence[ast.stmt], scope: Scope) -> list[str]:
    """The names of a scope to which statements assign, or to an element, in the order of the scope."""
    found: set[str] = set()
    for node in (inner for statement in statements for inner in ast.walk(statement)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                found.add(name)
            case ast.Expr(value=ast.Call(args=arguments)):
                tensors = [a.id for a in arguments if isinstance(a, ast.Name)]
                found |= {name for name in tensors if isinstance(scope.names.get(name), Contents)}
            case _:
                pass
    return [name for name in scope.names if name in found]
