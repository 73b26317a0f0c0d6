"""Tensors of PyTorch as arrays and back, without copies where the memory allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stepwell.frontend.torch.tensors import array_of, tensor_of, torch_package
from stepwell.runtime.interface import NARROW_TYPES, Array


def tensor_reader(dtype: Any, name: str) -> Callable[[Any], Array]:
    """A function that gives the array of a tensor of an element type; `name` is for errors."""
    title = str(dtype).removeprefix("torch.")
    if title in NARROW_TYPES:
        return lambda tensor: array_of(tensor, name)

    def read(tensor: Any) -> Array:
        try:
            return (tensor.detach() if tensor.requires_grad else tensor).numpy()
        except RuntimeError:  # conjugated or negated lazily
            return tensor.detach().resolve_conj().resolve_neg().numpy()

    return read


def tensor_writer(dtype: np.dtype[Any]) -> Callable[[Array], Any]:
    """A function that gives the tensor of an array of an element type; the memory is the array's."""
    return tensor_of if dtype.name in NARROW_TYPES else torch_package().from_numpy
