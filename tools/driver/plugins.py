"""Plugins: modules of the user's that add dialects, passes and backends to this process."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isabstract
from pathlib import Path
from types import ModuleType
from typing import TypeGuard, TypeVar

from xdsl.ir import Dialect
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import plug_in_dialect
from stepwell.lowering.backends import Backend
from stepwell.passes.registry import register_pass
from stepwell.patterns.registry import CALLBACKS, PREDICATES
from stepwell.runtime.backends import register_backend
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.plugins import LOADED

T = TypeVar("T")


def load_plugin(name: str) -> None:
    """
    Import a plugin, and register every dialect object, pass class and backend class that it defines. Runs its
    code, which may register what patterns in text call by name.

    Args: `name` is a dotted module name, or a path that ends in `.py`. Loading one twice does nothing.
    Raises: StepwellError `bad-plugin` when it cannot be imported or defines nothing, `name-taken`.
    """
    path = Path(name)
    module_name = path.stem if path.suffix == ".py" else name
    if module_name in _LOADED:
        return
    functions = len(PREDICATES) + len(CALLBACKS)
    try:
        module = _import_file(path) if path.suffix == ".py" else import_module(module_name)
    except Exception as error:
        raise StepwellError("bad-plugin", name, f"{type(error).__name__}: {error}") from error
    defined = list(vars(module).values())
    dialects = [value for value in defined if isinstance(value, Dialect)]
    passes = [value for value in defined if _is_class_of(value, module, ModulePass)]
    backends = [value for value in defined if _is_class_of(value, module, Backend)]
    if not dialects and not passes and not backends and len(PREDICATES) + len(CALLBACKS) == functions:
        message = "defines no dialect, no pass and no backend, and registers no predicate and no callback"
        raise StepwellError("bad-plugin", name, message)
    if module.__file__ is not None:
        LOADED[module.__file__] = name
    for dialect in dialects:
        plug_in_dialect(dialect)
    for pass_class in passes:
        register_pass(pass_class)
    for backend in backends:
        register_backend(backend.name, backend)
    _LOADED.add(module_name)


_LOADED: set[str] = set()


def _is_class_of(value: object, module: ModuleType, base: type[T]) -> TypeGuard[type[T]]:
    """Whether a value is a subclass of a class, defined in a module and ready to be made."""
    return (
        isinstance(value, type)
        and issubclass(value, base)
        and value.__module__ == module.__name__
        and not isabstract(value)
    )


def _import_file(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise ImportError(f"no such file: {path}")
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module
