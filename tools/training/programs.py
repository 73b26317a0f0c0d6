"""The programs of training: a model whose weights are arguments, its loss's gradient, and a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from stepwell.dialects.graph_ir.state import StatePair, state_pairs
from stepwell.passes import run_pipeline
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import TensorSpec
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.compile import TURN
from stepwell.tools.driver.levels import to_graph
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.reading import start

INFERENCE = "none"
"""The nodes in training of a model that is run as it was made for."""
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
    training_mode: str = "marked"
    """The nodes that are in training, as of `to-training-mode`."""
    seed: int = 0
    """The seed of dropout."""
    options: CompileOptions = field(default_factory=CompileOptions)
    parameters: list[str] = field(default_factory=list[str])
    """The names of the parameters, known once a program is made."""
    statistics: list[str] = field(default_factory=list[str])
    """The names of the running statistics that steps change, known once a program of a loss is made."""
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
            return self._after("", INFERENCE)
        targets = "probabilities" if probabilities else "classes"
        loss = f"append-loss{{kind={_text(self.loss)} output={_text(self.output)} targets={targets}}}"
        decay = -1.0 if self.weight_decay is None else self.weight_decay
        step = (
            f"append-optimizer{{kind={_text(self.optimizer)} lr={_number(self.lr)} rate=state "
            f"momentum={_number(self.momentum)} weight-decay={_number(decay)} clip={_number(self.clip)}}}"
        )
        alone = "append-optimizer{kind=none}"
        return self._after(f"{loss},{step if what == 'step' else alone},{EXPANSION}")

    def _after(self, passes: str, mode: str = "") -> Program:
        """The model on level 1 with lifted parameters, after passes. Raises: StepwellError of a step."""
        with collector_paused(), TURN:
            compilation = start(self.model, self.options)
            others = self.statistics if mode == INFERENCE else ()  # in training its pass lifts them
            names = ",".join(map(_text, (*self.names, *others)))
            mode = f"to-training-mode{{nodes={mode or self.training_mode} seed={self.seed}}}"
            run_pipeline(compilation.module, f"lift-parameters{{names={names}}},{mode}", compilation.ctx)
            self._note_states(state_pairs(main_of(compilation.module)))
            to_graph(compilation, ",count-draws")
            self.outputs = list(read_interface(main_of(compilation.module)).public.outputs)
            run_pipeline(compilation.module, passes, compilation.ctx)
            return Program(compilation.module, compilation.ctx)

    def _note_states(self, pairs: Sequence[StatePair]) -> None:
        """Note the names of parameters and statistics, of the first program."""
        if not self.parameters:
            self.parameters = [pair.name for pair in pairs if pair.result is None]
            self.statistics = [pair.name for pair in pairs if pair.result is not None]


def _text(value: str) -> str:
    """A text as an option of a pass. Raises: StepwellError `bad-option` for what no option can be."""
    if any(char in value for char in '"\\\n'):
        raise StepwellError("bad-option", None, f"a name without quotes is expected, found {value!r}")
    return f'"{value}"'


def _number(value: float) -> str:
    """A number as an option of a pass, which has no exponent."""
    return format(Decimal(repr(float(value))), "f")
