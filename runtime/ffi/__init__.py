"""
Functions that other languages call, and that models call, by the ABI of apache-tvm-ffi.

A registered function has a name in this process: of Python by `register`, of C++ or Rust by a library that
was loaded. A model calls one by a node of domain `ai.stepwell.ffi`, whose operator is the name.
"""
# The package of the extra: the type checker knows nothing of it.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed

__all__ = ["get", "names", "register", "remove"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])
_OWN = ("ffi.", "testing.")
"""Prefixes of tvm-ffi's own functions, some of which load files: no model may call them."""
_NEAR = 3


def tvm_ffi() -> Any:
    """The package. Raises: StepwellError `missing-package`."""
    with needed("calling functions of other languages", install="'stepwell[ffi]'"):
        import tvm_ffi as package
    return package


def register(name: str, *, override: bool = False) -> Callable[[FunctionT], FunctionT]:
    """
    A decorator that gives a function a name in this process.

    Args: `override` replaces one of that name.
    Raises: StepwellError `bad-option` for a name that is taken, `missing-package`.
    """
    package = tvm_ffi()
    if name.startswith(_OWN) or not name:
        message = f"a function cannot be named {name!r}"
        raise StepwellError("bad-option", None, message, help="choose another name")

    def decorated(function: FunctionT) -> FunctionT:
        try:
            package.register_global_func(name, function, override=override)
        except RuntimeError:
            message = f"a function is registered as {name!r} already"
            raise StepwellError("bad-option", None, message, help="override=True replaces it") from None
        return function

    return decorated


def get(name: str) -> Any:
    """
    A registered function; numpy arrays and whatever has DLPack go in.

    Raises: StepwellError `unknown-function` with near names, `missing-package`.
    """
    function = None if name.startswith(_OWN) else tvm_ffi().get_global_func(name, allow_missing=True)
    if function is None:
        known = names()
        near = get_close_matches(name, known, _NEAR) or known[:_NEAR]
        note = f"registered are {', '.join(near)}" if near else "no function is registered"
        help = "register it in this process before the model is loaded: `stepwell.ffi.register(NAME)`"
        message = f"no function has the name {name!r}"
        raise StepwellError("unknown-function", None, message, note=note, help=help)
    return function


def names(prefix: str = "") -> list[str]:
    """The names of registered functions that begin with a prefix."""
    found: list[str] = tvm_ffi().registry.list_global_func_names()
    return sorted(name for name in found if name.startswith(prefix) and not name.startswith(_OWN))


def remove(name: str) -> None:
    """Forget a function; models that are loaded keep it. Raises: StepwellError `unknown-function`."""
    get(name)
    tvm_ffi().registry.remove_global_func(name)
