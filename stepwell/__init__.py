"""Stepwell: a deep-learning compiler that people can read."""

from importlib import import_module
from os.path import dirname, isdir
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwell.runtime.errors import StepwellError as StepwellError
    from stepwell.runtime.model import load as load
    from stepwell.tools.driver.compile import compile as compile

__version__ = "0.1.0"

if not isdir(f"{__path__[0]}/runtime"):  # a clone without symbolic links: the folders are beside this one
    __path__.append(dirname(__path__[0]))

# Public names found on first use, so that `import stepwell` stays light: name -> "module:attribute".
_LAZY = {
    "compile": "stepwell.tools.driver.compile:compile",
    "load": "stepwell.runtime.model:load",
    "StepwellError": "stepwell.runtime.errors:StepwellError",
}

__all__ = ["StepwellError", "compile", "load"]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'stepwell' has no attribute {name!r}")
    module, attribute = _LAZY[name].split(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value
