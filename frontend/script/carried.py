"""The names that loops and branches carry: numbers and tensors that their bodies assign."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.frontend.script.loops import assigned_in
from stepwell.frontend.script.scope import Contents, Scope
from stepwell.frontend.script.source import Source
from stepwell.frontend.te.expressions import Axis, Expr, Number, expression
from stepwell.frontend.te.scalar_code import element_named


def carried_in(
    source: Source, body: Sequence[ast.stmt], scope: Scope, node: ast.AST, indices: set[str]
) -> list[str]:
    """The names that a body assigns and that are known before."""
    carried = [name for name in assigned_in(body, scope) if name not in indices]
    if wrong := [name for name in indices if name in _assigned(body)]:
        raise source.error_at("script-syntax", node, f"{wrong[0]} is the index of a loop, which sets it")
    return carried


def dtypes_of(carried: Sequence[str], scope: Scope, body: Callable[[Scope], None]) -> dict[str, str]:
    """The types of numbers that a body assigns; Python's have the type that the body gives them."""
    locals = {name: local for name in carried if not isinstance(local := scope.names[name], Contents)}
    known = {name: local.dtype for name, local in locals.items() if isinstance(local, Expr)}
    if len(known) < len(locals):
        trial = scope.inside()
        trial.axes = _AnyAxis(trial.block, scope.axes)
        for name, dtype in known.items():
            trial.define(name, dtype, trial.block.insert_arg(signless(element_named(dtype)), 0))
        body(trial)
        for name in locals:
            local = trial.names[name]
            if name not in known:
                known[name] = local.dtype if isinstance(local, Expr) else expression(locals[name]).dtype
    return known


def stored_value(source: Source, name: str, dtype: str | None, scope: Scope, node: ast.AST) -> SSAValue:
    """The value of a name in storage. Raises: StepwellError `te-type` for one of another type."""
    local = scope.names[name]
    if isinstance(local, Contents):
        return local.value
    assert dtype is not None
    if isinstance(local, Expr) and local.dtype != dtype:
        message = f"{name} is {dtype} before, and {local.dtype} after these statements"
        raise source.error_at("te-type", node, message, f'cast(…, "{dtype}") converts it')
    if not isinstance(local, Expr):
        local = Number(local, dtype)
    return scope.code().stored(local)


def enter(
    inside: Scope, names: Sequence[str], dtypes: dict[str, str], scope: Scope, starts: Sequence[SSAValue]
) -> None:
    """Give names the arguments of a block."""
    for name, start in zip(names, starts, strict=True):
        argument = inside.block.insert_arg(start.type, len(inside.block.args))
        argument.name_hint = name
        local = scope.names[name]
        if isinstance(local, Contents):
            inside.names[name] = Contents(local.tensor, argument)
        else:
            inside.define(name, dtypes[name], argument)


def leave(scope: Scope, names: Sequence[str], dtypes: dict[str, str], results: Sequence[SSAValue]) -> None:
    """Give names the results of an op."""
    for name, result in zip(names, results, strict=True):
        result.name_hint = name
        local = scope.names[name]
        if isinstance(local, Contents):
            scope.names[name] = Contents(local.tensor, result)
        else:
            scope.define(name, dtypes[name], result)


def joined_names(node: ast.If, sides: Sequence[Scope], scope: Scope) -> list[str]:
    """The names with a value after a branch, assigned on either side."""
    known = [name for name in sides[0].names if name in sides[1].names]
    changed = assigned_in([*node.body, *node.orelse], sides[0])
    return [
        name
        for name in known
        if name in changed and not (name not in scope.names and isinstance(sides[0].names[name], Contents))
    ]


def type_of_both(name: str, sides: Sequence[Scope]) -> str | None:
    """The type of a number after a branch, from a side with a typed one."""
    locals = [side.names[name] for side in sides]
    typed = [local.dtype for local in locals if isinstance(local, Expr)]
    if isinstance(locals[0], Contents):
        return None
    return typed[0] if typed else expression(locals[0]).dtype


class _AnyAxis(dict[Axis, SSAValue]):
    """The indices of a trial: any axis has one."""

    def __init__(self, block: Block, known: Mapping[Axis, SSAValue]):
        super().__init__(known)
        self._block = block

    def copy(self) -> _AnyAxis:
        """The same indices, for a block inside."""
        return _AnyAxis(self._block, self)

    def __missing__(self, axis: Axis) -> SSAValue:
        value = self._block.insert_arg(IndexType(), 0)
        self[axis] = value
        return value


def _assigned(statements: Sequence[ast.stmt]) -> set[str]:
    """The names to which statements assign, but for the indices of loops inside."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    stores = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stores
