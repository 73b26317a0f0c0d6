"""The last word on a gain: the whole model with tuned kernels against the model without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, cast

from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import save
from stepwell.runtime.frames import Frame
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.rpc.messages import expect_success, packed_arrays
from stepwell.runtime.rpc.runner import PROGRAM
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.program import Program
from stepwell.tools.inputs import made_up_inputs
from stepwell.tools.records.database import write_records
from stepwell.tools.records.record import Trial
from stepwell.tools.tuning.statistics import ratio_of
from stepwell.tools.tuning.tasks import HINTS

if TYPE_CHECKING:
    from stepwell.runtime.image import ModelImage
    from stepwell.tools.driver.options import CompileOptions

ROUNDS, ROUNDS_OF_SIZES = 21, 9
"""Rounds for a model of fixed sizes, and for each of the sizes of another one."""
_SECONDS = 120.0


class WholeModel:
    """A model without tuned kernels, with which models that have some are compared."""

    def __init__(self, program: Program, options: CompileOptions, threads: int):
        """Args: `program` is on level 2; it stays as it is. Raises: StepwellError."""
        self._program, self._threads = program, threads
        # What level 2 and all below know of them; the others were of level 1, and are in the program already.
        self._options = type(options)(
            mcpu=options.mcpu, target=options.target, memory=options.memory, use_cache=options.use_cache
        )
        self._folder = TemporaryDirectory(prefix="stepwell-tune-")
        self.compile_seconds = 0.0
        self._base = self._compiled(())

    def close(self) -> None:
        """Remove the files."""
        self._folder.cleanup()

    def ratio(self, trials: Sequence[Trial]) -> tuple[float, float, float]:
        """The time of the model over that of the one with the schedules of trials. Raises: StepwellError."""
        tuned = self._compiled(trials)
        paths: list[str] = []
        for name, image in (("base", self._base), ("model", tuned)):
            save(image, path := Path(self._folder.name, f"{name}.stepwell"))
            paths.append(str(path))
        try:
            return self._raced(paths)
        except ChildError as error:
            raise StepwellError(
                "session-died", None, f"the tuned model could not be measured: {error.reason}"
            ) from None

    def _compiled(self, trials: Sequence[Trial]) -> ModelImage:
        """The model with the schedules of some trials."""
        begin = monotonic()
        database = Path(self._folder.name, "tuned.jsonl")
        write_records(database, [replace(trial, confirmed=True) for trial in trials])
        options = replace(self._options, tuning_db=(str(database),))
        copy = Program(self._program.module.clone(), self._program.ctx)
        image = build_image(copy, options)
        self.compile_seconds = monotonic() - begin
        return image

    def _raced(self, paths: Sequence[str]) -> tuple[float, float, float]:
        """The ratio of two artifacts, in a process of their own. Raises: ChildError, StepwellError."""
        child = Child(PROGRAM, forward_errors=False)

        def ask(head: dict[str, object], body: bytes = b"") -> Frame:
            return expect_success(child.ask(head, body, seconds=_SECONDS))

        try:
            base, model = (
                ask({"op": "load", "path": path, "threads": self._threads}).head["model"] for path in paths
            )
            cases: list[tuple[Sequence[float], Sequence[float]]] = []
            inputs = inputs_of_model(self._base.main.interface)
            for arrays in inputs:
                rows, data = packed_arrays(arrays)
                head: dict[str, object] = {"op": "compare", "model": model, "base": base, "arrays": rows}
                clock = "process" if self._threads == 1 else "wall"
                found = ask(
                    {**head, "rounds": ROUNDS if len(inputs) == 1 else ROUNDS_OF_SIZES, "clock": clock}, data
                ).head
                times = cast("dict[str, list[float]]", found)
                cases.append((times["base"], times["model"]))
            return ratio_of(cases)
        finally:
            child.close()


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
