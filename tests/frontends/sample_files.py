"""Sample files: the inputs and the results of a case, as arrays in a file."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from stepwell.runtime.interface import Array


def arrays(inputs: Iterable[Array], results: Iterable[Array]) -> bytes:
    """The inputs `in0`, `in1`, …, and the results `out0`, … of a case."""
    kept: dict[str, Any] = {f"in{i}": each for i, each in enumerate(inputs)}
    stream = io.BytesIO()
    kept |= {f"out{i}": each for i, each in enumerate(results)}
    np.savez(stream, **kept)
    return stream.getvalue()
