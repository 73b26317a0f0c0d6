"""
Whole models on the interpreter of PTX, on WebGPU and by OpenCL, compared with the CPU:
`python -m tests.devices.whole --devices webgpu`.

Larger models get smaller inputs. A line of JSON for each model and device goes to a file, so that a run that
was ended goes on. Returns 1 where outputs differ, or a model fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import stepwell as sw
from stepwell.runtime.devices.moved import device_parts
from stepwell.runtime.environment import MODELS
from stepwell.runtime.errors import StepwellError
from stepwell.tools.inputs import made_up_inputs
from tests.devices.zoo import models
from tests.support.imports import ROOT

_SMALL = {"x": (1, 3, 32, 32)}
SHAPES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "digits": {"pictures": (5, 64)},
    "skl_gbr": {"X": (4, 20)},
    "skl_rf": {"X": (4, 20)},
    "resnet18": _SMALL,
    "resnet18_qdq": _SMALL,
    "mobilenet_v2": _SMALL,
    "bert_mini_dyn": {"ids": (1, 8), "mask": (1, 8)},
    "bert_mini_dynq": {"ids": (1, 8), "mask": (1, 8)},
    "unet_small": _SMALL,
    "light_squeezenet": {"data_0": (1, 3, 64, 64)},
    "gpt_kv": {},
    "magika": {"bytes": (1, 2048)},
    "silero_if": {"input": (1, 576), "state": (2, 1, 128)},
    "silero_seq": {"input": (1, 576)},
    "greedy_loop": {},
    "gru_seq": {"x": (1, 1, 64)},
    "ppocr_det": _SMALL,
}
"""The models, with the shapes of their inputs where these are not the file's own."""
_FIXED = {"silero_if": {"sr": np.array(16000)}}
"""Inputs that cannot be drawn."""
DEVICES: Mapping[str, Mapping[str, Any]] = {
    "ptx-interpreter": {"target": "cuda", "device": "ptx-interpreter"},
    "webgpu": {"target": "webgpu"},
    "opencl": {"target": "opencl"},
}
_MOST = 1e-4
"""The largest difference of an output, relative to its largest element."""


def main() -> int:
    """Run the models that are not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "build/whole-devices.jsonl")
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--models", default=",".join(SHAPES))
    args = parser.parse_args()
    drawn = args.results.parent / "drawn"
    drawn.mkdir(parents=True, exist_ok=True)
    folder = MODELS.value()
    found = {path.stem: path for path in models(Path(folder) if folder else None, drawn)}
    lines = args.results.read_text().splitlines() if args.results.exists() else []
    entries = {(entry["model"], entry["device"]): entry for entry in map(json.loads, lines)}
    kinds = {info.kind for info in sw.devices()}
    asked = args.devices.split(",")
    here = [device for device in asked if device in kinds]
    print(*(f"no {device} is here" for device in asked if device not in kinds))
    for name in args.models.split(","):
        for device in here if name in found else ():
            if (name, device) in entries:
                continue
            entries[name, device] = entry = {"model": name, "device": device} | compared(found[name], device)
            print(entry, flush=True)
            with args.results.open("a") as file:
                file.write(json.dumps(entry) + "\n")
    wrong = [key for key, entry in entries.items() if "code" in entry or entry["difference"] > _MOST]
    print(f"{len(entries) - len(wrong)} of {len(entries)} runs agree with the CPU", *wrong)
    return int(bool(wrong))


def compared(path: Path, device: str) -> dict[str, object]:
    """The largest relative difference of an output, the commands of the device, and the seconds of a call."""
    shapes = SHAPES[path.stem]
    try:
        here = sw.compile(path, input_shapes=shapes)
        there = sw.compile(path, input_shapes=shapes, use_cache=False, **DEVICES[device])
        feeds = made_up_inputs(here.interface, "random", 0, shapes) | _FIXED.get(path.stem, {})
        expected = here.run(feeds)
        begin = process_time()
        found = there.run(feeds)
    except StepwellError as error:
        return {"code": error.code, "message": error.message}
    commands = sum(len(part.commands) for part in device_parts(there.image))
    seconds = round(process_time() - begin, 1)
    difference = max(_difference(found[name], wanted) for name, wanted in expected.items())
    return {"difference": difference, "commands": commands, "seconds": seconds}


def _difference(found: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest element; infinite where shapes or types differ."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return float("inf")
    scale = max(float(np.abs(wanted).max(initial=0)), 1e-30)
    with np.errstate(invalid="ignore"):
        return float(np.abs(found.astype(np.float64) - wanted).max(initial=0)) / scale


if __name__ == "__main__":
    sys.exit(main())
