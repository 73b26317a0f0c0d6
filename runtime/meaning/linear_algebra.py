"""Linear algebra that the host computes."""

from __future__ import annotations

import numpy as np

from stepwell.runtime.meaning import meaning
from stepwell.runtime.meaning.floats import Numbers


@meaning("host.inverse")
def inverse(x: Numbers) -> Numbers:
    """The inverses of square matrices, computed in f32 or wider. Raises: ValueError for a singular one."""
    try:
        return np.linalg.inv(x.astype(np.result_type(x.dtype, np.float32))).astype(x.dtype)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"Inverse: {error}") from None
