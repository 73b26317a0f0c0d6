"""Compilation for a device in several attempts: refused ops are on the host in the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from stepwell.dialects.dev.on_host import REFUSED
from stepwell.lowering.refused_part import RefusedPart
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.options import CompileOptions

T = TypeVar("T")


def with_refused_on_host(options: CompileOptions, attempt: Callable[[CompileOptions], T]) -> T:
    """
    The result of an attempt, made again with more ops on the host for as long as a device refuses some.

    Raises: StepwellError of the attempt; `not-on-device` with all that is refused and `strict_device`;
    RefusedPart where nothing new is refused.
    """
    if not options.strict_device:
        return _attempts(options, attempt, {})
    try:
        return attempt(options)
    except StepwellError as error:
        if not isinstance(error, RefusedPart) and error.code != "not-on-device":
            raise
    # Ops are refused for their types before there is code, and by what makes the code: one error has both.
    refused: dict[str, str] = {}
    try:
        _attempts(replace(options, strict_device=False), attempt, refused)
    except RefusedPart as error:
        raise StepwellError("not-on-device", error.where, error.message, help=_HELP) from None
    return _attempt(options, attempt, refused)


_HELP = "leave --strict-device out"


def _attempts(options: CompileOptions, attempt: Callable[[CompileOptions], T], refused: dict[str, str]) -> T:
    """
    The result of the first attempt that no device refuses; `refused` gets the nodes with the reasons.

    Raises: RefusedPart where nothing new is refused; StepwellError of the attempt.
    """
    while True:
        try:
            return _attempt(options, attempt, refused)
        except RefusedPart as error:
            nodes = error.by_node()
            if nodes.keys() <= refused.keys():
                raise
            refused |= {name: reason for name, reason in nodes.items() if name not in refused}


def _attempt(options: CompileOptions, attempt: Callable[[CompileOptions], T], refused: dict[str, str]) -> T:
    """The result of an attempt with some nodes on the host."""
    token = REFUSED.set(dict(refused))
    try:
        return attempt(options)
    finally:
        REFUSED.reset(token)
