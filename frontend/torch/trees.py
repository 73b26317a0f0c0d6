"""Names of the leaves of nested arguments and results, from the text of a tree in a program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from stepwell.runtime.errors import StepwellError

Tree: TypeAlias = Mapping[str, object]
MAX_LEAVES = 100_000


def input_names(spec: str, arguments: Sequence[str], where: str) -> list[str]:
    """
    The names of the leaves of a call's arguments: `x`, `cache.0.key`.

    Args: `spec` is the text of the tree of (positional, by name); `arguments` are the names of the positional
    ones.
    """
    tree = _root(spec, where)
    match _children(tree):
        case [positional, by_name]:
            names: list[str] = []
            for position, child in enumerate(_children(positional)):
                label = arguments[position] if position < len(arguments) else f"input{position}"
                _leaves(child, label, names)
            for key, child in zip(_keys(by_name), _children(by_name), strict=False):
                _leaves(child, key, names)
            return names
        case _:
            raise _invalid(where)


def output_names(spec: str, where: str) -> list[str]:
    """The names of the leaves of a call's result: `output`, `output_0`, `logits`, `logits.0`."""
    tree = _root(spec, where)
    names: list[str] = []
    if tree.get("type") is None:
        return ["output"]
    is_named = _is_named(tree)
    for key, child in zip(_keys(tree), _children(tree), strict=True):
        _leaves(child, key if is_named else f"output_{key}", names)
    return names


def _leaves(tree: Tree, label: str, names: list[str]) -> None:
    """Add the names of a tree's leaves, each a path from `label` on."""
    if tree.get("type") is None:
        names.append(label)
    for key, child in zip(_keys(tree), _children(tree), strict=True):
        _leaves(child, f"{label}.{key}", names)
    if len(names) > MAX_LEAVES:
        raise StepwellError("too-large", None, f"a program has at most {MAX_LEAVES} inputs and outputs")


def _root(spec: str, where: str) -> Tree:
    try:
        match json.loads(spec):
            case [int(), dict() as tree]:
                return cast(Tree, tree)
            case _:
                raise _invalid(where)
    except (ValueError, RecursionError):
        raise _invalid(where) from None


def _children(tree: Tree) -> Sequence[Tree]:
    children = tree.get("children_spec")
    if not isinstance(children, list):
        raise _invalid("")
    return cast("Sequence[Tree]", children)


def _is_named(tree: Tree) -> bool:
    return len(_context(tree)) == len(_children(tree)) > 0


def _context(tree: Tree) -> Sequence[str]:
    """The keys that a tree of a dict, or of a class of fields, has as text; none for another one."""
    try:
        context = json.loads(str(tree.get("context") or "null"))
    except (ValueError, RecursionError):
        return ()
    items = cast("Sequence[object]", context) if isinstance(context, list) else ()
    return [str(item) for item in items]


def _keys(tree: Tree) -> Sequence[str]:
    """The names of a tree's children: keys, or numbers."""
    if not (children := _children(tree)):
        return ()
    return _context(tree) if _is_named(tree) else [str(position) for position in range(len(children))]


def _invalid(where: str) -> StepwellError:
    return StepwellError("invalid-model", where or None, "the description of nested arguments cannot be read")
