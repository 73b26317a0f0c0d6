"""
The bytecode of a whole package in a file: imports neither look for the files of modules nor open them.

A compilation imports 750 modules of ours and 70 of xDSL: a quarter of that time goes to finding and opening
files, a tenth to compiling the methods of data classes. Processes that imported many modules as usual write
the file when they end, beside Python's own bytecode. An entry is valid for a single state of its source:
after an edit, or in another folder, the module is imported as usual.
"""

from __future__ import annotations

import atexit
import marshal
import mmap
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from types import CodeType, ModuleType
from typing import TypeAlias, cast

PACKAGES = ("stepwell", "xdsl")
"""The packages whose bytecode is joined; they are found as usual, and only the modules in them here."""
MANY_MODULES = 30
"""From so many modules without an entry on a new file is written, which takes 0.1 s once."""
_HEAD_BYTES = 8

_State: TypeAlias = tuple[int, int, int]
_Place: TypeAlias = tuple[int, int]
"""The offset and the size of bytecode in the file."""
_Entry: TypeAlias = tuple[str, str, _State, _Place]
"""The source, the name of Python's own file of bytecode, the state of the source, and the place."""


def _state(source: str) -> _State:
    """The time, size and number of a file, which change with every edit. Raises: OSError."""
    found = os.stat(source)
    return found.st_mtime_ns, found.st_size, found.st_ino


class _Loader(SourceFileLoader):
    """A loader of a source file whose bytecode is known."""

    def __init__(self, name: str, source: str, bytecode: memoryview):
        super().__init__(name, source)
        self.bytecode = bytecode

    def get_code(self, fullname: str) -> CodeType:
        """The code of the module."""
        return cast(CodeType, marshal.loads(self.bytecode))


class JoinedBytecode:
    """The bytecode of the modules in a package, and of texts that it compiles."""

    def __init__(self, package: str, folder: str):
        """Args: `folder` is that of the package's `__init__.py`."""
        self.package = package
        self.path = cache_from_source(os.path.join(folder, "joined.py")).removesuffix(".pyc") + ".joined"
        self.missed = 0
        """The number of modules and texts that the file does not have."""
        self.texts: dict[str, _Place | CodeType] = {}
        self._entries: dict[str, _Entry] = {}
        self._map: mmap.mmap | None = None
        self._data = memoryview(b"")
        with suppress(OSError, ValueError, EOFError, TypeError):  # no file, or one of another Python
            self._read()

    def _read(self) -> None:
        with open(self.path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        data = memoryview(self._map)
        if bytes(data[: len(MAGIC_NUMBER)]) == MAGIC_NUMBER:
            begin = len(MAGIC_NUMBER) + _HEAD_BYTES
            size = int.from_bytes(data[len(MAGIC_NUMBER) : begin], "little")
            self._entries, self.texts = marshal.loads(data[begin : begin + size])
            self._data = data[begin + size :]

    def spec(self, name: str, path: Sequence[str]) -> ModuleSpec | None:
        """The spec of a module in the folders of its parent; None where it is to be imported as usual."""
        entry = self._entries.get(name)
        if entry is None or not self._is_valid(entry, path):
            self.missed += 1
            return None
        source, cached, _, place = entry
        is_package = source.endswith(f"{os.sep}__init__.py")
        loader = _Loader(name, source, self._bytes(place))
        spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
        spec.has_location, spec.cached = True, cached
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(source))
        return spec

    def _is_valid(self, entry: _Entry, path: Sequence[str] | None = None) -> bool:
        """Whether a source has not changed, and is in one of the expected folders."""
        source, _, state, _ = entry
        if path is not None and not any(source.startswith(folder + os.sep) for folder in path):
            return False
        try:
            return _state(source) == state
        except OSError:
            return False

    def _bytes(self, place: _Place) -> memoryview:
        return self._data[place[0] : place[0] + place[1]]

    def code_of(self, text: str) -> CodeType:
        """The code of a text that is no module."""
        known = self.texts.get(text)
        if isinstance(known, tuple):
            return cast(CodeType, marshal.loads(self._bytes(known)))
        if known is None:
            self.missed += 1
            known = self.texts[text] = compile(text, "<string>", "exec", dont_inherit=True)
        return known

    def release(self) -> None:
        """Give back the memory of pages that were read; they are read again where needed."""
        if self._map is not None and hasattr(self._map, "madvise"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def keep(self) -> None:
        """Write a new file if many modules were missing, and bytecode may be written."""
        if self.missed < MANY_MODULES or sys.dont_write_bytecode:
            return
        new = f"{self.path}.{os.getpid()}"
        with suppress(OSError):  # a full disk, a folder of another user: imports go on without it
            os.makedirs(os.path.dirname(new), exist_ok=True)
            try:
                with open(new, "wb") as file:
                    file.writelines(self._contents())
                os.replace(new, self.path)  # other processes may have mapped the old one
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(new)

    def _contents(self) -> Sequence[bytes]:
        """The parts of a new file: the valid entries of the old file, and modules imported as usual."""
        parts, size = list[bytes](), 0

        def placed(code: bytes) -> _Place:
            nonlocal size
            parts.append(code)
            size += len(code)
            return size - len(code), len(code)

        entries = {
            name: (*entry[:3], placed(bytes(self._bytes(entry[3]))))
            for name, entry in self._entries.items()
            if self._is_valid(entry)
        }
        for name, module in list(sys.modules.items()):
            if name.startswith(f"{self.package}.") and name not in entries:
                if (found := _imported(name, module)) is not None:
                    entries[name] = (*found[:3], placed(found[3]))
        texts = {
            text: placed(bytes(self._bytes(known)) if isinstance(known, tuple) else marshal.dumps(known))
            for text, known in self.texts.items()
        }
        index = marshal.dumps((entries, texts))
        return [MAGIC_NUMBER, len(index).to_bytes(_HEAD_BYTES, "little"), index, *parts]


def _imported(name: str, module: ModuleType) -> tuple[str, str, _State, bytes] | None:
    """The entry of an imported module, with its bytecode; None for one that has no source file."""
    spec = getattr(module, "__spec__", None)
    # One that came from the file is of the source as it was then, not as it is.
    if spec is None or spec.name != name or type(spec.loader) is not SourceFileLoader:
        return None
    source, cached = spec.origin, spec.cached
    if not source or not cached:
        return None
    with suppress(OSError, SyntaxError):  # its source is gone, or is being edited
        state = _state(source)
        return source, cached, state, marshal.dumps(spec.loader.get_code(name))
    return None


class _Finder:
    """The finder of the modules in `PACKAGES`."""

    joined: dict[str, JoinedBytecode] = {}

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module, as Python asks for it; None where another finder has it."""
        package, dot, _ = name.partition(".")
        if not dot or path is None or package not in PACKAGES:
            return None
        return cls.of(package).spec(name, path)

    @classmethod
    def of(cls, package: str) -> JoinedBytecode:
        """The bytecode of a package that is imported."""
        if (known := cls.joined.get(package)) is None:
            folder = next(iter(sys.modules[package].__path__))
            known = cls.joined[package] = JoinedBytecode(package, folder)
        return known


def code_of(text: str) -> CodeType:
    """The code of a text of Python, that of a method of a data class, compiled once for all processes."""
    return _Finder.of(PACKAGES[0]).code_of(text)


def release_pages() -> None:
    """Give back the memory of what imports have read: 10 MB in a compilation."""
    for each in _Finder.joined.values():
        each.release()


def _keep() -> None:
    for each in _Finder.joined.values():
        each.keep()


def install() -> None:
    """Put the finder before that of folders, and after those of other packages."""
    if _Finder in sys.meta_path:
        return
    finders = [*sys.meta_path]
    sys.meta_path.insert(finders.index(PathFinder) if PathFinder in finders else len(finders), _Finder)
    atexit.register(_keep)
