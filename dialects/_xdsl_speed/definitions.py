"""Definitions of op classes that are made when a class is first used: a process uses a quarter of them."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, cast

from xdsl import irdl
from xdsl.irdl import IRDLOperation, operations

from stepwell.dialects._xdsl_speed.plain import PlainABC

OURS = ("stepwell.", "xdsl.")
"""The packages whose op classes have tests; a mistake in another class is reported where it is written."""
_COMMON = frozenset(
    ("name", *(f"__{name}__" for name in ("name", "qualname", "module", "doc", "mro", "class")))
)
"""The attributes that a class has before its definition."""
_LOCK = RLock()
_Fill = Callable[[Any], None]
_waiting: dict[type[IRDLOperation], _Fill | None] = {}


class UndefinedOp(PlainABC):
    """The metaclass of op classes without a definition: the first instance, or another use, makes it."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **named: Any) -> Any:
        """A subclass, which extends the definitions of its bases."""
        for base in bases:
            for cls in base.__mro__:
                _define(cls)
        return PlainABC(name, bases, body, **named)

    def __getattribute__(cls, name: str) -> Any:
        """An attribute of the class; all but a few need the definition."""
        if name not in _COMMON:
            _define(cls)
        return type.__getattribute__(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        """Set an attribute of the defined class."""
        _define(cls)
        type.__setattr__(cls, name, value)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        """An instance of the class, which is defined from then on."""
        _define(cls)
        return type.__call__(cls, *args, **named)


def _define(cls: type) -> None:
    with _LOCK:  # other threads wait for the whole definition
        op_class = cast("type[IRDLOperation]", cls)
        if op_class not in _waiting:
            return  # defined by another thread, or being defined by this one
        fill = _waiting.pop(op_class)
        try:
            if fill is not None:
                fill(op_class)
            _define_now(op_class)
        except BaseException:
            _waiting[op_class] = fill
            raise
        type.__setattr__(cls, "__class__", PlainABC)


def define_late(cls: type[IRDLOperation], fill: _Fill | None = None) -> Any:
    """
    `irdl_op_definition` at the first use of a class of ours or xDSL's; for other classes at once.

    `fill` adds the fields of a class that has none yet.
    """
    if cast(type, type(cls)) is not PlainABC or not cls.__module__.startswith(OURS):
        if fill is not None:
            fill(cls)
        return _define_now(cls)
    _waiting[cls] = fill
    type.__setattr__(cls, "__class__", UndefinedOp)
    return cls


_define_now = operations.irdl_op_definition


def replace_definitions() -> None:
    """Put `define_late` in the place of xDSL's decorator."""
    operations.irdl_op_definition = irdl.irdl_op_definition = define_late
