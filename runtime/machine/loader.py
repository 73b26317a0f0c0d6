"""Loading of machine code into this process, and the addresses of its functions."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from stepwell.runtime.errors import InternalError
from stepwell.runtime.link.code import PAGE_BYTES, Code, LinkedCode, ObjectFiles
from stepwell.runtime.link.memory import MappedCode
from stepwell.runtime.packages import needed

if TYPE_CHECKING:
    import llvmlite.binding as llvm

_SYSTEMS_WITHOUT_ELF = ("darwin", "win32", "cygwin")
_library_numbers = itertools.count()


class Library:
    """
    Loaded machine code. Addresses are valid as long as the library lives: store a reference to it with every
    caller.
    """

    def __init__(self, code: Code, names: Mapping[str, str] | None = None):
        """
        Args: `names` are better names for some functions, for profilers.
        Raises: StepwellError `bad-artifact` for code that calls a function outside of the allowed ones;
        `missing-package` for object files that only LLVM can link, without LLVM; InternalError when LLVM
        refuses object files, or when they are for another system.
        """
        self._loaded = (
            MappedCode(code, names) if isinstance(code, LinkedCode) else _linked_by_llvm(code.objects)
        )

    def address(self, function: str) -> int:
        """The address of a function. Raises: InternalError when the code does not define it."""
        try:
            return self._loaded.address(function)
        except KeyError:
            message = f"compiled code could not be loaded: it defines no function {function!r}"
            raise InternalError(None, message) from None

    def keep(self) -> None:
        """Leave the code in memory until the process ends: threads that nothing stops may still run in it."""
        self._loaded.keep()


def load_objects(objects: Sequence[bytes]) -> Library:
    """Link and load object files, made for this machine, as one library. Raises: as `linked`, `Library`."""
    return Library(linked(objects))


def linked(objects: Sequence[bytes]) -> Code:
    """
    Object files, which the compiler made, as the code of a model image.

    Raises: InternalError when they do not fit together.
    """
    from stepwell.runtime.link.elf import is_elf, machine_of  # which loading does not need
    from stepwell.runtime.link.linker import link

    if not all(is_elf(data) and machine_of(data) in PAGE_BYTES for data in objects):
        return ObjectFiles(tuple(objects))
    try:
        return link(objects)
    except ValueError as error:
        raise InternalError(None, f"compiled code could not be linked: {error}") from None


def _linked_by_llvm(objects: Sequence[bytes]) -> _LinkedByLLVM:
    if sys.platform not in _SYSTEMS_WITHOUT_ELF:  # whatever it is, LLVM may end the process over it
        message = f"compiled code could not be loaded: {sys.platform} has no object files of this format"
        raise InternalError(None, message)
    return _LinkedByLLVM(objects)


class _LinkedByLLVM:
    """Object files of other formats than ELF, linked by LLVM's JIT when they are loaded."""

    def __init__(self, objects: Sequence[bytes]):
        with needed("loading code that is not in ELF format"):
            import llvmlite.binding as llvm
        self._name = f"stepwell{next(_library_numbers)}"
        self._jit = _jit()
        builder = llvm.JITLibraryBuilder()
        for data in objects:
            builder.add_object_img(data)
        builder.add_current_process()
        self._trackers = [_attempt(lambda: builder.link(self._jit, self._name))]
        self._addresses: dict[str, int] = {}

    def address(self, function: str) -> int:
        if function not in self._addresses:
            tracker = _attempt(lambda: self._jit.lookup(self._name, function))
            self._trackers.append(tracker)
            self._addresses[function] = int(tracker[function])
        return self._addresses[function]

    def keep(self) -> None:
        _kept.append(self)


_kept: list[_LinkedByLLVM] = []


@cache
def _jit() -> llvm.LLJIT:
    """The JIT of this process; libraries are added and removed, the JIT stays."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler(suppress_errors=True)


def _attempt(load: Callable[[], llvm.ResourceTracker]) -> llvm.ResourceTracker:
    try:
        return load()
    except RuntimeError as error:
        raise InternalError(None, f"compiled code could not be loaded: {str(error).strip()}") from None
