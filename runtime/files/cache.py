"""
The cache on disk: compiled code by key, safe with several processes at once, bounded in size.

Each entry is one file, written to a temporary name and renamed, so a reader sees a whole entry or none; a
checksum guards against half-dead disks. The folder belongs to the user alone (0700), since it contains code.
Kernels are stored here, whole models by `model_cache`; each kind has a bound of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from stepwell.runtime.environment import CACHE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import write_bytes
from stepwell.runtime.packages import needed

_MAGIC = b"STEPWELLK1\n"
_DIGEST_BYTES = 16
MAX_BYTES = 1 << 30
"""Entries past this are dropped, least recently used first."""
_TRIM_EVERY = 64  # stores between two checks of the folder's size


@dataclass(frozen=True)
class CacheInfo:
    """The folder of a cache, its number of entries, and their bytes."""

    folder: Path
    entries: int
    total_bytes: int


def default_folder() -> Path:
    """`STEPWELL_CACHE` when set, else the platform's cache folder for the user."""
    if override := CACHE.value():
        return Path(override)
    with needed("finding the cache's folder"):
        from platformdirs import user_cache_path
    return user_cache_path("stepwell", appauthor=False)


class CacheFolder:
    """The entries of one kind: files with a suffix of their own, by key (hexadecimal digests)."""

    def __init__(self, suffix: str, folder: Path | None, max_bytes: int):
        self.folder = folder or default_folder()
        self.max_bytes = max_bytes
        self._suffix = suffix

    def make(self) -> None:
        """Make the folder, for the user alone. Raises: OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, key: str) -> Path:
        """The file of an entry."""
        return self.folder / f"{key}.{self._suffix}"

    def has_any(self, prefix: str) -> bool:
        """Whether there are entries whose keys begin with a prefix."""
        with suppress(OSError):
            return any(name.startswith(prefix) for name in os.listdir(self.folder))
        return False

    def trim(self) -> None:
        """Drop the least recently used entries until the folder is within its bound."""
        entries = sorted(self._entries(), key=lambda entry: entry[1])
        total = sum(size for _, _, size in entries)
        for path, _, size in entries:
            if total <= self.max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size

    def clear(self) -> int:
        """Drop every entry and return how many there were."""
        entries = self._entries()
        for path, _, _ in entries:
            path.unlink(missing_ok=True)
        return len(entries)

    def info(self) -> CacheInfo:
        """Folder, number of entries and bytes."""
        entries = self._entries()
        return CacheInfo(self.folder, len(entries), sum(size for _, _, size in entries))

    def _entries(self) -> list[tuple[Path, float, int]]:
        found: list[tuple[Path, float, int]] = []
        try:
            paths = list(self.folder.glob(f"*.{self._suffix}"))
        except OSError:
            return found
        for path in paths:
            try:
                status = path.stat()
            except OSError:
                continue  # another process dropped it
            found.append((path, status.st_mtime, status.st_size))
        return found


class KernelCache(CacheFolder):
    """Objects with JSON metadata by key. A cache that cannot be written is silently empty."""

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES):
        super().__init__("kernel", folder, max_bytes)
        self._stores = 0

    def load(self, key: str) -> tuple[bytes, dict[str, object]] | None:
        """The object and metadata stored under `key`, or None when there is none or the file is damaged."""
        path = self.path(key)
        try:
            data = path.read_bytes()
            os.utime(path)  # recently used: trimmed last
        except OSError:
            return None
        head = len(_MAGIC) + _DIGEST_BYTES
        body = data[head:]
        if not data.startswith(_MAGIC) or _digest(body) != data[len(_MAGIC) : head]:
            path.unlink(missing_ok=True)
            return None
        line, _, code = body.partition(b"\n")
        return code, cast(dict[str, object], json.loads(line))

    def store(self, key: str, code: bytes, meta: Mapping[str, object]) -> None:
        """Store an object under `key`. A full or read-only disk is no error: the next run compiles again."""
        body = json.dumps(meta, sort_keys=True).encode() + b"\n" + code
        try:
            self.make()
            write_bytes(self.path(key), _MAGIC + _digest(body) + body)
        except (OSError, StepwellError):
            return
        self._stores += 1
        if self._stores % _TRIM_EVERY == 0:
            self.trim()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
