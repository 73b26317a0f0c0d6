"""The op classes of a dialect, found in its modules."""

from __future__ import annotations

from types import ModuleType

from xdsl.ir import Operation


def ops_in(*modules: ModuleType) -> list[type[Operation]]:
    """The op classes among the names of modules, imported ones too, each once and in order."""
    found = (value for module in modules for value in vars(module).values() if isinstance(value, type))
    return list(
        dict.fromkeys(each for each in found if issubclass(each, Operation) and hasattr(each, "name"))
    )
