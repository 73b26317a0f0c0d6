"""Plugins: user modules that add dialects, passes and backends to this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isabstract
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TypeGuard, TypeVar

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects._xdsl import plug_in_dialect
from stepwell.lowering.backends import Backend
from stepwell.lowering.kernels.fingerprint import DEPENDENCIES
from stepwell.passes.registry import register_pass
from stepwell.patterns.driver.watch import watch
from stepwell.runtime.backends import register_backend
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.plugins import LOADED, REGISTRIES, UNKEYED, Plugin, loading, place_of

T = TypeVar("T")


def load_plugin(name: str) -> None:
    """
    Import a plugin, and register every dialect object, pass class and backend class that it defines. Runs its
    code, which may register what patterns in text call by name.

    Args: `name` is a dotted module name, or a path that ends in `.py`. Loading one twice does nothing.
    Raises: StepwellError `bad-plugin` when it cannot be imported or defines nothing, `name-taken`.
    """
    before, entries = set(sys.modules), sum(map(len, REGISTRIES))
    is_file = name.endswith(".py")
    name = os.path.abspath(name) if is_file else name
    with loading():
        module = _imported(name, is_file)
        file = module.__file__ or name
        if file in LOADED:
            return
        try:
            registered = _register(module)
        except StepwellError as error:
            del sys.modules[module.__name__]  # so that a mended plugin of this name can be loaded
            raise error.at(file) from None
    modules = _modules_of(module, sys.modules.keys() - before)
    files = {getattr(part, "__file__", None) for part in modules}
    # A module that was imported before has registered its code already; code of other files counts too.
    is_known = any(file in files for registry in REGISTRIES for file in registry.files())
    if not registered and not is_known and sum(map(len, REGISTRIES)) == entries:
        if module.__name__ not in before:
            del sys.modules[module.__name__]
        message = (
            "defines no op, pass, backend or operator, and registers no derivative, predicate or callback"
        )
        raise StepwellError("bad-plugin", name, message)
    for part in modules:
        for pattern in list(vars(part).values()):
            if _is_class_of(pattern, part, RewritePattern) and "match_and_rewrite" in vars(pattern):
                watch(pattern)
    LOADED[file] = Plugin(name, _digest_of(modules))
    UNKEYED.difference_update(file for file in files if file is not None)


def _register(module: ModuleType) -> int:
    """
    Register the dialects, passes and backends of a plugin. Returns: their number.

    Raises: StepwellError `bad-plugin`, `name-taken`.
    """
    defined = list(vars(module).values())
    dialects = [value for value in defined if isinstance(value, Dialect)]
    passes = _with_names([value for value in defined if _is_class_of(value, module, ModulePass)])
    backends = _with_names([value for value in defined if _is_class_of(value, module, Backend)])
    for dialect in dialects:
        plug_in_dialect(dialect)
    for pass_class in passes:
        register_pass(pass_class)
    for backend in backends:
        register_backend(backend.name, backend)
    return len(dialects) + len(passes) + len(backends)


def _imported(name: str, is_file: bool) -> ModuleType:
    """The module of a plugin. Raises: StepwellError `bad-plugin`, `name-taken`, with the line that raised."""
    try:
        return _import_file(Path(name)) if is_file else import_module(name)
    except (Exception, SystemExit) as error:
        lines = [f"{f.f_code.co_filename}:{line}" for f, line in walk_tb(error.__traceback__)]
        if isinstance(error, SyntaxError):
            lines.append(f"{error.filename}:{error.lineno}")
        place = next((line for line in reversed(lines) if line.startswith(name)), name)
        if isinstance(error, StepwellError):
            raise error.at(place) from None
        raise StepwellError("bad-plugin", place, f"{type(error).__name__}: {error}") from error


def _with_names(classes: Sequence[type[T]]) -> list[type[T]]:
    """The classes to register, without the bases of others. Raises: StepwellError `bad-plugin`."""
    is_base = {base for found in classes for base in found.__mro__[1:]}
    named = [found for found in classes if found not in is_base or getattr(found, "name", None)]
    for found in named:
        if not isinstance(getattr(found, "name", None), str):
            help = f'give it the name by which it is called: `name = "{found.__name__.lower()}"`'
            raise StepwellError(
                "bad-plugin", place_of(found), f"class {found.__name__} has no `name`", help=help
            )
    return named


def _modules_of(module: ModuleType, imported: Iterable[str]) -> list[ModuleType]:
    """A plugin and the modules imported with it, by name, those that other fingerprints know left out."""
    known = {"stepwell", *DEPENDENCIES, *sys.stdlib_module_names}
    names = {name for name in imported if name.partition(".")[0] not in known} | {module.__name__}
    found = (sys.modules.get(name) for name in sorted(names))
    return [module for module in found if isinstance(module, ModuleType)]


def _digest_of(modules: Iterable[ModuleType]) -> str:
    digest = sha256()
    for module in modules:
        digest.update(f"{module.__name__}\0".encode())
        if (file := getattr(module, "__file__", None)) is not None:
            digest.update(Path(file).read_bytes())
    return digest.hexdigest()


def _is_class_of(value: object, module: ModuleType, base: type[T]) -> TypeGuard[type[T]]:
    """Whether a value is a concrete subclass of `base` defined in `module`."""
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
    if (known := sys.modules.get(path.stem)) is not None:
        if getattr(known, "__file__", None) == str(path):
            return known  # a plugin, or what one has imported
        raise ImportError(f"another module is named {path.stem} already, give the file another name: {known}")
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look up their module there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module
