"""`stepwell.Trainer`: an ONNX model whose weights are trained, one compiled step at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import whole_file
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.options import (
    CompileKeywords,
    CompileOptions,
    check_suffix,
    expect_source,
    options_with,
)
from stepwell.tools.inputs import read_arrays
from stepwell.tools.training.onnx_weights import read_weights, with_weights
from stepwell.tools.training.programs import Training

_EVERY = ("*",)


class Trainer:
    """
    A model in training: its parameters and the state of the optimizer, which a step changes.

    ```python
    trainer = stepwell.Trainer("model.onnx", loss="cross_entropy", optimizer="adam", lr=3e-3)
    for x, labels in batches:
        loss = trainer.step(x, labels)
    trainer.to_onnx("tuned.onnx")
    ```
    """

    def __init__(
        self,
        model: str | Path,
        *,
        loss: str,
        optimizer: str = "adam",
        lr: float = 1e-3,
        train: Sequence[str] = _EVERY,
        output: str = "",
        momentum: float = 0.9,
        weight_decay: float | None = None,
        clip: float = 0.0,
        threads: int | None = None,
        options: CompileOptions | None = None,
        **keywords: Unpack[CompileKeywords],
    ):
        """
        Args: `model` is an .onnx file; `loss` is `cross_entropy`, `mse`, `mae`, `binary_cross_entropy` or
        `huber`, of the output named `output` (default: the first); `optimizer` is `sgd`, `momentum`,
        `nesterov`, `adam` or `adamw`, with torch's formulas; `train` has names and patterns of initializers,
        `*` for all parameters; `weight_decay` (default: 0, of adamw 0.01); `clip` bounds the norm of all
        gradients together, 0 does not; options as of `stepwell.compile`.
        Raises: StepwellError `no-derivative` with all ops that have none; of the step that failed.
        """
        path = Path(model)
        expect_source(path)
        check_suffix(path, (".onnx",))
        self._threads = threads
        self._training = Training(
            path,
            loss,
            optimizer,
            lr,
            momentum=momentum,
            weight_decay=weight_decay,
            clip=clip,
            output=output,
            names=tuple(train),
            options=options_with(options, keywords),
        )
        self._compiled: dict[tuple[str, bool], CompiledModel] = {}
        self.parameters: dict[str, Array] = {}
        """The parameters by name, as they are now."""
        self._state: dict[str, Array] = {}
        """The state of the optimizer by name."""
        forward = self._forward()
        self.parameters |= read_weights(path, self._training.parameters)
        specs = forward.interface
        self.inputs = [spec.name for spec in specs.inputs if spec.name not in self.parameters]
        """The names of the model's inputs."""
        self.output_names = [spec.name for spec in specs.outputs]
        """The names of the model's outputs."""
        dims = next((s.dims for s in specs.outputs if s.name == (output or self.output_names[0])), ())
        self._classes = dims[1].value if len(dims) > 1 and dims[1].is_static else 0

    def step(self, *values: object) -> float:
        """
        Change the parameters by one step.

        Args: the inputs in the model's order, then the targets: classes as integers or rows of probabilities
        for `cross_entropy`, for other losses an array like the output.
        Returns: the mean loss before the step.
        """
        inputs, targets = self._split(values)
        model = self._model("step", targets)
        if not self._state:
            self._state = {
                spec.name: np.zeros([dim.value for dim in spec.dims], spec.dtype)
                for spec in model.interface.inputs[len(self.parameters) : -len(self.inputs) - 1]
            }
        found = model.run(self._feeds(inputs, targets, self._state))
        self.parameters = {name: np.asarray(found[name]) for name in self.parameters}
        self._state = {name: np.asarray(found[name]) for name in self._state}
        return float(np.asarray(next(reversed(found.values()))))

    def outputs(self, *inputs: object) -> dict[str, Array]:
        """The model's outputs by name, with the parameters as they are now."""
        found = self._forward().run(self._feeds(list(inputs), None, {}))
        return {name: np.asarray(value) for name, value in found.items()}

    def gradients(self, *values: object) -> dict[str, Array]:
        """The gradients of the loss by parameter; arguments as of `step`, and nothing changes."""
        inputs, targets = self._split(values)
        found = self._model("gradients", targets).run(self._feeds(inputs, targets, {}))
        return {name: np.subtract(value, found[name]) for name, value in self.parameters.items()}

    def to_onnx(self, path: str | Path) -> None:
        """Write the model's file with other initializers. Raises: StepwellError `cannot-write`."""
        with whole_file(path) as file:
            file.write(with_weights(self._training.model, self.parameters))

    def save(self, path: str | Path) -> None:
        """Write parameters and the optimizer's state as .npz. Raises: StepwellError `cannot-write`."""
        with whole_file(path) as file:
            np.savez(file, allow_pickle=False, **{**self.parameters, **self._state})

    def restore(self, path: str | Path) -> None:
        """
        Read what `save` has written.

        Raises: StepwellError `bad-inputs` for a file that is no .npz, or of another model.
        """
        arrays = read_arrays(Path(path))
        for name, value in self.parameters.items():
            if name not in arrays or arrays[name].shape != value.shape:
                message = f"it has no array {name!r} of shape {list(value.shape)}"
                raise StepwellError("bad-inputs", str(path), message)
        self.parameters = {name: arrays[name] for name in self.parameters}
        self._state = {name: value for name, value in arrays.items() if name not in self.parameters}

    def _split(self, values: Sequence[object]) -> tuple[list[object], Array]:
        """
        Inputs, and targets of the type that the loss takes.

        Raises: StepwellError `missing-input`; `bad-inputs` for a class that the output does not have.
        """
        if len(values) != len(self.inputs) + 1:
            expected = ", ".join([*self.inputs, "targets"])
            message = f"expected {expected}, found {len(values)} arrays"
            raise StepwellError("missing-input", str(self._training.model), message)
        targets = np.asarray(values[-1])
        if targets.dtype.kind in "iu" and self._training.loss == "cross_entropy":
            targets = targets.astype(np.int64)
            # Negative numbers are the largest without a sign.
            if self._classes and targets.size and targets.view(np.uint64).max() >= self._classes:
                found = f"found {targets.min()} to {targets.max()}"
                message = f"classes must be from 0 to {self._classes - 1}, {found}"
                raise StepwellError("bad-inputs", str(self._training.model), message)
        elif targets.dtype.kind in "fiub":
            targets = targets.astype(np.float32) if targets.dtype != np.float64 else targets
        return list(values[:-1]), targets

    def _forward(self) -> CompiledModel:
        return self._built("forward", False)

    def _model(self, what: str, targets: Array) -> CompiledModel:
        """A program for targets, compiled when it is first needed."""
        return self._built(what, targets.dtype.kind == "f")

    def _built(self, what: str, probabilities: bool) -> CompiledModel:
        if (what, probabilities) not in self._compiled:
            program = self._training.program(what, probabilities=probabilities)
            made = compile(program, self._training.options, threads=self._threads)
            self._compiled[what, probabilities] = made
        return self._compiled[what, probabilities]

    def _feeds(
        self, inputs: Sequence[object], targets: Array | None, state: Mapping[str, Array]
    ) -> dict[str, object]:
        given = dict(zip(self.inputs, inputs, strict=True))
        last = {} if targets is None else {"targets": targets}
        return {**self.parameters, **state, **given, **last}
