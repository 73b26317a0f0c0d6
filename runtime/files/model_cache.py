"""
The cache of whole models: the result of an identical earlier compilation, mapped from one file.

An entry is an artifact. It also lists the files of external data that the compilation read, with digests: it
is valid only while they are unchanged.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image, save
from stepwell.runtime.files.cache import CacheFolder
from stepwell.runtime.files.external import ExternalFiles
from stepwell.runtime.files.recipes import release_pages
from stepwell.runtime.image import ModelImage

if TYPE_CHECKING:
    from _hashlib import HASH

MAX_BYTES = 2 << 30
"""
Models past this are dropped, least recently used first; a model of more than half of it is not stored at all.
"""
_BESIDE = "files beside the model"
_PARALLEL_BYTES = 1 << 22


class ModelCache(CacheFolder):
    """Compiled models by key. A cache that cannot be written is silently empty."""

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES):
        super().__init__("model", folder, max_bytes)

    def load(self, key: str, external: ExternalFiles) -> ModelImage | None:
        """
        The model stored under `key`, with mapped weights.

        Returns: None if there is no such model, if its file is damaged, or if an external file of the model,
        looked up in `external`, has changed.
        """
        path = self.path(key)
        try:
            os.utime(path)  # recently used: trimmed last
            image = load_image(path)
            if image.weight_check is not None:
                image.weight_check.wait()
        except OSError:
            return None
        except StepwellError:
            path.unlink(missing_ok=True)
            return None
        summary = dict(image.summary)
        beside = cast(Mapping[str, str], summary.pop(_BESIDE, {}))
        try:
            if any(digest_of(external.whole(name)) != digest for name, digest in beside.items()):
                return None
        except StepwellError:
            return None  # missing, or not safe to open any more: the importer reports it
        return image._replace(summary=summary)

    def store(self, key: str, image: ModelImage, external: Mapping[str, memoryview]) -> None:
        """Store a model, and the digests of its files of external data. A full disk is no error."""
        if sum(array.nbytes for array in image.weights) > self.max_bytes // 2:
            return
        beside = {name: digest_of(data) for name, data in external.items()}
        try:
            self.make()
            save(image._replace(summary={**image.summary, _BESIDE: beside}), self.path(key))
        except (OSError, StepwellError):
            return
        self.trim()


def digest_of(data: memoryview) -> str:
    """
    The digest of a file; of both halves at the same time when it is large (100 MB take 57 ms on one).

    The pages of a large mapped file are given back: the weights of a compiled model are in memory already.
    """
    if len(data) < _PARALLEL_BYTES:
        return hashlib.sha256(data).hexdigest()
    middle = len(data) // 2
    halves = [hashlib.sha256(), hashlib.sha256()]
    other = Thread(target=_update, args=(halves[1], data[middle:]))
    other.start()
    _update(halves[0], data[:middle])
    other.join()
    return "".join(half.hexdigest() for half in halves)


def _update(digest: HASH, data: memoryview) -> None:
    """Add data to a digest, piece by piece; the pages of a mapped file do not stay in memory."""
    for start in range(0, len(data), _PARALLEL_BYTES):
        piece = data[start : start + _PARALLEL_BYTES]
        digest.update(piece)
        release_pages(np.frombuffer(piece, np.uint8))
