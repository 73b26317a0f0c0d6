"""The last test of a gain: the whole model with tuned kernels against the model without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import save
from stepwell.runtime.frames import Frame
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.rpc.interleaved import median_ratio
from stepwell.runtime.rpc.messages import expect_success, packed_arrays
from stepwell.runtime.rpc.runner import PROGRAM
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.program import Program
from stepwell.tools.inputs import made_up_inputs
from stepwell.tools.records.database import write_records
from stepwell.tools.records.record import Trial
from stepwell.tools.tuning.tasks import HINTS

if TYPE_CHECKING:
    from stepwell.runtime.image import ModelImage
    from stepwell.tools.driver.options import CompileOptions

ROUNDS, ROUNDS_OF_SIZES = 21, 9
"""Rounds for a model of fixed sizes, and for each of the sizes of another one."""
_SECONDS = 120.0
_ATTEMPTS = 3
LEAST_RATIO = 0.995
"""
The least median of the model's ratio: kernels with a small share gain less than rounds differ. Below it the
schedules are left out where the interval is below 1, else measured again.
"""
Times: TypeAlias = tuple[list[float], list[float]]
"""The times of a model without and with tuned schedules, round by round."""


class Verdict(NamedTuple):
    """A comparison of whole models."""

    ratio: tuple[float, float, float]
    agrees: bool | None
    """Whether the model is not slower with the schedules; None where rounds differ too much to say."""


class Comparison:
    """A compiled model, with which others of the same interface are compared."""

    def __init__(self, base: ModelImage, threads: int, left: Callable[[], float] = lambda: _SECONDS):
        """Args: `left` gives the seconds that a request may take, at most `_SECONDS`."""
        self._base, self._threads, self._left = base, threads, left
        self._folder = TemporaryDirectory(prefix="stepwell-tune-")

    def close(self) -> None:
        """Remove the files."""
        self._folder.cleanup()

    def ratio_of(self, image: ModelImage) -> tuple[float, float, float]:
        """The time of the model over that of another one; 1 for the same code. Raises: StepwellError."""
        if image.main.variants == self._base.main.variants:
            return (1.0, 1.0, 1.0)
        return self.verdict(image).ratio

    def verdict(self, image: ModelImage) -> Verdict:
        """
        The comparison of the model with another one; again where it says nothing, three times at most.

        Raises: StepwellError.
        """
        cases: list[Times] = []
        ratio = (1.0, 1.0, 1.0)
        for _ in range(_ATTEMPTS):
            found = self._times(image)
            cases = cases or [([], []) for _ in found]
            for (base, own), (more_base, more_own) in zip(cases, found, strict=True):
                base += more_base
                own += more_own
            ratio = median_ratio(cases)
            if ratio[2] < 1.0 or ratio[0] >= LEAST_RATIO:
                break
        return Verdict(ratio, False if ratio[2] < 1.0 else True if ratio[0] >= LEAST_RATIO else None)

    def _times(self, image: ModelImage) -> list[Times]:
        """The times of both models by sizes. Raises: StepwellError."""
        paths: list[str] = []
        for name, each in (("base", self._base), ("model", image)):
            save(each, path := Path(self._folder.name, f"{name}.stepwell"))
            paths.append(str(path))
        try:
            return self._raced(paths)
        except ChildError as error:
            message = f"the model could not be measured: {error.reason}"
            raise StepwellError("session-died", None, message) from None

    def _raced(self, paths: Sequence[str]) -> list[Times]:
        """The times of two artifacts by sizes, in a process of their own. Raises: ChildError."""
        child = Child(PROGRAM, forward_errors=False)

        def ask(head: dict[str, object], body: bytes = b"") -> Frame:
            return expect_success(child.ask(head, body, seconds=min(_SECONDS, self._left())))

        try:
            base, model = (
                ask({"op": "load", "path": path, "threads": self._threads}).head["model"] for path in paths
            )
            cases: list[Times] = []
            inputs = inputs_of_model(self._base.main.interface)
            for arrays in inputs:
                rows, data = packed_arrays(arrays)
                head: dict[str, object] = {"op": "compare", "model": model, "base": base, "arrays": rows}
                clock = "process" if self._threads == 1 else "wall"
                rounds = ROUNDS if len(inputs) == 1 else ROUNDS_OF_SIZES
                found = ask({**head, "rounds": rounds, "clock": clock}, data).head
                times = cast("dict[str, list[float]]", found)
                cases.append((times["base"], times["model"]))
            return cases
        finally:
            child.close()


class WholeModel:
    """A model without tuned kernels, with which models that have some are compared."""

    def __init__(
        self,
        program: Program,
        options: CompileOptions,
        threads: int,
        left: Callable[[], float] = lambda: _SECONDS,
    ):
        """Args: `program` is on level 2 and stays; `left` as for `Comparison`. Raises: StepwellError."""
        self._program = program
        # What level 2 and all below know of them; the others were of level 1, and are in the program already.
        self._options = type(options)(
            mcpu=options.mcpu, target=options.target, memory=options.memory, use_cache=options.use_cache
        )
        self._folder = TemporaryDirectory(prefix="stepwell-tune-")
        self._comparison = Comparison(self._compiled(()), threads, left)

    def close(self) -> None:
        """Remove the files."""
        self._folder.cleanup()
        self._comparison.close()

    def verdict(self, trials: Sequence[Trial]) -> Verdict:
        """The comparison with the model that has the schedules of trials. Raises: StepwellError."""
        return self._comparison.verdict(self._compiled(trials))

    def _compiled(self, trials: Sequence[Trial]) -> ModelImage:
        """The model with the schedules of some trials."""
        database = Path(self._folder.name, "tuned.jsonl")
        write_records(database, [replace(trial, confirmed=True) for trial in trials])
        options = replace(self._options, tuning_db=(str(database),))
        return build_image(Program(self._program.module.clone(), self._program.ctx), options)


def inputs_of_model(interface: Interface) -> list[list[Array]]:
    """Made-up inputs of a model; where sizes are open, of each of `HINTS` that is possible."""
    specs = interface.inputs
    symbols = {name for spec in specs for dim in spec.dims for name in dim.symbols()}
    cases: list[list[Array]] = []
    for hint in HINTS if symbols else HINTS[:1]:
        try:
            values = dict.fromkeys(symbols, hint)
            shapes = {spec.name: [dim.evaluate(values) for dim in spec.dims] for spec in specs}
            feeds = made_up_inputs(interface, "random", 0, shapes if symbols else {})
            cases.append([feeds[spec.name] for spec in specs])
        except (StepwellError, ZeroDivisionError, ValueError):
            continue
    if not cases:
        feeds = made_up_inputs(interface, "random", 0, {})
        cases.append([feeds[spec.name] for spec in specs])
    return cases
