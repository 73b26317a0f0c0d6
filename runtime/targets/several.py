"""Targets of several devices by name, as text: `gpu0=cuda{arch=sm_90},npu0=npu`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stepwell.runtime.errors import StepwellError

HOST = "host"
"""The name of the CPU that calls the program, which each program has."""
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.ASCII | re.DOTALL)
_COMMA = re.compile(r",(?![^{}]*\})")


def at_commas(text: str) -> list[str]:
    """The parts of a text between commas that are in no braces."""
    return _COMMA.split(text)


def is_several(text: str) -> bool:
    """Whether a text names devices: `NAME=TARGET`."""
    return _NAMED.fullmatch(text) is not None


def several(text: str, what: str = "target") -> Mapping[str, str]:
    """
    The texts by the names of devices, in their order.

    Args: `what` is what each of them is: a target, or the device that runs the code.
    Raises: StepwellError `bad-target`.
    """
    found: dict[str, str] = {}
    for each in at_commas(text):
        if (named := _NAMED.fullmatch(each)) is None or not named[2].strip():
            raise _bad(f"expected NAME={what.upper()}, found {each!r}")
        if named[1] in found:
            raise _bad(f"two {what}s are named {named[1]}")
        if named[1] == HOST:
            raise _bad(f"{HOST} is the CPU that calls the program, whose {what} is not given by name")
        found[named[1]] = named[2].strip()
    return found


def several_text(named: Mapping[str, object]) -> str:
    """Targets or devices by name as the text that `several` reads. Raises: StepwellError `bad-target`."""
    if not named:
        raise _bad("expected a target for each device by name, found none")
    text = ",".join(f"{name}={each}" for name, each in named.items())
    several(text)
    return text


def _bad(message: str) -> StepwellError:
    help = "write a name for each device, such as gpu0=cuda,npu0=npu"
    return StepwellError("bad-target", None, message, help=help)
