"""Programs of accelerators in a module, which their backends run: a lazy table by the names of ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolOpInterface

from stepwell.runtime.meaning import Array

if TYPE_CHECKING:
    from xdsl.ir import Operation

_RUNNERS: Mapping[str, str] = {
    "npu.binary": "stepwell.lowering.backends.npu:run_program",
    "npu.program": "stepwell.lowering.backends.npu:run_program",
}
"""The function `run(op, arrays)` of each kind of program, which returns the arrays after it."""


def programs_of(module: ModuleOp) -> dict[str, Callable[[Sequence[Array]], list[Array]]]:
    """The programs of a module by name; nothing of a backend is imported before a program runs."""
    symbols = SymbolOpInterface()
    found = {symbols.get_sym_attr_name(op): op for op in module.ops if op.name in _RUNNERS}
    return {name.data: partial(_run, op) for name, op in found.items() if name is not None}


def _run(op: Operation, arrays: Sequence[Array]) -> list[Array]:
    place, _, attribute = _RUNNERS[op.name].partition(":")
    return cast("list[Array]", getattr(import_module(place), attribute)(op, arrays))
