"""Definitions of attribute classes that are made when they are first asked for; hashes that are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import ParametrizedAttribute, TypedAttribute
from xdsl.irdl import ParamAttrDef, attributes
from xdsl.utils.runtime_final import runtime_final

from stepwell.dialects._xdsl_speed.definitions import OURS


def define_late(cls: type[ParametrizedAttribute]) -> Any:
    """`irdl_param_attr_definition`, which reads the parameters of a class of ours or xDSL's when asked."""
    if not cls.__module__.startswith(OURS):
        return _define_now(cls)

    def get_irdl_definition(_: type[ParametrizedAttribute]) -> ParamAttrDef:
        definition = ParamAttrDef.from_pyrdl(cls)
        setattr(cls, "get_irdl_definition", classmethod(lambda _: definition))  # noqa: B010  # in its place
        return definition

    def get_type_index(_: type[ParametrizedAttribute]) -> int:
        index = [name for name, _ in cls.get_irdl_definition().parameters].index("type")
        setattr(cls, "get_type_index", classmethod(lambda _: index))  # noqa: B010  # in its place
        return index

    setattr(cls, "get_irdl_definition", classmethod(get_irdl_definition))  # noqa: B010
    if issubclass(cls, TypedAttribute):
        setattr(cls, "get_type_index", classmethod(get_type_index))  # noqa: B010
    made = dataclass(frozen=True, init=False)(cls)
    hash_of = cast("Callable[[object], int]", made.__hash__)
    setattr(made, "__hash__", _kept(hash_of))  # noqa: B010  # in its place
    return runtime_final(made)


def _kept(hash_of: Callable[[object], int]) -> Callable[[object], int]:
    """
    A `__hash__` that computes an attribute's hash once and keeps it: each parameter has a hash in Python.

    Types and constants are keys of every table: 1 to 6 microseconds a look-up.
    """

    def __hash__(self: object) -> int:
        known = vars(self)
        if (number := known.get(_HASH)) is None:
            number = known[_HASH] = hash_of(self)
        return number

    return __hash__


_HASH = "stepwell_hash"
_define_now = attributes.irdl_param_attr_definition


def replace_attribute_definitions() -> None:
    """Put `define_late` in the place of xDSL's function."""
    setattr(attributes, "irdl_param_attr_definition", define_late)  # noqa: B010  # it has another type
