"""Arrays of the constants of level 0."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from stepwell.dialects import onnx
from stepwell.dialects.constants import array_of
from stepwell.runtime.files.weights import WeightStore

Array: TypeAlias = npt.NDArray[np.generic]


def constant_of(value: SSAValue | None, weights: WeightStore) -> Array | None:
    """The array of an initializer or a node `Constant`; None for other values."""
    owner = None if value is None else value.owner
    given = owner.properties.get("value") if isinstance(owner, onnx.ConstantOp) else None
    return None if given is None else array_of(given, weights)
