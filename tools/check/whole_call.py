"""Calls of compiled models with their states: all that the code takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel


def whole_results(model: Any, feeds: Mapping[str, Array]) -> list[Array]:
    """
    All results of a call in the order of the code, states among them.

    Args: `feeds` has the inputs of the code by name, states among them.
    Raises: StepwellError as calling the model does.
    """
    interface = model.image.main.interface if isinstance(model, CompiledModel) else None
    if interface is None or not interface.states:
        return list(model.run(feeds).values())
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
