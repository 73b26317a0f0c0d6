"""Integers that compare like the elements that they stand for."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from stepwell.dialects.linalg_builder.scalars import Scalars

_KEYS = Scalars(i32)


def key_of(scalars: Scalars, x: SSAValue, largest: bool) -> SSAValue:
    """An element as an i32 in whose descending order elements come; NaN is the greatest number, -0 is 0."""
    if scalars.is_float:
        bits = arith.BitcastOp(scalars.add(x, scalars.constant(0)), i32).result
        negative = arith.ShRSIOp(bits, _KEYS.constant(31)).result
        ordered = arith.XOrIOp(bits, arith.AndIOp(negative, _KEYS.constant(_KEYS.highest())).result).result
        key = _KEYS.select(scalars.is_nan(x), _KEYS.constant(_KEYS.highest()), ordered)
    else:
        key = scalars.convert(x, _KEYS)
        if scalars.unsigned and scalars.bits == 32:
            key = arith.XOrIOp(key, _KEYS.constant(_KEYS.lowest())).result
    return key if largest else arith.XOrIOp(key, _KEYS.constant(-1)).result
