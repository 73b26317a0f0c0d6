"""The metaclass of xDSL's IR and affine expressions, of which instances are found as fast as of others."""

from __future__ import annotations

from abc import ABCMeta

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr


class PlainABC(ABCMeta):
    """
    The metaclass of abstract classes without registered subclasses, of which instances are found as fast as
    of others.

    A compilation asks a million times whether an op is of a class, and `ABCMeta` answers in Python.
    """

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def _make_plain(cls: type) -> None:
    """Give a class and all its subclasses, also later ones, the metaclass `PlainABC`."""
    if type(cls) is ABCMeta:
        cls.__class__ = PlainABC
    for subclass in type.__subclasses__(cls):
        _make_plain(subclass)


def replace_metaclass() -> None:
    """Put `PlainABC` in the place of `ABCMeta`."""
    for root in (AffineExpr, Attribute, Block, Operation, Region, SSAValue):
        _make_plain(root)
