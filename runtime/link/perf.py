"""
Linked code made known to profilers and to unwinders of this process, where STEPWELL_PERF is set.

`perf` reads names and addresses of generated functions from `/tmp/perf-PID.map`. Unwinders of the process,
such as `backtrace` and those of debuggers' and profilers' libraries, know a frame of generated code by the
tables (`.eh_frame`) that are registered with libgcc.
Sources: Linux, tools/perf/Documentation/jit-interface.txt; GCC, libgcc/unwind-dw2-fde.c.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

from stepwell.runtime.environment import PERF
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.warned import warn

_UNWINDER = "libgcc_s.so.1"
_REGISTER, _DEREGISTER = "__register_frame", "__deregister_frame"


def announce(code: LinkedCode, base: int, names: Mapping[str, str]) -> Callable[[], object] | None:
    """
    Make mapped code known; returns the function that must be called before it is unmapped, if there is one.

    Args: `base` is the address of the code; `names` are better names for some of its functions.
    Warns: RuntimeWarning when the map cannot be written.
    """
    _write_map(
        f"{base + offset:x} {size:x} {_shown(name, names)}\n"
        for name, (offset, size) in code.functions.items()
        if size
    )
    offset, size = code.frames
    start = code.text_bytes + offset - code.data_offset
    library = _unwinder() if _has_end(code.contents[start : start + size]) else None
    if library is None:
        return None
    getattr(library, _REGISTER)(base + offset)
    return partial(getattr(library, _DEREGISTER), base + offset)


def _has_end(frames: bytes) -> bool:
    """Whether an empty record ends a table of frames: each begins with its length."""
    at = 0
    while at + 4 <= len(frames):
        length = int.from_bytes(frames[at : at + 4], "little")
        if length == 0:
            return at > 0
        at += 4 + length
    return False


def _shown(name: str, names: Mapping[str, str]) -> str:
    """The name of a function in the map; `k.body0` is the loop of the function `k` that the pool runs."""
    function, dot, part = name.partition(".")
    text = f"{names.get(function, function)}{dot}{part}"
    return "".join(c if c.isprintable() else "?" for c in text)


def _write_map(rows: Iterable[str]) -> None:
    """Append to the map of this process, as all of its generators of code do."""
    path = f"/tmp/perf-{os.getpid()}.map"
    try:
        # The folder is open to all users: whatever another one has put there is not written to.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "wb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
                raise OSError("it is not a file of this user alone")
            file.write("".join(rows).encode("utf-8", "replace"))
    except OSError as error:
        warn(f"{PERF.name}: {path} is not written: {error.strerror or error}", RuntimeWarning)


@cache
def _unwinder() -> Any:
    """The library whose functions take whole tables, as others' of these names do not; None without it."""
    try:
        library = ctypes.CDLL(_UNWINDER)
        for name in (_REGISTER, _DEREGISTER):
            getattr(library, name).argtypes, getattr(library, name).restype = [ctypes.c_void_p], None
    except (OSError, AttributeError):
        return None
    return library
