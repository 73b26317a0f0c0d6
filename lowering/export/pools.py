"""Memory pools of exported functions: memories of the program's in place of one workspace."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import Entry


def expect_no_pools(pools: Mapping[str, int] | None) -> None:
    """Refuse memory pools for WebAssembly. Raises: StepwellError `bad-option`."""
    if pools is not None:
        message = "memory pools are for programs in C, and a module of WebAssembly has one memory"
        raise StepwellError("bad-option", None, message, help="leave --memory-pools out")


def expect_planned(functions: Mapping[str, Entry], pools: Mapping[str, int] | None) -> None:
    """Refuse pools for code whose memory is one arena. Raises: StepwellError `bad-option`."""
    if pools is not None and not all(entry.pools for entry in functions.values()):
        message = "memory pools are chosen when a model is compiled, and the model is compiled already"
        raise StepwellError("bad-option", None, message, help="give it the model's own file")


def pools_of(functions: Mapping[str, Entry]) -> dict[str, int]:
    """The bytes of each pool that are enough for any of the functions."""
    found: dict[str, int] = {}
    for entry in functions.values():
        for pool, size in entry.pools.items():
            found[pool] = max(size, found.get(pool, 0))
    return found


def workspace_text(functions: Mapping[str, Entry]) -> str:
    """The bytes of the workspace, or of each pool, of each function."""
    sizes = [(name, _memory_text(entry)) for name, entry in functions.items()]
    return ", ".join(f"{name}: {size}" if name else size for name, size in sizes)


def _memory_text(entry: Entry) -> str:
    pools = ", ".join(f"{pool}: {size}" for pool, size in entry.pools.items())
    return pools or str(entry.interface.arena_bytes)
