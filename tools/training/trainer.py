"""`stepwell.Trainer`: an ONNX model whose weights are trained, one compiled step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import whole_file
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.sessions.session import Session
from stepwell.runtime.sessions.states import States, StateView
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.options import (
    CompileKeywords,
    CompileOptions,
    check_suffix,
    expect_source,
    options_with,
)
from stepwell.tools.inputs import read_arrays
from stepwell.tools.training.onnx_weights import with_weights
from stepwell.tools.training.programs import Training

_EVERY = ("*",)


class Trainer(Session[CompiledModel]):
    """
    A model in training: a session of its step, whose states are the parameters and those of the optimizer.

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
        training_mode: bool | None = None,
        seed: int = 0,
        threads: int | None = None,
        options: CompileOptions | None = None,
        **keywords: Unpack[CompileKeywords],
    ):
        """
        Args: `model` is an .onnx file; `loss` is `cross_entropy`, `mse`, `mae`, `binary_cross_entropy` or
        `huber`, of the output named `output` (default: the first); `optimizer` is `sgd`, `momentum`,
        `nesterov`, `adam` or `adamw`, with torch's formulas; `train` has names and patterns of initializers,
        `*` for all parameters; `weight_decay` (default: 0, of adamw 0.01); `clip` bounds the norm of all
        gradients together, 0 does not; `training_mode` lets all dropout and batch normalization train, or
        none (default: those that the file says it of), with masks by the `seed`; options as of
        `stepwell.compile`.
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
            training_mode="marked" if training_mode is None else "all" if training_mode else "none",
            seed=seed,
            options=options_with(options, keywords),
        )
        self._programs: dict[tuple[str, bool], tuple[CompiledModel, States]] = {}
        step = self._compiled("step", loss != "cross_entropy")
        super().__init__(step, step.new_states({}))
        self._programs["step", loss != "cross_entropy"] = step, self._states
        self.inputs = [spec.name for spec in step.interface.inputs[:-1]]
        """The names of the model's inputs."""
        self.output_names = [spec.name for spec in self._training.outputs]
        """The names of the model's outputs."""

    @property
    def parameters(self) -> StateView:
        """The parameters by name, as they are now; setting one changes it."""
        return self._states.view(self._training.parameters)

    @property
    def lr(self) -> float:
        """The learning rate, a state; setting it changes that of the next steps."""
        return float(np.asarray(self.state["lr"]))

    @lr.setter
    def lr(self, value: float) -> None:
        self.state["lr"] = np.asarray(value).astype(self.state["lr"].dtype)

    def step(self, *values: object) -> float:
        """
        Change the parameters by one step.

        Args: the inputs in the model's order, then the targets: classes as integers or rows of probabilities
        for `cross_entropy`, for other losses an array like the output.
        Returns: the mean loss before the step.
        """
        inputs, targets = self._split(values)
        return float(self._called("step", inputs, targets)[-1])

    def outputs(self, *inputs: object) -> dict[str, Array]:
        """The model's outputs by name, with the parameters as they are now."""
        model, states = self._program("forward", False)
        found = model.invoke_on(states, model.in_order(inputs, {}))
        return dict(zip(self.output_names, found, strict=True))

    def gradients(self, *values: object) -> dict[str, Array]:
        """The gradients of the loss by parameter; arguments as of `step`, and nothing changes."""
        inputs, targets = self._split(values)
        *found, _ = self._called("gradients", inputs, targets)
        return dict(zip(self._training.parameters, found, strict=True))

    def to_onnx(self, path: str | Path) -> None:
        """
        Write the model's file with other initializers: parameters, and statistics of batches.

        Raises: StepwellError `cannot-write`.
        """
        with whole_file(path) as file:
            names = (*self._training.parameters, *self._training.statistics)
            file.write(with_weights(self._training.model, self._states.view(names)))

    def save(self, path: str | Path) -> None:
        """Write parameters and the optimizer's state as .npz. Raises: StepwellError `cannot-write`."""
        with whole_file(path) as file:
            np.savez(file, allow_pickle=False, **dict(self.state))

    def restore(self, path: str | Path) -> None:
        """
        Read what `save` has written.

        Raises: StepwellError `bad-inputs` for a file that is no .npz, or of another model or optimizer.
        """
        arrays = read_arrays(Path(path))
        for name, value in self.state.items():
            if name not in arrays or arrays[name].shape != value.shape or arrays[name].dtype != value.dtype:
                message = f"it has no array {name!r} of {value.dtype} and shape {list(value.shape)}"
                help = "`save` of a trainer of the same model and optimizer writes such a file"
                raise StepwellError("bad-inputs", str(path), message, help=help)
        self.reset()
        for name in self.state:
            self.state[name] = arrays[name]

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
            classes = self._training.classes
            if classes and targets.size and targets.view(np.uint64).max() >= classes:
                found = f"found {targets.min()} to {targets.max()}"
                message = f"classes must be from 0 to {classes - 1}, {found}"
                raise StepwellError("bad-inputs", str(self._training.model), message)
        elif targets.dtype.kind in "fiub":
            targets = targets.astype(np.float32) if targets.dtype != np.float64 else targets
        return list(values[:-1]), targets

    def _called(self, what: str, inputs: Sequence[object], targets: Array) -> tuple[Array, ...]:
        """The outputs of a program for inputs and targets, on the states of this trainer."""
        model, states = self._program(what, targets.dtype.kind == "f")
        return model.invoke_on(states, (*inputs, targets))

    def _program(self, what: str, probabilities: bool) -> tuple[CompiledModel, States]:
        """A program with its states, compiled when it is first needed."""
        if (found := self._programs.get((what, probabilities))) is None:
            model = self._compiled(what, probabilities)
            found = model, model.new_states({}, self._states.store)
            self._programs[what, probabilities] = found
        return found

    def _compiled(self, what: str, probabilities: bool) -> CompiledModel:
        program = self._training.program(what, probabilities=probabilities)
        return compile(program, self._training.options, threads=self._threads)
