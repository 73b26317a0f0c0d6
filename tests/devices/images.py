"""
The first class of images on the accelerator and on the CPU, `python -m tests.devices.images`.

A line of JSON for each image goes to a file, so that a run that was ended goes on. Returns 1 where more than
two of 64 images have another class.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import stepwell as sw
from stepwell.runtime.environment import MODELS
from tests.devices.classifier import KINDS, image, taught
from tests.devices.zoo import models
from tests.support.imports import ROOT

_MODEL, _IMAGES, _MOST_OTHERS = "resnet18_qdq", 64, 2
"""The steps of one model differ by rounding: a few images may be between two classes."""


def main() -> int:
    """Compare the images that are not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "build/images-devices.jsonl")
    parser.add_argument("--images", type=int, default=_IMAGES)
    args = parser.parse_args()
    folder = MODELS.value()
    if not folder:
        print("no images: STEPWELL_MODELS names no folder of models")
        return 0
    drawn = args.results.parent / "drawn"
    drawn.mkdir(parents=True, exist_ok=True)
    lines = args.results.read_text().splitlines() if args.results.exists() else []
    done = {entry["image"]: entry for entry in map(json.loads, lines)}
    path = taught(models(Path(folder), drawn, only=_MODEL)[-1], args.results.parent / "taught.onnx")
    device, here = sw.compile(path, device="npu"), sw.compile(path)
    for number in range(args.images):
        if number in done:
            continue
        done[number] = _compared(number, device, here)
        print(done[number], flush=True)
        with args.results.open("a") as file:
            file.write(json.dumps(done[number]) + "\n")
    others = sum(entry["npu"] != entry["cpu"] for entry in done.values())
    classes = len({entry["cpu"] for entry in done.values()})
    print(f"{len(done) - others} of {len(done)} images have the CPU's class, {classes} classes in all")
    return int(others > _MOST_OTHERS)


def _compared(number: int, device: Any, here: Any) -> dict[str, float]:
    """Classes of an image, its kind, the largest difference of scores, and the seconds on the simulator."""
    x = image(number)
    begin = process_time()
    found = np.asarray(device(x))
    seconds = process_time() - begin
    wanted = np.asarray(here(x))
    return {
        "image": number,
        "kind": number % KINDS,
        "npu": int(found.argmax()),
        "cpu": int(wanted.argmax()),
        "difference": round(float(np.abs(found - wanted).max()), 4),
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
