"""Weights of a module that are in a file: the module has tensors without values, on the device `meta`."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.safetensors import stored_tensors
from stepwell.frontend.torch.tensors import dtype_name, tensor_of, torch_package
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array


@dataclass
class _Tensor:
    """A parameter or buffer of a module, with all names under which the module has it."""

    value: Any
    names: list[str] = field(default_factory=list[str])


@contextmanager
def given_weights(module: Any, path: object, ctx: StepwellContext) -> Generator[None]:
    """
    The module with the weights of a file (`.safetensors`, or an index of several) while the block runs.

    The tensors are views of the mapped file; those that the file lacks stay the module's own.
    Raises: StepwellError `bad-model` that lists all tensors without values, or with other types than the
    file's; `invalid-weights`.
    """
    torch_package()
    stored: Mapping[str, Array] = {}
    if path is not None:
        if not isinstance(path, str | Path):
            message = f"weights_from must be the path of a file, found {type(path).__name__}"
            raise StepwellError("bad-model", None, message)
        stored, files = stored_tensors(Path(path))
        ctx.weights.rest_on(files.states)
    tensors = list(_tensors(module))
    new = _from_file(tensors, {_prefix(module, stored) + name: array for name, array in stored.items()})
    new |= _computed(module, [each for each in tensors if each.names[0] not in new])
    _expect_values(tensors, new, path)
    old = [(name, each.value) for each in tensors if each.names[0] in new for name in each.names]
    try:
        for each in tensors:
            if each.names[0] in new:
                for name in each.names:
                    _set(module, name, new[each.names[0]])
        yield
    finally:
        for name, value in old:
            _set(module, name, value)


def _tensors(module: Any) -> Iterator[_Tensor]:
    """The parameters and buffers of a module; tied ones are one."""
    found: dict[int, _Tensor] = {}
    for named in (module.named_parameters, module.named_buffers):
        for name, value in named(remove_duplicate=False):
            found.setdefault(id(value), _Tensor(value)).names.append(name)
    yield from found.values()


def _prefix(module: Any, stored: Mapping[str, Array]) -> str:
    """The path of the part that the names of a file begin at: a module around it has no other part."""
    path = ""
    while not any(name in stored for name in module.state_dict(keep_vars=True)):
        parts = list(module.named_children())
        if len(parts) != 1:
            return ""
        ((name, module),) = parts
        path += f"{name}."
    return path


def _from_file(tensors: list[_Tensor], stored: Mapping[str, Array]) -> dict[str, Any]:
    """The values in a file by the first name of each tensor. Raises: StepwellError `bad-model`."""
    torch = torch_package()
    new: dict[str, Any] = {}
    wrong: list[str] = []
    for each in tensors:
        name = next((name for name in each.names if name in stored), None)
        if name is None:
            continue
        array, value = stored[name], each.value
        if array.shape != tuple(value.shape) or array.dtype.name != dtype_name(value.dtype):
            wanted = f"{dtype_name(value.dtype)}{list(value.shape)}"
            wrong.append(
                f"{name} is {wanted} in the module, {array.dtype.name}{list(array.shape)} in the file"
            )
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the memory is read-only, and an export does not write
            tensor = tensor_of(array)
        is_parameter = isinstance(value, torch.nn.Parameter)
        new[each.names[0]] = torch.nn.Parameter(tensor, requires_grad=False) if is_parameter else tensor
    if wrong:
        message = f"{len(wrong)} tensors of the file do not fit the module"
        help = (
            "make the module of the checkpoint's sizes and element types, such as module.to(torch.bfloat16)"
        )
        raise StepwellError("bad-model", None, message, note=wrong[:20], help=help)
    return new


def _computed(module: Any, tensors: list[_Tensor]) -> dict[str, Any]:
    """
    Buffers that no file has, such as frequencies of rotary positions, by the model's own function for them.

    Models of transformers have `_init_weights`, which fills such buffers of a part. It is called for parts
    without parameters of their own.
    """
    torch = torch_package()
    owner = next((each for each in module.modules() if hasattr(each, "_init_weights")), None)
    if owner is None:
        return {}
    lost = [each for each in tensors if _is_meta(each.value) and each.value.dtype != torch.bool]
    parts = {each.names[0]: module.get_submodule(each.names[0].rpartition(".")[0]) for each in lost}
    lost = [each for each in lost if next(parts[each.names[0]].parameters(recurse=False), None) is None]
    new = {each.names[0]: _unset(each.value, torch) for each in lost}
    try:
        for name, value in new.items():
            _set(module, name, value)
        for part in {id(part): part for name, part in parts.items() if name in new}.values():
            owner._init_weights(part)
    finally:
        for each in lost:
            _set(module, each.names[0], each.value)
    return {name: value for name, value in new.items() if not _is_unset(value, torch)}


def _unset(value: Any, torch: Any) -> Any:
    """A tensor of the type of another one, of a value that no function gives all elements."""
    is_float = value.dtype.is_floating_point
    unset = float("nan") if is_float else torch.iinfo(value.dtype).min
    return torch.full(value.shape, unset, dtype=value.dtype)


def _is_unset(value: Any, torch: Any) -> bool:
    """Whether elements have the value of `_unset` still."""
    is_float = value.dtype.is_floating_point
    return bool((value.isnan() if is_float else value == torch.iinfo(value.dtype).min).any())


def _expect_values(tensors: list[_Tensor], new: Mapping[str, Any], path: object) -> None:
    """Require a value for each tensor. Raises: StepwellError `bad-model`."""
    lost = [each.names[0] for each in tensors if _is_meta(each.value) and each.names[0] not in new]
    if not lost:
        return
    if path is None:
        message, help = "the module is on the device meta, without values", "weights_from=FILE.safetensors"
    else:
        message = f"{len(lost)} tensors of the module have no values, and are not in {Path(str(path)).name}"
        help = "buffers that no file has need values: make them outside of torch.device('meta')"
    raise StepwellError("bad-model", None, message, note=lost[:20], help=help)


def _is_meta(value: Any) -> bool:
    """Whether a tensor has no values."""
    return value.device.type == "meta"


def _set(module: Any, name: str, value: Any) -> None:
    """Give a parameter or a buffer another value. `setattr` is what layers such as LSTM notice."""
    path, _, leaf = name.rpartition(".")
    setattr(module.get_submodule(path), leaf, value)
