"""Compilation for a device in several attempts: refused ops are on the host in the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from stepwell.dialects.dev.on_host import REFUSED
from stepwell.lowering.refused_part import RefusedPart
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.options import CompileOptions

T = TypeVar("T")


def with_refused_on_host(options: CompileOptions, attempt: Callable[[], T]) -> T:
    """
    The result of an attempt, made again with more ops on the host for as long as a device refuses some.

    Raises: StepwellError of the attempt; `not-on-device` with all that is refused and `strict_device`;
    RefusedPart where nothing new is refused.
    """
    refused: dict[str, str] = {}
    while True:
        token = REFUSED.set(refused)
        try:
            return attempt()
        except RefusedPart as error:
            nodes = error.by_node()
            if options.strict_device:
                raise _not_on_device(error) from None
            if nodes.keys() <= refused.keys():
                raise
            refused = {**nodes, **refused}
        finally:
            REFUSED.reset(token)


def _not_on_device(error: RefusedPart) -> StepwellError:
    """The error with all nodes of a part that its device refuses, and the reasons."""
    reasons = [f'"{node}": {reason}' for node, reason in error.by_node().items()]
    message = "; ".join(reasons) or error.message
    return StepwellError("not-on-device", error.where, message, help="leave --strict-device out")
