"""
Constructors of patterns for Python, such as `is_op("graph.relu")(wildcard())`; the rest are methods of
`Pattern`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from stepwell.patterns.nodes import (
    Constant,
    Dominates,
    Expr,
    Get,
    If,
    Let,
    Op,
    Pattern,
    Tuple,
    Var,
    Wildcard,
    ill_formed,
)


def wildcard() -> Wildcard:
    """Any node."""
    return Wildcard()


def is_var(name: str = "") -> Var:
    """A block argument."""
    return Var(name)


def is_constant() -> Constant:
    """A constant."""
    return Constant()


def is_expr(value: SSAValue) -> Expr:
    """A value that is structurally equal to `value`."""
    return Expr(value)


def is_op(name: str) -> Op:
    """An op by name, `dialect.op`, or a class of ops, `trait:kind`."""
    if not name.startswith("trait:") and "." not in name.strip("."):
        raise ill_formed(f"an op is named dialect.op or trait:kind, found {name!r}")
    return Op(name)


def is_tuple(fields: Sequence[Pattern] | None) -> Tuple:
    """A tuple, or the variadic operands of an op."""
    return Tuple(None if fields is None else tuple(fields))


def is_tuple_get_item(source: Pattern, index: int | None = None) -> Get:
    """A field of a tuple, or a result of an op that has several."""
    return Get(source, index)


def is_if(condition: Pattern, then: Pattern, otherwise: Pattern) -> If:
    """A branch."""
    return If(condition, then, otherwise)


def is_let(var: Pattern, value: Pattern, body: Pattern) -> Let:
    """A definition, and a later value of its block."""
    return Let(var, value, body)


def dominates(parent: Pattern, path: Pattern, child: Pattern) -> Dominates:
    """All ways from `parent` to `child` go through `path`."""
    return Dominates(parent, path, child)
