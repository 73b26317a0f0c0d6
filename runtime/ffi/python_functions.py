"""Python functions on numpy arrays that models of this process call, by a name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.ffi.results import filled

if TYPE_CHECKING:
    from stepwell.runtime.backends import HostFunction
    from stepwell.runtime.interface import Array

_FUNCTIONS: dict[str, Callable[..., Any]] = {}
_LOCK = Lock()


def register(function: Callable[..., Any]) -> str:
    """Register a function for calls by models, and return its name; a second time the name is the same."""
    plain = getattr(function, "__name__", type(function).__name__)
    with _LOCK:
        for name, known in _FUNCTIONS.items():
            if known is function:
                return name
        name, number = plain, 1
        while name in _FUNCTIONS:
            name, number = f"{plain}.{number}", number + 1
        _FUNCTIONS[name] = function
    return name


def payload(name: str) -> str:
    """The code of a callee that is a registered function."""
    return json.dumps({"function": name})


def load_function(code: bytes) -> HostFunction:
    """The callee that calls a registered function on copies. Raises: StepwellError `unknown-function`."""
    name = str(json.loads(code)["function"])
    function = _FUNCTIONS.get(name)
    if function is None:
        message = f"no Python function {name!r} is known in this process"
        help = "run the program that makes the model: te.extern registers its functions"
        raise StepwellError("unknown-function", None, message, help=help)

    def call(inputs: Sequence[object], outputs: list[object]) -> None:
        result = function(*(np.array(value) for value in inputs))
        results = list(cast("Sequence[object]", result)) if isinstance(result, tuple | list) else [result]
        if len(results) != len(outputs):
            raise ValueError(f"{name} returns {len(results)} arrays, and {len(outputs)} are used")
        for number, value in enumerate(results):
            outputs[number] = filled(cast("Array | None", outputs[number]), np.asarray(value), number)

    return call
