"""Index values as dimension expressions, so that equal offsets, sizes and bounds are equal objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.traits import is_side_effect_free

from stepwell.runtime.dims import Dim

# By name, because classes of ours stand in for some of xDSL's.
_BINARY: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": Dim.ceildiv,
    "arith.divui": lambda a, b: a // b,  # indices are not negative
    "arith.remui": lambda a, b: a - a // b * b,
    "arith.ceildivui": Dim.ceildiv,
    "arith.minsi": Dim.minimum,
    "arith.minui": Dim.minimum,
    "arith.maxsi": Dim.maximum,
    "arith.maxui": Dim.maximum,
}
OF_SIZES: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    **_BINARY,
    "arith.divsi": _BINARY["arith.divui"],
    "arith.remsi": _BINARY["arith.remui"],
}
"""Arithmetic on two sizes, none of which is negative, by the name of the op."""
_MAX_CHARS = 512  # products of sums grow without bound: beyond this a value is an atom of its own
LOCAL = "__v"
"""The prefix of the names of atoms, which no symbol has."""


class IndexForms:
    """
    Maps each index value of a function to its dimension expression.

    Constants, sums, products, quotients, remainders and extrema become expressions, and so do `affine.apply`
    and `affine.min`; any other value is an atom, a symbol of its own; equal pure ops on equal operands share
    one.
    Args: `symbols` names the values that have a name outside: the kernel's index arguments for its symbols;
    `declared` gives the extents of its tensors.
    """

    def __init__(self, symbols: Mapping[SSAValue, str], declared: Mapping[SSAValue, Sequence[Dim]]):
        self.declared = declared
        self.values: dict[str, SSAValue] = {name: value for value, name in symbols.items()}
        """Maps each symbol and atom to its value."""
        self._forms: dict[SSAValue, Dim] = {value: Dim.symbol(name) for value, name in symbols.items()}
        self._atoms: dict[object, Dim] = {}

    def of(self, value: SSAValue | int) -> Dim:
        """The expression of an index value or a number."""
        if isinstance(value, int):
            return Dim.of(value)
        form = self._forms.get(value)
        if form is None:
            form = self._see_through(value)
            if len(str(form)) > _MAX_CHARS:
                form = self._atom(value, value)
            self._forms[value] = form
        return form

    def mixed(self, static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]) -> tuple[Dim, ...]:
        """
        The expressions of a list of numbers in an attribute, in which `DYNAMIC_INDEX` means the next operand.
        """
        rest = iter(dynamic)
        return tuple(self.of(next(rest) if n == DYNAMIC_INDEX else n) for n in static.get_values())

    def _see_through(self, value: SSAValue) -> Dim:
        """The expression of an index value over its operands' expressions; an atom for other ops."""
        op = value.owner
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            return Dim.of(op.value.value.data)
        if not isinstance(op, Operation):
            return self._atom(value, value)
        if (combine := _BINARY.get(op.name)) is not None:
            return combine(self.of(op.operands[0]), self.of(op.operands[1]))
        if isinstance(op, affine.ApplyOp):
            return self._affine(op.map.data, op.mapOperands)[0]
        if isinstance(op, affine.MinOp):
            first, *others = self._affine(op.map.data, op.operands)
            for other in others:
                first = first.minimum(other)
            return first
        if len(op.results) == 1 and not op.regions and is_side_effect_free(op):
            return self._atom(_signature(op, [self.of(operand) for operand in op.operands]), value)
        return self._atom(value, value)

    def _atom(self, key: object, value: SSAValue) -> Dim:
        """The symbol of an atom, the same for equal keys."""
        if key not in self._atoms:
            name = f"{LOCAL}{len(self._atoms)}"
            self._atoms[key] = Dim.symbol(name)
            self.values[name] = value
        return self._atoms[key]

    def _affine(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[Dim]:
        """The expressions of an affine map's results."""
        forms = [self.of(operand) for operand in operands]
        dims, symbols = forms[: map.num_dims], forms[map.num_dims :]
        return [affine_form(expr, dims, symbols) for expr in map.results]


def _signature(op: Operation, operands: Sequence[Dim]) -> object:
    """The key by which equal pure ops share an atom: name, attributes and operand expressions."""
    attributes: tuple[tuple[str, Attribute], ...] = tuple(sorted((op.properties | op.attributes).items()))
    return (op.name, attributes, tuple(operands))


def affine_form(expr: AffineExpr, dims: Sequence[Dim], symbols: Sequence[Dim] = ()) -> Dim:
    """The value of an affine expression as a dimension expression, given those of its dims and symbols."""
    match expr:
        case AffineConstantExpr(value):
            return Dim.of(value)
        case AffineDimExpr(position):
            return dims[position]
        case AffineSymExpr(position):
            return symbols[position]
        case AffineBinaryOpExpr(kind, left, right):
            a, b = affine_form(left, dims, symbols), affine_form(right, dims, symbols)
            match kind:
                case AffineBinaryOpKind.Add:
                    return a + b
                case AffineBinaryOpKind.Mul:
                    return a * b
                case AffineBinaryOpKind.FloorDiv:
                    return a // b
                case AffineBinaryOpKind.CeilDiv:
                    return a.ceildiv(b)
                case AffineBinaryOpKind.Mod:
                    return a - (a // b) * b
        case _:
            raise TypeError(f"unknown affine expression {expr}")
