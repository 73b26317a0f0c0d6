"""
Models of the zoo, lowered and run by upstream MLIR: `python -m tests.upstream.runs` (`make models-upstream`).

The text of level 2, with its weights, goes through upstream's own passes and its execution engine; the
results must be ours within 1e-4 of their range. A line of JSON for each model is added to a file, so that a
run that was ended goes on; what failed, or was found with other sources, is run again.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

import stepwell
from benchmarks.zoo import F32_MODELS, OPEN_MODELS, Input, Model, model_path
from stepwell import mlir
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.lowering.kernels.fingerprint import compiler_fingerprint
from stepwell.runtime.interface import Array
from stepwell.tools.api.module import Module
from stepwell.tools.check.differences import relative_difference
from stepwell.tools.driver.compilation import main_of
from tests.support.imports import ROOT
from tests.support.upstream import run_level_2
from tests.upstream.zoo import SOURCES

BOUND = 1e-4
"""The allowed difference, relative to the range of an output."""
_LOOP = Model("greedy_loop", {"start": Input("int64", (1,), "ones"), "h0": Input("float32", (1, 128))})
_NAMES = (
    *("gru_seq", "silero_seq", "magika", "captcha_crnn", "unet_small", "bert_mini_dyn", "vit_tiny"),
    *("mobilenet_v2", "light_squeezenet", "resnet18"),
)
MODELS: Mapping[str, Model] = {
    "greedy_loop": _LOOP,
    **{name: OPEN_MODELS[name] for name in ("skl_gbr", "skl_rf")},
    **{name: F32_MODELS[name] for name in _NAMES},
}
"""Trees, recurrent networks, transformers, convolutions and a loop, some with open sizes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the models; returns 1 where a result differs, or a program cannot be lowered or run."""
    parser = ArgumentParser(prog="python -m tests.upstream.runs", description=__doc__)
    parser.add_argument("models", nargs="*", help=f"(default: {', '.join(MODELS)})")
    parser.add_argument("--results", type=Path, default=ROOT / "build/upstream-runs.jsonl")
    args = parser.parse_args(argv)
    args.results.parent.mkdir(parents=True, exist_ok=True)
    state, wrong = compiler_fingerprint(SOURCES), 0
    lines = args.results.read_text(encoding="utf-8").splitlines() if args.results.exists() else []
    last = {row["model"]: row for row in map(json.loads, lines)}
    for name in args.models or MODELS:
        if (row := last.get(name)) is not None and row["state"] == state and not row["fault"]:
            continue
        row = {**checked(MODELS[name]), "state": state}
        wrong += bool(row["fault"])
        print({key: value for key, value in row.items() if key != "state"}, flush=True)
        with args.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    print(f"{wrong} models are wrong")
    return 1 if wrong else 0


def checked(model: Model) -> Mapping[str, object]:
    """The greatest difference of a model's results, or what upstream says against it."""
    if (path := model_path(model.name)) is None:
        return {"model": model.name, "fault": "not available: STEPWELL_MODELS names no folder that has it"}
    begin, fault, difference = perf_counter(), "", 0.0
    module, feeds = stepwell.read(path).to("linalg"), model.feeds(seed=1)
    try:
        found = run_level_2(mlir.to_upstream(module, keep_info=False), arguments_of(module, feeds))
    except AssertionError as error:
        fault = str(error).splitlines()[0]
    else:
        ours = module.compile().run(feeds)
        pairs = zip(found, ours.values(), strict=True)
        difference = max(relative_difference(their, our) for their, our in pairs)
        fault = "" if difference <= BOUND else f"differs by {difference:.1e}"
    seconds = round(perf_counter() - begin, 1)
    return {"model": model.name, "fault": fault, "difference": difference, "seconds": seconds}


def arguments_of(module: Module, feeds: Mapping[str, Array]) -> Sequence[Array]:
    """The arguments of `@main` at level 2: inputs in order, then the sizes that their symbols are."""
    sizes: dict[object, int] = {}
    for info in module.inputs:
        sizes |= zip(info.shape or (), feeds[info.name].shape, strict=True)
    symbols = symbols_of(main_of(module.op))
    return [*(feeds[info.name] for info in module.inputs), *(np.array(sizes[name]) for name in symbols)]


if __name__ == "__main__":
    sys.exit(main())
