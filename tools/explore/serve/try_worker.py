"""The program of a process for one edit of a kernel: steps, assembly, difference and times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import IO, cast

import numpy as np
from xdsl.dialects import func

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels.kernel import object_of
from stepwell.lowering.kernels.kernel_object import KernelObject
from stepwell.lowering.kernels.machine import initialize
from stepwell.passes import parse_passes
from stepwell.passes.context import PassContext
from stepwell.passes.pipelines import OF_KERNELS, text_of
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.cores import usable_cores
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.frames import Frame, Head
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.interleaved import interleave, ratio
from stepwell.tools.check.differences import allowed_of_model, relative_difference
from stepwell.tools.check.one_kernel import program_of_kernel
from stepwell.tools.driver.compilation import Compilation, main_of
from stepwell.tools.driver.image import compile_image, deduplicate
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.explore.differences import NOT_FINITE
from stepwell.tools.explore.kernel_steps import Data, code_bytes, kernel_data
from stepwell.tools.explore.kernel_worker import serve, target_of
from stepwell.tools.explore.serve.edits import Edit, edited
from stepwell.tools.measure.profile import times_of

PROGRAM = "stepwell.tools.explore.serve.try_worker:main"
SECONDS = 20
"""The time limit of a try."""
_TIMED_SECONDS = 4
"""Slow kernels are run so long, whatever number of rounds is asked for."""


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Try the edit of a request; a process for a second one may have been damaged by the first."""
    with collector_paused():
        parse_passes(text_of(OF_KERNELS))  # imports them, before there is a request
        initialize()
        serve(requests, replies, _tried)


def _tried(request: Frame) -> tuple[Head, bytes]:
    """The data of an edited kernel, with difference and times where inputs are given."""
    _limit_processor_time()
    head, target, ctx = request.head, target_of(request), StepwellContext()
    ctx.target = target
    text = str(head["kernel"])
    found = edited(parse_module(ctx, text), ctx, Edit(*cast("tuple[str, str, int]", head["edit"])))
    data = kernel_data(found.module, ctx, target, found.levels, first=found.title)
    data |= {"file": found.file, "pipeline": found.pipeline}
    data |= {"difference": None, "allowed": None, "us": None, "code_bytes": None}
    if request.body:
        code = KernelObject(object_of(found.module, target), {"scratch": data["scratch"]})
        arrays = np.load(BytesIO(request.body), allow_pickle=False)
        inputs = [arrays[name] for name in arrays.files]
        data |= _run(text, target, code, inputs, int(str(head["threads"])), int(str(head["runs"])))
    return {}, json.dumps(data, allow_nan=False).encode()


def _limit_processor_time() -> None:
    """End this process some time after the deadline, should the server have died without ending it."""
    import resource

    seconds = 2 * SECONDS * usable_cores()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _run(
    text: str, target: TargetDescription, code: KernelObject, inputs: Sequence[Array], threads: int, runs: int
) -> Data:
    """The difference of an edited kernel's results from those of the unedited one, and the times of both."""
    models = [_model_of(text, target, each, threads) for each in (None, code)]
    feeds = [np.asarray(array) for array in inputs[: len(models[0].interface.inputs)]]
    results = [[np.asarray(value).copy() for value in _outputs(model, feeds)] for model in models]
    differences = [relative_difference(found, wanted) for wanted, found in zip(*results, strict=True)]
    return {
        "difference": min(max(differences, default=0.0), NOT_FINITE),
        "allowed": max((allowed_of_model(wanted.dtype) for wanted in results[0]), default=0.0),
        "us": _times(models, feeds, runs),
        "code_bytes": code_bytes(models[1].image, models[1].image.main.timed[0].symbol),
    }


def _model_of(text: str, target: TargetDescription, code: KernelObject | None, threads: int) -> CompiledModel:
    """A model that calls a kernel, whose code is given, or else from the cache or compiled."""
    ctx = StepwellContext()
    ctx.target = target
    (kernel,) = parse_module(ctx, text).ops
    assert isinstance(kernel, func.FuncOp)
    compilation = Compilation(program_of_kernel(kernel), ctx)
    interface = read_interface(main_of(compilation.module))
    (name,) = deduplicate(compilation.module, target)
    image = compile_image(
        compilation,
        interface,
        KernelCache(),
        passes=PassContext.current().choosing((), ["share-kernels"]),
        timed=True,
        processes=1,
        compiled={} if code is None else {name: code},
    )
    return CompiledModel(image, threads=threads)


def _outputs(model: CompiledModel, feeds: Sequence[Array]) -> list[object]:
    named = {spec.name: array for spec, array in zip(model.interface.inputs, feeds, strict=True)}
    return list(model.run(named).values())


def _times(models: Sequence[CompiledModel], feeds: Sequence[Array], runs: int) -> Mapping[str, object]:
    """Microseconds of two kernels in turn, and the first's time over the second's with its interval."""
    spent = [0.0]

    def runner(model: CompiledModel) -> Sequence[Array]:
        times = times_of(model)
        times.clear()
        model(*feeds)
        spent[0] += float(times.seconds().sum())
        return ()

    for model in models:
        runner(model)
    rounds = max(1, min(runs, int(_TIMED_SECONDS / max(2 * spent[0], 1e-6))))
    before, after = models
    runners = {"before": lambda: runner(before), "after": lambda: runner(after)}
    found = interleave(runners, rounds, clock=lambda: spent[0])
    gain = ratio(found["before"], found["after"])
    return {
        **{name: round(1e6 * latency.median, 3) for name, latency in found.items()},
        "ratio": [round(each, 4) for each in (gain.low, gain.median, gain.high)],
    }
