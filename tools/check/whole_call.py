"""Calls of compiled models with their states: all that the code takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from stepwell.runtime.interface import Array
from stepwell.runtime.machine.call_frame import CallFrame
from stepwell.runtime.memory import aligned_empty
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.sessions.states import Targets

_POISON = 0x7F
"""The byte of poisoned memory: floats of such bytes are NaN or near the largest, integers are large."""


def whole_results(model: Any, feeds: Mapping[str, Array]) -> list[Array]:
    """
    All results of a call in the order of the code, states among them.

    Args: `feeds` has the inputs of the code by name, states among them.
    Raises: StepwellError as calling the model does.
    """
    if not isinstance(model, CompiledModel):
        return list(model.run(feeds).values())
    interface = model.image.main.interface
    if not interface.states:
        plain = type(model) is CompiledModel
        return _on_poison(_Poisoned(model.image, threads=model.threads) if plain else model, feeds)
    names = [spec.name for spec in interface.inputs]
    sizes = interface.bind(tuple(np.shape(feeds[name]) for name in names)).values
    session = model.session(**sizes)
    for state in interface.states:
        session.state[state.name] = feeds[names[state.input]]
    kept = {names[state.input] for state in interface.states}
    public = iter(session.run({name: feeds[name] for name in names if name not in kept}).values())
    written = {state.output: state.name for state in interface.states}
    numbers = range(len(interface.outputs))
    return [session.state[written[n]] if n in written else next(public) for n in numbers]


class _Poisoned(CompiledModel):
    """A model whose intermediate values begin as large numbers."""

    def _new_frame(self) -> CallFrame:
        frame = super()._new_frame()
        frame.new_arena = _poison
        return frame


def _poison(size_bytes: int) -> Array:
    memory = aligned_empty(size_bytes)
    memory.fill(_POISON)
    return memory


def _on_poison(model: CompiledModel, feeds: Mapping[str, Array]) -> list[Array]:
    """
    The outputs of a call, in memory that is full of large numbers before.

    Otherwise code that does not write all elements is right where memory has the results of a call before.
    """
    values = [*map(np.asarray, model.in_order((), feeds))]
    shapes = model.output_shapes([value.shape for value in values])
    targets = Targets()
    for number, (spec, shape) in enumerate(zip(model.interface.outputs, shapes, strict=True)):
        if not spec.is_object and prod(shape):  # the memory of others comes from the call
            memory = _poison(prod(shape) * spec.dtype.itemsize)
            targets[number] = memory.view(spec.dtype).reshape(shape)
    return list(model.invoke(values, targets))
