"""
Backends by name: engines outside of this compiler that run partitions of a model.

A lazy table: no part of a backend is imported before a model needs it, and then only the part that runs it.
Ours are listed here; other packages register theirs by an entry point of group `stepwell.backends`, the
backend's name = `module:Class`; a plugin adds its own to the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Protocol, TypeAlias, TypeVar, cast, overload

import numpy as np

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.installation import expect_compiler
from stepwell.runtime.interface import Array
from stepwell.runtime.packages import entry_points
from stepwell.runtime.plugins import Registry, place_of

T = TypeVar("T")

ENTRY_POINTS = "stepwell.backends"

HostFunction: TypeAlias = Callable[[Sequence[object], list[object]], None]


class Loader(Protocol):
    """
    The interface of a backend for running partitions; `stepwell.lowering.backends` has that for compiling
    them.
    """

    def load(self, code: bytes) -> HostFunction:
        """The function of a compiled partition, called with inputs and with outputs to fill."""
        ...


OURS: Mapping[str, str] = {
    "npu": "stepwell.lowering.backends.npu.backend:NpuBackend",
    "onnxruntime": "stepwell.lowering.backends.onnxruntime:OnnxruntimeBackend",
    "reference": "stepwell.lowering.backends.reference:ReferenceBackend",
    "torch": "stepwell.lowering.backends.torch:TorchBackend",
}

_PLUGGED_IN: Registry[str, object] = Registry("a backend named")


@overload
def register_backend(name: str) -> Callable[[type[T]], type[T]]: ...


@overload
def register_backend(name: str, backend: T) -> T: ...


def register_backend(name: str, backend: object = None) -> object:
    """
    Add a backend, an object or its class, for this process; without it, a decorator of the class.

    Raises: StepwellError `name-taken` for a name that another backend has, `bad-plugin` for an object that is
    no backend.
    """
    if not isinstance(cast("object", name), str):
        message = f'@register_backend needs a name: @register_backend("mine"), found {name!r}'
        raise StepwellError("bad-plugin", place_of(name), message)
    return partial(_register, name) if backend is None else _register(name, backend)


def _register(name: str, backend: T) -> T:
    if not callable(getattr(backend, "load", None)):
        message = f"@register_backend decorates a class of a backend, with a method `load`, found {backend!r}"
        help = "inherit from Backend of stepwell.lowering.backends"
        raise StepwellError("bad-plugin", place_of(backend), message, help=help)
    if name in OURS:
        raise _PLUGGED_IN.taken(name, backend)
    _PLUGGED_IN.expect_free(name, backend)
    own = vars(backend).get("name") if isinstance(backend, type) else getattr(backend, "name", None)
    if own is None:
        cast("Any", backend).name = name
    elif own != name:
        message = f"it is registered as {name!r}, and its `name` is {own!r}"
        raise StepwellError("bad-plugin", place_of(backend), message, help="remove the `name` of the class")
    _PLUGGED_IN.add(name, backend, backend)
    return backend


def backend_names() -> list[str]:
    """The names of all registered backends, whether their packages are installed or not."""
    return sorted({*OURS, *_PLUGGED_IN, *_outside_places()})


def find_backend(name: str) -> Loader:
    """
    The backend of a name.

    Raises: StepwellError `unknown-backend`, with the nearest names, for one that is not registered;
    `missing-package` when the backend's module cannot be imported.
    """
    if name in _PLUGGED_IN:
        return _instance(_PLUGGED_IN[name])
    place = OURS.get(name) or _outside_places().get(name)
    if place is None:
        names = backend_names()
        raise StepwellError(
            "unknown-backend",
            None,
            f"no backend is named {name!r}",
            help=f"{did_you_mean(name, names)}backends: {', '.join(names)}; a package adds one by an entry"
            f" point of group {ENTRY_POINTS}, a plugin by --load",
        )
    if name in OURS:
        expect_compiler(f"the backend {name!r}")
    module, _, attribute = place.partition(":")
    try:
        return _instance(getattr(import_module(module), attribute))
    except ImportError as error:
        raise StepwellError(
            "missing-package",
            None,
            f"the backend {name!r} needs a package that is not installed: {error}",
            help=f"install {error.name or name}",
        ) from None


def fill(outputs: Sequence[object], results: Sequence[object]) -> None:
    """
    Copy results into the outputs of a partition.

    Raises: StepwellError `wrong-result` when their number, a shape or an element type is different.
    """
    if len(outputs) != len(results):
        raise StepwellError("wrong-result", None, f"expected {len(outputs)} results, found {len(results)}")
    for number, (output, result) in enumerate(zip(outputs, results, strict=True)):
        wanted, found = cast(Array, output), np.asarray(result)
        if wanted.shape != found.shape or wanted.dtype != found.dtype:
            raise StepwellError(
                "wrong-result",
                None,
                f"result {number} must be {_described(wanted)}, found {_described(found)}",
            )
        wanted[...] = found


def _described(array: Array) -> str:
    return f"{array.dtype.name}{list(array.shape)}"


def _instance(found: object) -> Loader:
    return cast(Loader, found() if isinstance(found, type) else found)


@cache
def _outside_places() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(ENTRY_POINTS)}
