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
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

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


@dataclass(frozen=True)
class KeptModel:
    """The entry of a compilation in the model cache."""

    path: Path
    compilation: str
    """The digest of all that the key is made of, but for our sources."""
    stamp: tuple[int, ...]
    """The `stat` data of the model's file before it was read."""

    @property
    def key(self) -> str:
        """The key of the entry. Our sources are read for it (20 ms), where a first answer can do without."""
        return self.compilation + compiler_fingerprint(_SOURCES)

    def load(self) -> ModelImage | None:
        """The cached compiled model; None when there is none, or when a file of external data changed."""
        start, cache = perf_counter(), ModelCache()
        if not cache.has_any(self.compilation):
            return None
        image = cache.load(self.key, ExternalFiles(self.path.parent, model=self.path))
        if image is None:
            return None
        seconds = {"load": round(perf_counter() - start, 4)}
        kernels = image.summary.get("kernels", 0)
        return image._replace(effort={"cached kernels": kernels, "seconds": seconds})

    def store(self, image: ModelImage, external: Mapping[str, memoryview]) -> None:
        """Store a compiled model, unless the model's file has changed since the key was made."""
        if stamp_of(self.path) == self.stamp:
            ModelCache().store(self.key, image, external)


def kept_model(model: Model, options: CompileOptions) -> KeptModel | None:
    """The cache entry of a compilation, present or not; None for a compilation that a key cannot describe."""
    if not isinstance(model, str | Path) or not _is_keyed(options) or _has_pass_context(options) or UNKEYED:
        return None
    path = Path(model)
    if path.suffix in (".mlir", ".keras", ".pb"):  # weights beside it; read by keras; read by tensorflow
        return None
    try:
        tuned = [digest_of(memoryview(file.read_bytes())) for file in database_files(options.tuning_db)]
        stamp = stamp_of(path)
        with path.open("rb") as file:
            content = digest_of(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
    except (OSError, ValueError):
        return None  # the importer reports the error
    target = with_kept_shares(options.description())
    described = {
        "plugins": plugins_fingerprint(),
        "target": target.to_json(),
        "options": {name: getattr(options, name) for name in _options(options, "key")},
        "tuned": tuned,
        "model": [path.name, content],  # the name, because run-time errors contain it
    }
    digest = hashlib.blake2b(json.dumps(described, sort_keys=True, default=list).encode(), digest_size=16)
    return KeptModel(path, digest.hexdigest(), stamp)


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
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
