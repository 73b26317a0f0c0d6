"""Callees of models that are registered functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stepwell.runtime.ffi import get, tvm_ffi
from stepwell.runtime.ffi.results import filled
from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from stepwell.runtime.backends import HostFunction


def load_function(code: bytes) -> HostFunction:
    """
    The callee that calls a registered function; `code` names it as JSON.

    The function gets copies: the model uses its own arrays again after the call.
    Raises: StepwellError `unknown-function`, `missing-package`.
    """
    function = get(str(json.loads(code)["function"]))
    package = tvm_ffi()

    def call(inputs: Sequence[object], outputs: list[object]) -> None:
        result = function(*(package.from_dlpack(np.array(value)) for value in inputs))
        results = list(result) if isinstance(result, package.Array | tuple | list) else [result]
        if len(results) != len(outputs):
            raise ValueError(f"the function returns {len(results)} values, and the model uses {len(outputs)}")
        for i, value in enumerate(results):
            outputs[i] = filled(cast("Array | None", outputs[i]), _array(value), i)

    return call


def _array(value: Any) -> Array:
    return np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
