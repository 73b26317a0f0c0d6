"""Code for fixed sizes of open dimensions: programs that an image has as more functions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.graph_ir.state import set_type_of_body
from stepwell.passes.analysis.rename_symbols import rename_symbols
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.image import MAIN, Entry, ModelImage
from stepwell.runtime.interface import Array, Interface
from stepwell.tools.driver.compilation import Compilation, is_lowered, main_of

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions

Sizes = Mapping[str, int]


def sizes_of_versions(options: CompileOptions, interface: Interface, module: ModuleOp) -> Sequence[Sizes]:
    """
    The sizes that a program gets code for, besides that for any.

    Where states grow, this is one new token, and a batch of one.

    Raises: StepwellError `bad-option` for a size that no input leaves open.
    """
    if is_lowered(module) or options.profile or options.keep_values:
        return ()
    states = {state.input for state in interface.states}
    specs = [spec for i, spec in enumerate(interface.inputs) if i not in states]
    known = {str(dim) for spec in specs for dim in spec.dims if str(dim) in dim.symbols()}
    if options.specialize is None:
        return _sizes_of_a_step(interface, known)
    for sizes in options.specialize:
        if unknown := [name for name in sizes if name not in known]:
            help = f"{did_you_mean(unknown[0], known)}open sizes are {', '.join(sorted(known)) or 'none'}"
            message = f"no input leaves a size {unknown[0]!r} open"
            raise StepwellError("bad-option", None, message, help=help)
    return [sizes for sizes in options.specialize if sizes]


def _sizes_of_a_step(interface: Interface, known: set[str]) -> list[Sizes]:
    """The sizes of a step by one position, all other open sizes 1; nothing where no state grows."""
    added = [str(state.adds) for state in interface.states if state.adds is not None]
    if not added or added[0] not in known:
        return []
    others = [
        str(dim)
        for state in interface.states
        for axis, dim in enumerate(interface.inputs[state.input].dims)
        if axis != state.axis and str(dim) in known
    ]
    return [dict.fromkeys((added[0], *others), 1)]


def expect_growing_states(interface: Interface) -> None:
    """Require states that grow, for a function that chooses tokens. Raises: StepwellError `bad-option`."""
    if not any(state.adds is not None for state in interface.states):
        message = "greedy is for decoders, and no state of the model grows"
        raise StepwellError("bad-option", None, message, help='name the caches: states="auto"')


def version_of(compilation: Compilation, sizes: Sizes) -> Compilation:
    """
    A copy of a program of level 1 for fixed sizes.

    It is made after the passes of level 1, so that it has the same weights, packed in the same way.
    """
    module = compilation.module.clone()
    main = main_of(module)
    rename_symbols(main.body, {name: Dim.of(size) for name, size in sizes.items()})
    set_type_of_body(main)
    ctx = compilation.ctx.clone()
    compilation.owns_weights = False  # it shares them
    return replace(
        compilation, module=module, ctx=ctx, seconds={}, counts={}, owns_weights=False, reproducer=None
    )


def with_version(image: ModelImage, sizes: Sizes, version: ModelImage, of: str = MAIN) -> ModelImage:
    """
    An image with another one's `main`, for fixed sizes of the function `of`; equal weights are stored once.
    """
    name = f"{of}[{','.join(f'{symbol}={size}' for symbol, size in sizes.items())}]"
    joined = with_function(image, name, version)
    entry = joined.functions[name]
    variants = tuple(variant._replace(sizes=dict(sizes)) for variant in entry.variants)
    return joined._replace(functions={**joined.functions, name: entry._replace(variants=variants)})


def with_function(image: ModelImage, name: str, version: ModelImage) -> ModelImage:
    """An image with another one's `main` as one more function; equal weights are stored once."""
    known = {_key(array): number for number, array in reversed(list(enumerate(image.weights)))}
    weights, numbers = list(image.weights), list[int]()
    for array in version.weights:
        number = known.setdefault(_key(array), len(weights))
        if number == len(weights):
            weights.append(array)
        numbers.append(number)
    functions = {**image.functions, name: _renumbered(version.functions[MAIN], numbers)}
    return image._replace(functions=functions, weights=tuple(weights))


def _key(array: Array) -> tuple[object, ...]:
    """A key of an array: type, shape and content."""
    digest = (
        hashlib.blake2b(array.reshape(-1).view("u1").data, digest_size=16).digest() if array.size else b""
    )
    return array.dtype.str, array.shape, digest


def _renumbered(entry: Entry, numbers: Sequence[int]) -> Entry:
    """A function whose weights have other numbers."""
    states = tuple(
        state if state.initial is None else state._replace(initial=numbers[state.initial])
        for state in entry.interface.states
    )
    return entry._replace(
        weights=tuple(numbers[number] for number in entry.weights),
        interface=entry.interface._replace(states=states),
    )
