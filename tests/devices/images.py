"""
The first class of random images on the accelerator and on the CPU, `python -m tests.devices.images`.

A line of JSON for each image goes to a file, so that a run that was ended goes on. Returns 1 where more than
two of 64 images have another class.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import stepwell as sw
from stepwell.runtime.environment import MODELS
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
    done = {entry["image"]: entry["equal"] for entry in map(json.loads, lines)}
    path = models(Path(folder), drawn, only=_MODEL)[-1]
    device, here = sw.compile(path, device="npu"), sw.compile(path)
    for image in range(args.images):
        if image in done:
            continue
        x = np.random.default_rng(image).standard_normal((1, 3, 224, 224), np.float32)
        classes = [_first(model(x)) for model in (device, here)]
        done[image] = classes[0] == classes[1]
        print(image, classes, flush=True)
        with args.results.open("a") as file:
            file.write(json.dumps({"image": image, "equal": done[image]}) + "\n")
    others = sum(not equal for equal in done.values())
    print(f"{len(done) - others} of {len(done)} images have the CPU's class")
    return int(others > _MOST_OTHERS)


def _first(scores: Any) -> int:
    return int(np.asarray(scores).argmax())


if __name__ == "__main__":
    sys.exit(main())
