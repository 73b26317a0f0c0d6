"""
Latency of a model of PyTorch in this process: `python -m benchmarks.frontends.latency NAME` prints JSON.

Engines take turns on the same core, and processor time counts, so that other programs disturb little.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from time import process_time
from typing import Any

import stepwell
from stepwell.runtime.packages import needed
from stepwell.runtime.rpc.interleaved import Runner, interleave, ratio

ROUNDS = 15
COMPILED = ("stepwell", "inductor")
"""The backends of torch.compile."""


def main(name: str) -> None:
    """Print the figures of a model."""
    from tests.frontends.torch_cases import CASES, torch

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    case = CASES[name]()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        runners, kernels = _exported(case, Path(folder, "model.onnx"))
        runners |= {backend: _compiled(case, backend) for backend in COMPILED}
        times = interleave(runners, ROUNDS, process_time)
    print(
        json.dumps(
            {
                "ms": {each: latency.median * 1e3 for each, latency in times.items()},
                "export over onnx": 1 / ratio(times["onnx"], times["export"]).median,
                "inductor over stepwell": ratio(times["inductor"], times["stepwell"]).median,
                "kernels": kernels,
            }
        )
    )


def _exported(case: Any, file: Path) -> tuple[dict[str, Runner], Mapping[str, int]]:
    """Calls of the model by `torch.export` and by an ONNX file, and their numbers of kernels."""
    from tests.frontends.torch_cases import torch

    with needed("torch's exporter of ONNX files", install="onnxscript"):
        torch.onnx.export(case.module, case.inputs, str(file), dynamo=True, verbose=False)
    models = {
        "export": stepwell.compile(case.module, example_inputs=case.inputs),
        "onnx": stepwell.compile(file),
    }
    arrays = [tensor.numpy() for tensor in case.inputs]
    runners: dict[str, Runner] = {
        name: (lambda model=model: model(*arrays)) for name, model in models.items()
    }
    return runners, {name: len(model.kernels) for name, model in models.items()}


def _compiled(case: Any, backend: str) -> Runner:
    """A call of the model by a backend of torch.compile."""
    from stepwell.torch import dynamo_backend
    from tests.frontends.torch_cases import torch

    torch._dynamo.reset()
    if backend == "stepwell":
        fast = torch.compile(case.module, backend=dynamo_backend, options={"unsupported": "error"})
    else:
        fast = torch.compile(case.module, backend=backend)
    fast(*case.inputs)
    return lambda: fast(*case.inputs)


if __name__ == "__main__":
    main(sys.argv[1])
