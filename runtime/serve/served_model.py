"""A model of a server: its description, its queue and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, checked_value
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.serve.batching import Batcher, BatchOptions, can_batch
from stepwell.runtime.serve.protocol import InferRequest, has_datatype, tensor_row


class ServedModel:
    """A model that answers requests."""

    def __init__(self, name: str, model: CompiledModel, options: BatchOptions):
        """Raises: StepwellError `unsupported-interface`."""
        self.name, self._model = name, model
        _expect_servable(name, model)
        self.batcher = Batcher(self._call, can_batch(model.interface), options)
        self.answers: Counter[int] = Counter()
        """The number of answers by status of HTTP."""
        self.seconds = 0.0

    def _call(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        outputs = self._model(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    async def infer(self, request: InferRequest) -> dict[str, Array]:
        """The outputs by name. Raises: StepwellError of wrong inputs; Refusal; as a call does."""
        begin = perf_counter()
        interface = self._model.interface
        values = self._model.in_order((), request.inputs)
        inputs = [
            cast(Array, value) if spec.is_object else checked_value(spec, value, [])
            for spec, value in zip(interface.inputs, values, strict=True)
        ]
        interface.bind([array.shape for array in inputs])
        outputs = await self.batcher.infer(inputs)
        self.seconds += perf_counter() - begin
        return {spec.name: output for spec, output in zip(interface.outputs, outputs, strict=True)}

    def description(self) -> dict[str, object]:
        """The answer of `GET /v2/models/NAME`."""
        interface = self._model.interface
        return {
            "name": self.name,
            "versions": ["1"],
            "platform": "stepwell",
            "inputs": [tensor_row(spec) for spec in interface.inputs],
            "outputs": [tensor_row(spec) for spec in interface.outputs],
        }

    def metrics(self) -> list[tuple[str, str, float]]:
        """Figures: name, labels, value."""
        label = self.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        model = f'model="{label}"'
        rows = [("requests_total", f'{model},status="{status}"', n) for status, n in self.answers.items()]
        return [
            *((name, labels, float(value)) for name, labels, value in sorted(rows)),
            ("calls_total", model, float(self.batcher.calls)),
            ("request_seconds_total", model, self.seconds),
            ("waiting", model, float(self.batcher.waiting)),
        ]


def _expect_servable(name: str, model: CompiledModel) -> None:
    interface = model.interface
    if model.image.main.interface.states:
        raise StepwellError("unsupported-interface", name, "a model with states is not served")
    for spec in (*interface.inputs, *interface.outputs):
        if spec.type or not has_datatype(spec.dtype):
            message = f"{spec.name}: {spec} is no type of the Open Inference Protocol"
            raise StepwellError("unsupported-interface", name, message)
