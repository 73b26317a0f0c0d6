"""
Keys of the model cache, by which a compilation is recognized as equal to an earlier one before the model is
read.

The key is made of the model's bytes, the options, the target, all of our sources and loaded plugins: a
compilation that it cannot describe (IR as text, a model in memory, an option that names files, a pass context
of the caller's, operators and lowerings that were registered by code that is no loaded plugin) is never
loaded from the cache.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from time import perf_counter
from typing import TYPE_CHECKING

from stepwell.frontend.formats import choices_beside
from stepwell.lowering.kernels.fingerprint import compiler_fingerprint, plugins_fingerprint
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.external import ExternalFiles
from stepwell.runtime.files.model_cache import ModelCache, digest_of
from stepwell.runtime.image import ModelImage
from stepwell.runtime.machine.tile_shares import with_kept_shares
from stepwell.runtime.plugins import UNKEYED
from stepwell.tools.records.files import database_files

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model

_SOURCES = ("dialects", "frontend", "lowering", "passes", "patterns", "runtime", "tools")
_UNREADABLE = (OSError, ValueError)


@dataclass(frozen=True)
class KeptModel:
    """The entry of a compilation in the model cache."""

    path: Path
    setting: str
    """The digest of all that the key is made of, but for the model's bytes and our sources."""
    stamp: tuple[int, ...]
    """The `stat` data of the model's file before it was read."""

    @cached_property
    def content(self) -> str:
        """
        The digest of the model's bytes, read when first asked for (0.3 s a gigabyte).

        Raises: OSError, ValueError for a file that was deleted or is empty meanwhile.
        """
        with self.path.open("rb") as file:
            content = digest_of(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
        return _short_digest(content)

    @property
    def key(self) -> str:
        """
        The key of the entry. The model and our sources (20 ms) are read for it, which a first answer in a new
        setting does without.

        Raises: as `content`.
        """
        return f"{self.setting}{self.content}{compiler_fingerprint(_SOURCES)}"

    @property
    def source(self) -> tuple[str, str, tuple[int, ...]]:
        """An object that is equal for compilations of the same state of a file in the same setting."""
        return str(self.path.absolute()), self.setting, self.stamp

    def load(self, key: str | None = None) -> ModelImage | None:
        """
        The cached compiled model; None when there is none, or when a file of external data changed.

        Args: `key` is the key of the entry, if another process has stored it.
        """
        start, cache = perf_counter(), ModelCache()
        if key is None:
            if not cache.has_any(self.setting):
                return None
            try:
                key = self.key
            except _UNREADABLE:
                return None  # the importer reports the error
        image = cache.load(key, ExternalFiles(self.path.parent, model=self.path))
        if image is None:
            return None
        seconds = {"load": round(perf_counter() - start, 4)}
        kernels = image.summary.get("kernels", 0)
        return image._replace(effort={"cached kernels": kernels, "seconds": seconds})

    def prepare(self) -> None:
        """Compute the key, for `store`."""
        with suppress(*_UNREADABLE):
            _ = self.key

    def store(self, image: ModelImage, external: Mapping[str, memoryview]) -> None:
        """Store a compiled model, unless the model's file has changed since it was read."""
        with suppress(*_UNREADABLE):
            key = self.key
            if stamp_of(self.path) == self.stamp:  # after its bytes were read for the key
                ModelCache().store(key, image, external)

    def is_stored(self) -> bool:
        """Whether the cache has the compiled model."""
        with suppress(*_UNREADABLE):
            return ModelCache().path(self.key).exists()
        return False


def kept_model(model: Model, options: CompileOptions) -> KeptModel | None:
    """The cache entry of a compilation, present or not; None for a compilation that a key cannot describe."""
    if not isinstance(model, str | Path) or not _is_keyed(options) or _has_pass_context(options) or UNKEYED:
        return None
    path = Path(model)
    if path.suffix in (".mlir", ".keras", ".pb"):  # weights beside it; read by keras; read by tensorflow
        return None
    try:
        tuned = [digest_of(memoryview(file.read_bytes())) for file in database_files(options.tuning_db)]
        status = os.stat(path)
    except OSError:
        return None  # the importer reports the error
    if not S_ISREG(status.st_mode) or not status.st_size:
        return None
    target = with_kept_shares(options.description())
    described = {
        "plugins": plugins_fingerprint(),
        "target": target.to_json(),
        "options": {name: getattr(options, name) for name in _options(options, "key")},
        "tuned": tuned,
        # The name, because run-time errors contain it.
        "model": [path.name, status.st_size, *choices_beside(path)],
    }
    setting = _short_digest(json.dumps(described, sort_keys=True, default=list))
    return KeptModel(path, setting, _stamp(status))


def _short_digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _is_keyed(options: CompileOptions) -> bool:
    """Whether a key can describe all options that are set."""
    default = type(options)()
    return options.use_cache and all(
        getattr(options, name) == getattr(default, name) for name in _options(options, "never")
    )


def _options(options: CompileOptions, role: str) -> list[str]:
    """The options that play a role in keys: `key`, `free` or `never`."""
    return [option.name for option in fields(options) if option.metadata["cache"] == role]


def _has_pass_context(options: CompileOptions) -> bool:
    """
    Whether the caller has entered a pass context, or requires passes that it registered itself; asked without
    importing the compiler.
    """
    if (module := sys.modules.get("stepwell.passes.context")) is None:
        return False
    registry = sys.modules["stepwell.passes.registry"]
    return module.PassContext.is_entered() or any(
        map(registry.is_registered_by_hand, options.required_passes)
    )


def expect_unchanged(path: Path, stamp: Sequence[int]) -> None:
    """Require a file, unless it was renamed or deleted, to have its stamp still. Raises: StepwellError."""
    with suppress(OSError):
        if stamp_of(path) != tuple(stamp):
            raise StepwellError("file-changed", str(path), "the model's file changed after it was read")


def stamp_of(path: Path) -> tuple[int, ...]:
    """The `stat` data by which a change of a file is noticed. Raises: OSError."""
    return _stamp(os.stat(path))


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
