"""The program of the worker processes that collect the steps of kernels, as `lowering/kernels/worker.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import IO, cast

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels.handover import described, taken_over
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Frame, Head, read_frame, write_frame
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.driver.plugins import load_plugin
from stepwell.tools.explore.kernel_steps import kernel_data

Answer = Callable[[Frame], tuple[Head, bytes]]


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Collect kernels from requests until they end; the first one has the plugins and the pass context."""
    serve(requests, replies, _collected)


def serve(requests: IO[bytes], replies: IO[bytes], answer: Answer) -> None:
    """
    Answer requests until they end, with the plugins and the pass context of the first one.

    Args: what `answer` raises is the answer, as `described`.
    """
    if (first := read_frame(requests)) is None:
        return
    try:
        context = taken_over(first.head, load_plugin)
    except StepwellError as error:
        write_frame(replies, {"error": error.render()})
        return
    write_frame(replies, {})
    with context:
        while (request := read_frame(requests)) is not None:
            try:
                answered = answer(request)
            except Exception as error:  # the parent reports it
                answered = {"error": described(error)}, b""
            write_frame(replies, *answered)


def target_of(request: Frame) -> TargetDescription:
    """The target that a request names."""
    return TargetDescription.from_json(cast(Mapping[str, object], request.head["target"]))


def _collected(request: Frame) -> tuple[Head, bytes]:
    ctx = StepwellContext()
    module = parse_module(ctx, request.body.decode())
    return {}, json.dumps(kernel_data(module, ctx, target_of(request))).encode()
