"""Compiled models whose code runs in a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array, checked_value
from stepwell.runtime.machine.native_segment import NativeSegment
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.sessions.states import Targets

RunThere: TypeAlias = Callable[[int, Sequence[Array]], list[Array]]
"""The outputs of the model with a number in a session, on all inputs of its code."""


class RemoteModel(CompiledModel):
    """
    A compiled model whose calls go to a session. Inputs are checked here, before they travel.

    States stay here and travel with each call.
    """

    def __init__(self, image: ModelImage, run_there: RunThere, owner: object, number: int, threads: int):
        """
        Args: `run_there` calls models of the session, whose connection is `owner`; `number` and `threads` are
        those of this model there.
        """
        entry = image.main
        specs = (*entry.interface.inputs, *entry.interface.outputs)
        if objects := [spec.name for spec in specs if spec.is_object]:
            message = f"{', '.join(objects)}: strings, sequences and maps do not travel to a session"
            raise StepwellError("unsupported-interface", None, message)
        self._describe(image, entry.variants[0])
        self.interface = self._whole.public
        self._input_names = tuple(spec.name for spec in self.interface.inputs)
        self._output_names = tuple(spec.name for spec in self.interface.outputs)
        self._run_there, self.owner, self.number = run_there, owner, number
        self._threads = threads
        self._own_states = self.new_states({}) if self._whole.states else None

    @property
    def threads(self) -> int:
        """The number of threads that kernels use there, which `load` has set."""
        return self._threads

    @threads.setter
    def threads(self, threads: int | None) -> None:
        raise StepwellError("bad-option", None, "threads are set by `load(model, threads=N)`")

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

    def fixed_call(self) -> None:
        """None: no call is without the session."""
        return None

    def native_segment(self) -> NativeSegment | None:
        """None: there is no code here."""
        return None

    def loop_bodies(self) -> Mapping[int, str]:
        """Nothing: there is no code here."""
        return {}

    def take_chunks(self) -> list[list[object]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nothing: chunks are not recorded there."""
        return []
