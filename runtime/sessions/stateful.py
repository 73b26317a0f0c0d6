"""Models with states: callers see the other inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepwell.runtime.benchmark import Times, timed
from stepwell.runtime.files.artifact import image_bytes, image_of_bytes
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.model_info import checked_runs
from stepwell.runtime.sessions.states import Targets


class StatefulModel(CompiledModel):
    """
    A compiled model whose program has states. Calls of the model itself use its own states, calls of each
    `session()` the session's.
    """

    def __init__(self, image: ModelImage, *, threads: int | None = None):
        """Args: as of `CompiledModel`. Raises: StepwellError `wrong-cpu`."""
        super().__init__(image, threads=threads)
        self.interface = self._whole.public
        self._input_names = tuple(spec.name for spec in self.interface.inputs)
        self._output_names = tuple(spec.name for spec in self.interface.outputs)
        self._states = self.new_states({})
        self._greedy: StatefulModel | None = None

    @property
    def greedy(self) -> StatefulModel | None:
        """
        The model that returns the most probable tokens in place of logits, on the same states; None where the
        program was compiled without it.
        """
        if self._greedy is None and (image := self.image.greedy) is not None:
            self._greedy = StatefulModel(image, threads=self.threads)
        if self._greedy is not None and self._greedy.threads != self.threads:
            self._greedy.threads = self.threads
        return self._greedy

    def __reduce__(self) -> tuple[Callable[[bytes, int], CompiledModel], tuple[bytes, int]]:
        """Copies and pickles begin with the initial states."""
        return _of_bytes, (image_bytes(self.image), self.threads)

    def benchmark(self, *arrays: object, runs: int | None = None, **named: object) -> Times:
        """The times of calls as of `CompiledModel`, on states of their own; growing ones begin each anew."""
        inputs, states = self._inputs(arrays, named), self.new_states({})

        def call() -> None:
            self.invoke_on(states, inputs)
            states.begin_anew()

        return timed(call, self.threads, None if runs is None else checked_runs(runs))

    def _invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]:
        if targets is None:
            return self.invoke_on(self._states, values)
        return super()._invoke(values, targets)


def _of_bytes(data: bytes, threads: int) -> CompiledModel:
    return StatefulModel(image_of_bytes(data, "a pickled model"), threads=threads)
