"""The compiler's fingerprint, on which a cached kernel depends besides its IR, target and options."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.lowering.kernels.source_digest import digest_of_sources
from stepwell.runtime.packages import has_entry_points, installed_version
from stepwell.runtime.plugins import LOADED

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_KERNEL_FOLDERS = ("dialects", "passes", "lowering", "runtime")  # the sources that determine a kernel's code
DEPENDENCIES = ("xdsl", "llvmlite", "numpy", "ml_dtypes", "onnx")
"""The packages that the compiler is built on; llvmlite brings LLVM."""
_KEY_BYTES = 16


@cache
def compiler_fingerprint(folders: tuple[str, ...] = _KERNEL_FOLDERS) -> str:
    """
    A digest of the versions of our dependencies (llvmlite includes LLVM) and of our own sources in `folders`.

    An edited pass therefore never uses a stale object.
    """
    digest = hashlib.blake2b(digest_size=_KEY_BYTES)
    versions = " ".join(installed_version(name) for name in DEPENDENCIES)
    digest.update(f"{sys.version} {versions}".encode())
    package = str(Path(__file__).parents[2])
    for folder in folders:
        digest.update(digest_of_sources(package, folder))
    return digest.hexdigest()


def plugins_fingerprint() -> str:
    """The digests of the loaded plugins, in order, and of the installed ones: they may change any pass."""
    return " ".join([*(plugin.digest for plugin in LOADED.values()), _installed_plugins()])


@cache
def _installed_plugins() -> str:
    """A digest of the packages that entry points of ours name: of their sources, which may be edited."""
    points = _entry_points() if has_entry_points("stepwell.") else []
    digest = hashlib.blake2b(repr(sorted(points)).encode(), digest_size=_KEY_BYTES)
    for package in sorted({point.module.partition(".")[0] for point in points}):
        spec = find_spec(package)
        folders = spec.submodule_search_locations or () if spec is not None else ()
        files = [file for folder in folders for file in sorted(Path(folder).rglob("*.py"))]
        if spec is not None and spec.origin is not None:
            files.append(Path(spec.origin))
        for file in files:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _entry_points() -> list[EntryPoint]:
    """The entry points of ours that installed packages have."""
    from importlib.metadata import distributions

    return [p for d in distributions() for p in d.entry_points if p.group.startswith("stepwell.")]


def kernel_key(text: str, options: str) -> str:
    """
    The cache key of a kernel: canonical text, target and options as text, and the fingerprints of the
    compiler and of plugins.
    """
    digest = hashlib.blake2b(digest_size=_KEY_BYTES)
    for part in (compiler_fingerprint(), plugins_fingerprint(), options, text):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()
