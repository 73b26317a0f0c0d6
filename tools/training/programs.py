"""The programs of training: a model whose weights are arguments, its loss's gradient, and a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from stepwell.dialects.graph_ir.state import state_names
from stepwell.passes import run_pipeline
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import TensorSpec
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.compile import TURN
from stepwell.tools.driver.levels import from_onnx
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.reading import start

EXPANSION = "gradient,inline,remove-unused-functions"
"""The passes after which a program with gradients is one function again."""


@dataclass
class Training:
    """The plan of a training: parameters, loss and optimizer; arguments as of `Trainer`."""

    model: Path
    loss: str
    optimizer: str
    lr: float
    momentum: float = 0.9
    weight_decay: float | None = None
    clip: float = 0.0
    output: str = ""
    names: tuple[str, ...] = ("*",)
    options: CompileOptions = field(default_factory=CompileOptions)
    parameters: list[str] = field(default_factory=list[str])
    """The names of the parameters, known once a program is made."""
    outputs: list[TensorSpec] = field(default_factory=list[TensorSpec])
    """The outputs of the model, known once a program is made."""

    @property
    def classes(self) -> int:
        """The number of classes of the output; 0 where the size is not known."""
        chosen = [spec for spec in self.outputs if spec.name == self.output] or self.outputs[:1]
        dims = chosen[0].dims if chosen else ()
        return dims[1].value if len(dims) > 1 and dims[1].is_static else 0

    def program(self, what: str, *, probabilities: bool = False) -> Program:
        """
        A program of level 1, whose first inputs are the parameters.

        Args: `what` is `forward`, the model; `step`, from parameters, state, inputs and targets to
        parameters, state and the loss; or `gradients`, to these and the loss; `probabilities` is of the
        targets.
        """
        if what == "forward":
            return self._after("")
        targets = "probabilities" if probabilities else "classes"
        loss = f"append-loss{{kind={_text(self.loss)} output={_text(self.output)} targets={targets}}}"
        decay = -1.0 if self.weight_decay is None else self.weight_decay
        step = (
            f"append-optimizer{{kind={_text(self.optimizer)} lr={_number(self.lr)} "
            f"momentum={_number(self.momentum)} weight-decay={_number(decay)} clip={_number(self.clip)}}}"
        )
        alone = "append-optimizer{kind=none}"
        return self._after(f"{loss},{step if what == 'step' else alone},{EXPANSION}")

    def _after(self, passes: str) -> Program:
        """The model on level 1 with lifted parameters, after passes. Raises: StepwellError of a step."""
        with collector_paused(), TURN:
            compilation = start(self.model, self.options)
            names = ",".join(map(_text, self.names))
            run_pipeline(compilation.module, f"lift-parameters{{names={names}}}", compilation.ctx)
            states = state_names(main_of(compilation.module))
            self.parameters = [name for name in states if name is not None]
            from_onnx(compilation)
            self.outputs = list(read_interface(main_of(compilation.module)).outputs)
            run_pipeline(compilation.module, passes, compilation.ctx)
            return Program(compilation.module, compilation.ctx)


def _text(value: str) -> str:
    """A text as an option of a pass. Raises: StepwellError `bad-option` for what no option can be."""
    if any(char in value for char in '"\\\n'):
        raise StepwellError("bad-option", None, f"a name without quotes is expected, found {value!r}")
    return f'"{value}"'


def _number(value: float) -> str:
    """A number as an option of a pass, which has no exponent."""
    return format(Decimal(repr(float(value))), "f")
