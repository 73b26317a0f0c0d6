"""Tensors of torch as arrays that share their memory."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from stepwell.frontend.torch.records import Array
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import NARROW_TYPES, dtype_from_name
from stepwell.runtime.packages import needed


def torch_package() -> Any:
    """The package torch. Raises: StepwellError `missing-package`."""
    with needed("a PyTorch program in memory", install="'stepwell[torch]'"):
        return import_module("torch")


def dtype_name(dtype: Any) -> str:
    """The name that numpy and ml_dtypes have for a dtype of torch."""
    return str(dtype).removeprefix("torch.")


def array_of(tensor: Any, name: str) -> Array:
    """
    A tensor as an array of the same memory; one that is not contiguous is copied.

    Raises: StepwellError `unsupported` for a tensor that is not dense, or not in this process's memory.
    """
    if tensor.device.type != "cpu":
        message = f"the tensor {name!r} is on the device {tensor.device}"
        help = "move the module to the CPU: module.cpu()"
        raise StepwellError("unsupported", None, message, help=help)
    if str(tensor.layout) != "torch.strided":
        raise StepwellError("unsupported", None, f"the tensor {name!r} has layout {tensor.layout}")
    plain = tensor.detach()
    title = dtype_name(plain.dtype)
    if title not in NARROW_TYPES:
        return np.asarray(plain.numpy())
    torch = import_module("torch")
    wide = torch.uint16 if plain.element_size() == 2 else torch.uint8
    return plain.contiguous().view(wide).numpy().view(dtype_from_name(title))


def tensor_of(array: Array) -> Any:
    """An array as a tensor of the same memory."""
    torch = torch_package()
    if array.dtype.name not in NARROW_TYPES:
        return torch.from_numpy(array)
    plain = np.dtype(f"uint{8 * array.dtype.itemsize}")
    return torch.from_numpy(array.view(plain)).view(getattr(torch, array.dtype.name))
