"""The compiler's fingerprint, on which a cached kernel depends besides its IR, target and options."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

_KERNEL_FOLDERS = ("dialects", "passes", "lowering", "runtime")  # the sources that determine a kernel's code
_DEPENDENCIES = ("xdsl", "llvmlite", "numpy", "ml_dtypes", "onnx")
_KEY_BYTES = 16


@cache
def compiler_fingerprint(folders: tuple[str, ...] = _KERNEL_FOLDERS) -> str:
    """
    A digest of the versions of our dependencies (llvmlite includes LLVM) and of our own sources in `folders`.

    An edited pass therefore never uses a stale object.
    """
    digest = hashlib.blake2b(digest_size=_KEY_BYTES)
    versions = " ".join(version(name) for name in _DEPENDENCIES)
    digest.update(f"{platform.python_version()} {versions}".encode())
    package = Path(__file__).parents[2]
    for folder in folders:
        for source in sorted((package / folder).rglob("*.py")):
            digest.update(str(source.relative_to(package)).encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()


def kernel_key(text: str, options: str) -> str:
    """
    The cache key of a kernel: canonical text, target and options as text, and the compiler's fingerprint.
    """
    digest = hashlib.blake2b(digest_size=_KEY_BYTES)
    for part in (compiler_fingerprint(), options, text):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()
