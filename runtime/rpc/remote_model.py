"""Compiled models whose code runs in a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.arguments import checked_value
from stepwell.runtime.rpc.foreign_model import ForeignModel
from stepwell.runtime.sessions.states import Targets

RunThere: TypeAlias = Callable[[int, Sequence[Array]], list[Array]]
"""The outputs of the model with a number in a session, on all inputs of its code."""


class RemoteModel(ForeignModel):
    """
    A compiled model whose calls go to a session. Inputs are checked here, before they travel.

    States stay here and travel with each call.
    """

    def __init__(self, image: ModelImage, run_there: RunThere, owner: object, number: int, threads: int):
        """
        Args: `run_there` calls models of the session, whose connection is `owner`; `number` and `threads` are
        this model's number and threads there.
        """
        entry = image.main
        specs = (*entry.interface.inputs, *entry.interface.outputs)
        if objects := [spec.name for spec in specs if spec.is_object]:
            message = f"{', '.join(objects)}: strings, sequences and maps do not travel to a session"
            raise StepwellError("unsupported-interface", None, message)
        super().__init__(image, threads)
        self._run_there, self.owner, self.number = run_there, owner, number
        self._own_states = self.new_states({}) if self._whole.states else None

    def _invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]:
        if targets is None and self._own_states is not None:
            return self.invoke_on(self._own_states, values)
        outputs = self._run_there(self.number, self.checked(values))
        if targets is not None:
            targets.has_begun = True
            for i, target in targets.items():
                target[...] = outputs[i]
                outputs[i] = target
        return tuple(outputs)

    def checked(self, values: Sequence[object]) -> list[Array]:
        """Inputs as the code takes them. Raises: StepwellError for misshapen or mistyped ones."""
        arrays = [checked_value(spec, v, []) for spec, v in zip(self._whole.inputs, values, strict=True)]
        shapes = tuple(array.shape for array in arrays)
        if shapes not in self._bindings:
            self._bind(shapes)
        return arrays

    def measured_inputs(self, values: Sequence[object]) -> list[Array]:
        """Inputs of a measurement, in order or as one dictionary. Raises: StepwellError."""
        if self._whole.states:
            raise StepwellError("unsupported-interface", None, "models with states are not timed there")
        return self.checked(self._inputs(values, {}))
