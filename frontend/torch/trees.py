"""Names of the leaves of nested arguments and results, from the description of a tree in a program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from stepwell.runtime.errors import StepwellError

MAX_LEAVES = 100_000


@dataclass(frozen=True)
class Tree:
    """A nested value: a leaf, or children with their keys, which are numbers for lists."""

    is_leaf: bool
    keys: Sequence[str] = ()
    children: Sequence[Tree] = ()
    is_named: bool = False
    """Whether the keys are names, as those of a dictionary are."""


LEAF = Tree(True)


def tree_of_text(spec: str, where: str) -> Tree:
    """The tree that a file describes as JSON. Raises: StepwellError `invalid-model`."""
    try:
        version, root = json.loads(spec)
        if isinstance(version, int):
            return _tree_of_json(root)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise StepwellError("invalid-model", where, "the description of nested arguments cannot be read")


def _tree_of_json(data: Any) -> Tree:
    if data["type"] is None:
        return LEAF
    context = json.loads(data["context"] or "null")
    return _tree(context, [_tree_of_json(child) for child in data["children_spec"]])


def tree_of_spec(spec: Any) -> Tree:
    """The tree of a `TreeSpec` of torch."""
    if spec.is_leaf():
        return LEAF
    return _tree(spec.context, [tree_of_spec(child) for child in spec.children()])


def _tree(context: object, children: Sequence[Tree]) -> Tree:
    """A tree with the keys that its context lists, if these are names of all children."""
    keys = [str(key) for key in cast("Sequence[object]", context)] if isinstance(context, list) else []
    if keys and len(keys) == len(children):
        return Tree(False, keys, children, is_named=True)
    return Tree(False, [str(position) for position in range(len(children))], children)


def input_names(tree: Tree, arguments: Sequence[str]) -> list[str]:
    """
    The names of the leaves of a call's arguments: `x`, `cache.0.key`.

    Args: `tree` is the tree of (positional arguments, keyword arguments); `arguments` are the names of the
    positional ones.
    Raises: StepwellError `invalid-model`, `too-large`.
    """
    if len(tree.children) != 2:
        raise StepwellError("invalid-model", None, "the arguments are no pair of positional ones and names")
    positional, by_name = tree.children
    labels = [
        arguments[position] if position < len(arguments) else f"input{position}"
        for position in range(len(positional.children))
    ]
    pairs = [
        *zip(labels, positional.children, strict=True),
        *zip(by_name.keys, by_name.children, strict=True),
    ]
    return _bounded(name for label, child in pairs for name in _leaves(child, label))


def output_names(tree: Tree) -> list[str]:
    """
    The names of the leaves of a call's result: `output`, `output_0`, `logits`, `logits.0`.

    Raises: StepwellError `too-large`.
    """
    if tree.is_leaf:
        return ["output"]
    labels = tree.keys if tree.is_named else [f"output_{key}" for key in tree.keys]
    pairs = zip(labels, tree.children, strict=True)
    return _bounded(name for label, child in pairs for name in _leaves(child, label))


def _leaves(tree: Tree, label: str) -> Iterator[str]:
    """The names of a tree's leaves, each a path from `label` on."""
    if tree.is_leaf:
        yield label
    for key, child in zip(tree.keys, tree.children, strict=True):
        yield from _leaves(child, f"{label}.{key}")


def _bounded(names: Iterator[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        found.append(name)
        if len(found) > MAX_LEAVES:
            raise StepwellError("too-large", None, f"a program has at most {MAX_LEAVES} inputs and outputs")
    return found
