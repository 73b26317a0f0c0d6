"""Loading of object files into this process, and the addresses of their functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import llvmlite.binding as llvm

from stepwell.runtime.errors import InternalError
from stepwell.runtime.machine.native import target_machine
from stepwell.runtime.machine.target import host_target

_library_numbers = itertools.count()


class Library:
    """
    Loaded machine code. Addresses are valid as long as the library lives: store a reference to it with every
    caller.

    Symbols resolve among the objects of one library, then in the C libraries of this process.
    """

    def __init__(self, objects: Sequence[bytes]):
        """Raises: InternalError when an object is damaged or needs an undefined symbol."""
        self._name = f"stepwell{next(_library_numbers)}"
        self._jit = _jit()
        builder = llvm.JITLibraryBuilder()
        for data in objects:
            builder.add_object_img(data)
        builder.add_current_process()
        self._trackers = [_attempt(lambda: builder.link(self._jit, self._name))]
        self._addresses: dict[str, int] = {}

    def address(self, symbol: str) -> int:
        """
        The address of a function or global variable.

        Raises: InternalError when the objects do not define `symbol`, or need an undefined symbol.
        """
        if symbol not in self._addresses:
            tracker = _attempt(lambda: self._jit.lookup(self._name, symbol))
            self._trackers.append(tracker)
            self._addresses[symbol] = int(tracker[symbol])
        return self._addresses[symbol]


def load_objects(objects: Iterable[bytes]) -> Library:
    """Load object files, made for this machine, as one library. Raises: as `Library`."""
    return Library(tuple(objects))


@cache
def _jit() -> llvm.LLJIT:
    """The JIT of this process; libraries are added and removed, the JIT stays."""
    return llvm.create_lljit_compiler(target_machine(host_target(), jit=True), suppress_errors=True)


def _attempt(load: Callable[[], llvm.ResourceTracker]) -> llvm.ResourceTracker:
    try:
        return load()
    except RuntimeError as error:
        raise InternalError(None, f"compiled code could not be loaded: {str(error).strip()}") from None
