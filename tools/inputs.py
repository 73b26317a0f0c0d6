"""Made-up inputs for a model, seeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import MAX_TENSOR_BYTES, Array, Interface, TensorSpec

FILLS = ("random", "ones", "zeros")


def made_up_inputs(
    interface: Interface, fill: str, seed: int, sizes: Mapping[str, Sequence[int]] | None = None
) -> dict[str, Array]:
    """
    Arrays for every input: standard normal, small non-negative integers, or a constant.

    Args: `sizes` are shapes of inputs by name, which also fix the symbols that other inputs share; an open
    dimension is 1.
    Raises: StepwellError `extra-input` for a name that no input has, `bad-inputs` for a shape that does not
    fit, and for an input of strings or lists.
    """
    rng = np.random.default_rng(seed)
    sizes = sizes or {}
    names = [spec.name for spec in interface.inputs]
    if unknown := [name for name in sizes if name not in names]:
        message = f"the model has no input {unknown[0]!r}"
        raise StepwellError("extra-input", None, message, note=f"inputs: {', '.join(names)}")
    symbols = _fixed_symbols(interface, sizes)
    return {
        spec.name: _fill(spec, _shape(spec, sizes.get(spec.name), symbols), fill, rng)
        for spec in interface.inputs
    }


def made_up_sizes(interface: Interface, sizes: Mapping[str, Sequence[int]]) -> list[str]:
    """The symbols whose size no given shape determines."""
    known = _fixed_symbols(interface, sizes)
    used = {symbol for spec in interface.inputs for dim in spec.dims for symbol in dim.symbols()}
    return [name for name in interface.symbols if name in used and name not in known]


def _fixed_symbols(interface: Interface, sizes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The sizes of symbols that are themselves a dimension of an input of known shape."""
    return {
        str(dim): size
        for spec in interface.inputs
        for dim, size in zip(spec.dims, sizes.get(spec.name, ()), strict=False)
        if not dim.is_static and str(dim) in dim.symbols()
    }


def _shape(spec: TensorSpec, given: Sequence[int] | None, symbols: Mapping[str, int]) -> tuple[int, ...]:
    if given is None:
        return tuple(d.evaluate({name: symbols.get(name, 1) for name in d.symbols()}) for d in spec.dims)
    if len(given) != len(spec.dims) or prod(given) * spec.dtype.itemsize > MAX_TENSOR_BYTES:
        raise StepwellError("bad-inputs", None, f"input {spec.name!r} is {spec}, found shape {list(given)}")
    return tuple(given)


def _fill(spec: TensorSpec, shape: tuple[int, ...], fill: str, rng: np.random.Generator) -> Array:
    if spec.is_object:
        what = f"input {spec.name!r} is {spec.type or 'a tensor of strings'}"
        raise StepwellError("bad-inputs", None, f"{what}: no values of this type can be made up")
    if fill == "ones":
        return np.ones(shape, spec.dtype)
    if fill == "zeros":
        return np.zeros(shape, spec.dtype)
    match spec.dtype.kind:
        case "b":
            return rng.integers(0, 2, shape).astype(spec.dtype)
        case "i" | "u":
            # Small: most integer inputs are indices into some table.
            return rng.integers(0, 8, shape).astype(spec.dtype)
        case _:
            return rng.standard_normal(shape, np.float32).astype(spec.dtype)
