"""Searches for models and kernels, and the gain of the choosers by themselves."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time, strftime
from traceback import print_exc

import onnx

from benchmarks.cases.kernels import MATMUL, Case
from benchmarks.cases.movement import ELEMENTWISE, MOVEMENT, ROWS
from benchmarks.tuning.before import gain_over
from benchmarks.tuning.results import TRANSFORMERS, Result, Results
from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, model_path
from stepwell.dialects.costs import schedules
from stepwell.dialects.costs.table import overridden
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.machine.target import host_target
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.interleaved import interleave, ratio
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.inputs import completed_inputs
from stepwell.tools.measure.peers import Runner
from stepwell.tools.tuning.in_model import Comparison
from stepwell.tools.tuning.report import TuningReport
from stepwell.tools.tuning.tune import tune

_MANY_REGISTERS = 32
_KERNEL_SECONDS = 60.0
_ROUNDS = 15
LISTED: Mapping[str, float] = {
    "transpose [2, 1, 0] of 64x96x128": 1.50,
    "transpose [0, 2, 1, 3] of 1x128x12x64": 1.25,
    "softmax 1536x128": 1.24,
    "transpose [1, 0] of 1024x1024": 1.19,
    "transpose [1, 0] of 256x384": 1.06,
    "transpose [1, 0] of 1000x333": 1.15,
    "128x768x3072": 1.06,
    "LayerNormalization 128x768": 1.13,
    "Gelu 192x256": 1.07,
    "Log 192x256": 1.12,
}
"""The lower ends of what hand search found on one core with 512-bit vectors, over the choosers of then."""


@contextmanager
def choosers_of_before() -> Generator[None]:
    """
    The constants of the choosers before hand search, in this process: for compilations without caches.

    Rules without a constant are today's, such as the blocks of transposes: `--before` compares with all code.
    """
    registers = 4 if host_target().vector_registers >= _MANY_REGISTERS else 2
    before = {"registers": registers, "function_registers": registers, "copy_registers": registers}
    with overridden(schedules.ELEMENTWISE, tile_ops=60, **before), overridden(schedules.ROWS, most_rows=1):
        yield


def tuned_models(
    results: Results,
    folder: Path,
    seconds: float,
    threads: Sequence[int],
    only: str,
    match: str = "",
    before: Path | None = None,
) -> None:
    """
    Tune the models of the zoo, or those that are named or are files, at each number of threads.

    Args: `before` is a folder with the code of before; without it the choosers of before are their constants.
    """
    names = only.split(",") if only else by_value([*F32_MODELS, *QUANTIZED_MODELS])
    cases = [(name, count) for name in names if match in name for count in threads]
    left = [case for case in cases if not results.is_known("models", Path(case[0]).stem, case[1], seconds)]
    print(f"models: {len(cases)}, {len(left)} to tune, about {len(left) * seconds / 3600:.1f} h", flush=True)
    for number, (name, count) in enumerate(left, start=1):
        path = Path(name) if name.endswith((".onnx", ".mlir")) else model_path(name)
        if path is None:
            print(f"{name}: skipped, STEPWELL_MODELS names no folder that has it", flush=True)
            continue
        print(f"{strftime('%H:%M')} {number} of {len(left)}: {path.stem}, threads {count}", flush=True)
        with continued(results, f"{path.stem}, threads {count}"):
            results.add(_tuned_model(path, count, folder, seconds, before))


def by_value(names: Sequence[str]) -> list[str]:
    """Names of models, first those of which much is expected: unet_small, then transformers."""
    return sorted(names, key=lambda name: (name != "unet_small", not name.startswith(TRANSFORMERS)))


@contextmanager
def continued(results: Results, what: str) -> Generator[None]:
    """Go on after a failure of a case, which is counted; the same command tries it again."""
    try:
        yield
    except Exception as error:  # also of a search's own code: one model does not end hours of others
        results.failed.append(what)
        print_exc()
        print(f"{what}: failed, {type(error).__name__}", flush=True)


def _tuned_model(
    path: Path, threads: int, folder: Path, seconds: float, before: Path | None = None
) -> Result:
    known = (F32_MODELS | QUANTIZED_MODELS).get(path.stem)
    shapes = known.input_shapes() if known is not None else {}
    database = folder / f"{path.stem}.{threads}.jsonl"
    report = tune(path, db=database, time=seconds, threads=threads, graph=True, input_shapes=shapes)
    gain = gain_of_database(path, database, threads, shapes)
    choosers = _since(before, path, threads, shapes)
    return _result("models", path.stem, replace(report, gain=gain), choosers, seconds)


def _since(
    before: Path | None,
    path: Path,
    threads: int,
    shapes: Mapping[str, Sequence[int]],
    *,
    of_kernels: bool = False,
) -> float:
    """The untuned time of before over that of today: by the code in a folder, or by constants alone."""
    if before is None:
        return gain_of_choosers(path, threads, shapes)
    gain = gain_over(before, path, threads, shapes, _arrays(path, shapes), of_kernels=of_kernels)
    print(f"{path.stem}, threads {threads}: untuned, before over now {gain}", flush=True)
    return gain.rounds.median


def tuned_kernels(
    results: Results, folder: Path, seconds: float, match: str, before: Path | None = None
) -> None:
    """Tune the kernels in which hand search gained, alone on one thread. Args: as for `tuned_models`."""
    seconds, seen = min(seconds, _KERNEL_SECONDS), set[str]()
    for case in (*MATMUL, *ROWS, *ELEMENTWISE, *MOVEMENT):
        name = _name(case, seen)
        if case.name not in LISTED or match not in name or results.is_known("kernels", name, 1, seconds):
            continue
        path = folder / f"{''.join(c if c.isalnum() else '_' for c in name)}.onnx"
        onnx.save(case.model(), str(path))
        with continued(results, name):
            report, listed = tune(path, time=seconds), LISTED[case.name]
            choosers = _since(before, path, 1, {}, of_kernels=True)
            results.add(_result("kernels", name, report, choosers, seconds, listed))


def _name(case: Case, seen: set[str]) -> str:
    """The name of a case; of a second one of that name with its attributes."""
    name = case.name
    if name in seen:
        attributes = case.nodes[0].attribute
        name += "".join(f", {each.name} {onnx.helper.get_attribute_value(each)!r}" for each in attributes)
    seen.add(name)
    return name


def _result(
    part: str, name: str, report: TuningReport, choosers: float, seconds: float, listed: float = 0.0
) -> Result:
    used = sum(task.gain > 1 for task in report.tasks)
    trials = sum(report.counts.values())
    text = f"{used} of {len(report.tasks)} kernels, {trials} trials, {report.seconds:.0f} s"
    found, high = (1.0, 1.0) if report.gain is None else (report.gain[0], report.gain[2])
    return Result(part, name, report.threads, seconds, found, high, choosers, listed, text)


def gain_of_database(
    path: Path, database: Path, threads: int, shapes: Mapping[str, Sequence[int]]
) -> tuple[float, float, float]:
    """The time of a model over that with a database, plans included: as users get both."""
    options = CompileOptions(use_cache=False, input_shapes=dict(shapes))
    comparison = Comparison(build_image(path, options), threads)
    try:
        return comparison.ratio_of(build_image(path, replace(options, tuning_db=(str(database),))))
    finally:
        comparison.close()


def gain_of_choosers(path: Path, threads: int, shapes: Mapping[str, Sequence[int]]) -> float:
    """The time of a model with the choosers of before, over that with today's."""
    with choosers_of_before():
        before = _untuned(path, threads, shapes)
    runners = {"before": before, "now": _untuned(path, threads, shapes)}
    taken = interleave(runners, _ROUNDS, process_time if threads == 1 else perf_counter)
    return ratio(taken["before"], taken["now"]).median


def _untuned(path: Path, threads: int, shapes: Mapping[str, Sequence[int]]) -> Runner:
    """A function that runs a model, compiled in this process without caches."""
    options = CompileOptions(use_cache=False, processes=1, input_shapes=dict(shapes))
    model = CompiledModel(build_image(path, options), threads=threads)
    arrays = _drawn(model.interface, shapes)

    def run() -> Sequence[Array]:
        model(*arrays)
        return ()

    return run


def _arrays(path: Path, shapes: Mapping[str, Sequence[int]]) -> list[Array]:
    """Random inputs of a model."""
    return _drawn(build_image(path, CompileOptions(input_shapes=dict(shapes))).main.interface, shapes)


def _drawn(interface: Interface, shapes: Mapping[str, Sequence[int]]) -> list[Array]:
    feeds = completed_inputs(interface, {}, 0, dict(shapes), "random")
    return [feeds[spec.name] for spec in interface.inputs]
