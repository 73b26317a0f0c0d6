"""
Partitions with a fallback for a missing backend: the artifact contains kernels of Stepwell's for them as
well.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple, cast
from warnings import warn

import numpy as np

from stepwell.runtime.backends import HostFunction, fill, find_backend
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import image_of_bytes

_LENGTH_BYTES = 4
_MISSING = ("missing-package", "unknown-backend")


def with_fallback(backend: str, name: str, code: bytes, image: bytes, symbols: int | None) -> bytes:
    """
    The code of a partition with a fallback: a backend's code, and an artifact that computes the same.

    Args: `symbols` is the number of the input that contains sizes; the artifact has in its stead an input
    without elements of that shape.
    """
    facts = {"backend": backend, "name": name, "bytes": len(code), "symbols": symbols}
    about = json.dumps(facts).encode()
    return len(about).to_bytes(_LENGTH_BYTES, "little") + about + code + image


def load_with_fallback(code: bytes) -> HostFunction:
    """
    The function of code from `with_fallback`: the backend's, or the artifact's with a warning where the
    backend is missing.
    """
    about, own, image = parts_of_fallback(code)
    try:
        return find_backend(about.backend).load(own)
    except StepwellError as error:
        if error.code not in _MISSING:
            raise
        warn(f"partition {about.name} runs on our kernels: {error.message}", RuntimeWarning, stacklevel=2)
    return _own_kernels(image, about.name, about.symbols)


class PartitionFacts(NamedTuple):
    """The facts about a partition with a fallback."""

    backend: str
    name: str
    symbols: int | None


def parts_of_fallback(code: bytes) -> tuple[PartitionFacts, bytes, bytes]:
    """The parts of code from `with_fallback`: facts, the backend's code, the artifact."""
    start = _LENGTH_BYTES + int.from_bytes(code[:_LENGTH_BYTES], "little")
    about = cast("dict[str, object]", json.loads(code[_LENGTH_BYTES:start]))
    end = start + int(cast(int, about["bytes"]))
    symbols = cast("int | None", about["symbols"])
    return PartitionFacts(str(about["backend"]), str(about["name"]), symbols), code[start:end], code[end:]


def _own_kernels(image: bytes, name: str, symbols: int | None) -> HostFunction:
    from stepwell.runtime.model import CompiledModel  # which loads the callees of models: a cycle of modules

    model = CompiledModel(image_of_bytes(image, name))

    def call(inputs: Sequence[object], outputs: list[object]) -> None:
        given = list(inputs)
        if symbols is not None:
            sizes = cast("Sequence[int]", np.asarray(given[symbols]).tolist())
            given[symbols] = np.empty((0, *sizes), np.int64)
        results = model(*given)
        fill(outputs, results if isinstance(results, tuple) else (results,))

    return call
