"""Operators of PyTorch that torch itself runs, where a program of PyTorch has some without a conversion."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stepwell.frontend.torch.tensors import array_of, torch_package
from stepwell.lowering.backends.base import Arrays, Backend, Constants
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

    from stepwell.runtime.machine.target import TargetDescription


class TorchBackend(Backend):
    """Runs single calls of torch's operators, which `convert-torch-to-graph` makes."""

    name = "torch"

    def require(self) -> None:
        """Raises: StepwellError `missing-package`."""
        torch_package()

    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """Partitions of `graph` ops are not computed. Raises: StepwellError `unsupported`."""
        raise StepwellError("unsupported", func, "torch runs operators of PyTorch, and no other ops")

    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """A function that calls the operator."""
        call = cast("Mapping[str, Any]", json.loads(code))
        torch, operator = torch_package(), operator_of(str(call["target"]))
        arguments = cast("Mapping[str, object]", call["arguments"])

        def run(inputs: Arrays, outputs: list[Array]) -> None:
            def tensor(number: int) -> Any:
                return _tensor(inputs[number], torch)

            def size(number: object) -> int:
                return int(inputs[cast(int, number)])

            with torch.no_grad():
                given = {name: value_of(value, tensor, size, torch) for name, value in arguments.items()}
                made = operator(**given)
            results = cast("Sequence[Any]", made if isinstance(made, list | tuple) else [made])
            for number, result in enumerate(results):
                if not isinstance(result, torch.Tensor):
                    continue
                array = array_of(result, str(call["target"]))
                if cast(object, outputs[number]) is None:
                    outputs[number] = np.array(array)
                elif outputs[number].shape == array.shape:
                    outputs[number][...] = array

        return run


def operator_of(target: str) -> Callable[..., Any]:
    """
    The operator of an overload, such as `aten.add.Tensor`, of those that torch has registered.

    A model names it, so it must be an operator: `torch.ops` has functions that load libraries, too.
    Raises: StepwellError `unsupported-op`.
    """
    torch = torch_package()
    found: Any = torch.ops
    parts = target.split(".")
    for part in parts if len(parts) == 3 else ():
        found = getattr(found, part, None)
    if not isinstance(found, torch._ops.OpOverload):
        help = "import the library that registers it before the model is loaded"
        raise StepwellError("unsupported-op", None, f"torch has no operator {target!r}", help=help)
    return found


def value_of(
    value: object, tensor: Callable[[int], Any], size: Callable[[object], int], torch: Any
) -> object:
    """
    An argument of a call as text has it.

    Args: `tensor` gives operands by number, and `size` open sizes; `torch` is the package.
    """
    if isinstance(value, list):
        return [value_of(item, tensor, size, torch) for item in cast("Sequence[object]", value)]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = cast("dict[str, Any]", value).items()
    if kind == "dtype":
        return getattr(torch, content)
    return size(content) if kind == "size" else tensor(cast(int, content))


def _tensor(array: Array, torch: Any) -> Any:
    """A tensor of an array's memory, which torch takes for writable and does not write."""
    dtype = getattr(torch, array.dtype.name)
    if not array.size:
        return torch.empty(array.shape, dtype=dtype)
    contiguous = np.ascontiguousarray(array)
    memory = (ctypes.c_char * contiguous.nbytes).from_address(contiguous.ctypes.data)
    tensor = torch.frombuffer(memory, dtype=dtype).reshape(array.shape)
    return tensor.clone() if contiguous is not array else tensor
