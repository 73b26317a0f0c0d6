"""Blocks of scripts: the axes of loops that are one op, spatial or summed."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stepwell.frontend.script import language
from stepwell.frontend.script.loops import Bounds
from stepwell.frontend.script.scope import Scope
from stepwell.frontend.script.source import Source

_KINDS: Mapping[object, str] = {language.spatial: "spatial", language.reduce: "reduce"}


@dataclass(frozen=True)
class BlockNode:
    """A block with the loops around it."""

    name: str
    bounds: Sequence[Bounds]
    axes: Mapping[str, str]
    """The kind of each loop by its name."""
    indices: dict[str, str]
    """The names of axes, with those of their loops."""
    init: Sequence[ast.stmt]
    body: Sequence[ast.stmt]

    def loops(self, *, summed: bool) -> list[Bounds]:
        """The loops of spatial axes, or of summed ones."""
        return [loop for loop in self.bounds if (self.axes[loop.name] == "reduce") == summed]

    def kinds(self) -> list[tuple[Bounds, str]]:
        """Each loop with the kind of its axis."""
        return [(loop, self.axes[loop.name]) for loop in self.bounds]


def block_of(node: ast.For, bounds: Sequence[Bounds], source: Source, scope: Scope) -> BlockNode | None:
    """The block that is the whole body of a loop; None if there is none. Raises: StepwellError."""
    match node.body:
        case [ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=bound)]) as block]:
            pass
        case _:
            return None
    match call:
        case ast.Call(func=word, args=[] | [ast.Constant(value=str())] as given, keywords=[]) if (
            source.resolved(word) is language.block and isinstance(bound, ast.Name)
        ):
            name = "".join(str(part.value) for part in given if isinstance(part, ast.Constant))
        case _:
            raise source.error_at("script-syntax", call, 'a block has a name: with block("C") as b')
    if bounds[0].word not in ("grid", "range") or any(loop.axis.low is not None for loop in bounds):
        raise source.error_at("script-syntax", node, "the loops of a block are over a grid, from 0")
    if not block.body:
        raise source.error_at("script-syntax", block, "a block is empty")
    axes, names = _axes(block.body[0], bound.id, bounds, source)
    init, body = _split(block.body[1:], bound.id, source)
    if wrong := [name for name in axes if name not in {loop.name for loop in bounds}]:
        raise source.error_at("script-syntax", block.body[0], f"{wrong[0]} is no loop of the block")
    return BlockNode(name, bounds, axes, names, init, body)


def _axes(
    node: ast.stmt, block: str, bounds: Sequence[Bounds], source: Source
) -> tuple[dict[str, str], dict[str, str]]:
    """The kinds of loops, and the names that their indices have in a block."""
    match node:
        case ast.Assign(
            targets=[target],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="axes")) as call,
        ) if owner == block:
            pass
        case _:
            help = f"vi, vk = {block}.axes(spatial(i), reduce(k))"
            raise source.error_at("script-syntax", node, "a block begins with its axes", help)
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    axes: dict[str, str] = {}
    names: dict[str, str] = {}
    loops = [loop.name for loop in bounds]
    if len(targets) != len(call.args):
        message = f"the block has {len(call.args)} axes, found {len(targets)} names"
        raise source.error_at("script-syntax", target, message)
    for each, point in zip(targets, call.args, strict=True):
        match each, point:
            case ast.Name(id=name), ast.Call(func=kind, args=[ast.Name(id=loop)]) if (
                (word := _KINDS.get(source.resolved(kind))) and loop in loops and loop not in axes
            ):
                axes[loop], names[name] = word, loop
            case _:
                message = f"an axis is spatial or reduce of a loop, each once, found `{ast.unparse(point)}`"
                raise source.error_at("script-syntax", point, message)
    if missing := [loop for loop in loops if loop not in axes]:
        raise source.error_at("script-syntax", call, f"loop {missing[0]} has no axis in the block")
    return axes, names


def _split(
    statements: Sequence[ast.stmt], block: str, source: Source
) -> tuple[Sequence[ast.stmt], Sequence[ast.stmt]]:
    """The statements of the first step of the summed axes, and those of every step."""
    init: Sequence[ast.stmt] = []
    match statements:
        case [ast.If(test=test, body=first, orelse=[]), *rest] if _is_init(test, block):
            init, statements = first, rest
        case _:
            pass
    for inner in (node for statement in [*init, *statements] for node in ast.walk(statement)):
        if isinstance(inner, ast.expr) and _is_init(inner, block):
            raise source.error_at(
                "script-syntax", inner, f"`if {block}.init():` is the first statement after the axes"
            )
        if isinstance(inner, ast.For | ast.While | ast.With | ast.If):
            raise source.error_at("script-syntax", inner, "a block has assignments alone")
    return init, statements


def _is_init(node: ast.expr, block: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="init"), args=[]):
            return owner == block
        case _:
            return False
