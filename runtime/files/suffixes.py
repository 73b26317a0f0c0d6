"""The suffixes of exported files: of those that programs link, load or compile."""

from __future__ import annotations

from collections.abc import Mapping

SYSTEM_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "linux": (".o", ".a", ".so"),
    "windows": (".o", ".a", ".dll"),
    "apple": (".o", ".a", ".dylib"),
    "none": (".o", ".a"),
}
"""The suffixes of objects, static and shared libraries for each system."""
CODE_SUFFIXES = tuple(dict.fromkeys(suffix for each in SYSTEM_SUFFIXES.values() for suffix in each))
WASM_SUFFIXES = (".wasm", ".tgz")
SOURCE_SUFFIX = ".c"
PROJECT_SUFFIX = ".tar"
EXPORT_SUFFIXES = (*CODE_SUFFIXES, SOURCE_SUFFIX, *WASM_SUFFIXES, PROJECT_SUFFIX)
"""The suffixes of files that programs link, load or compile: machine code, C, WebAssembly, a project."""
LIBRARY_SUFFIX = ".so"
