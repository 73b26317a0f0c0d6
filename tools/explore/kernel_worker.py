"""The program of the worker processes that collect the steps of kernels, as `lowering/kernels/worker.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, cast

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels.handover import described, taken_over
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Frame, Head, read_frame, write_frame
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.driver.plugins import load_plugin
from stepwell.tools.explore.kernel_steps import kernel_data


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Collect kernels from requests until they end; the first one has the plugins and the pass context."""
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
            write_frame(replies, *_answer(request))


def _answer(request: Frame) -> tuple[Head, bytes]:
    ctx = StepwellContext()
    try:
        target = TargetDescription.from_json(cast(Mapping[str, object], request.head["target"]))
        module = parse_module(ctx, request.body.decode())
        return {}, json.dumps(kernel_data(module, ctx, target)).encode()
    except Exception as error:  # the parent reports it
        return {"error": described(error)}, b""
