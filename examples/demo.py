"""
The main job in one go: a trained model becomes native code through every level, and runs.

    python examples/demo.py

Compiles the digit classifier of this folder, reads a few held-out pictures with it, compares with ONNX's
reference evaluator, and writes the program at each level into a folder for you to read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel

import stepwell as sw
from stepwell.tools.explore.dump import compile_and_dump  # what `stepwell compile --dump` calls

HERE = Path(__file__).parent
MODEL = HERE / "digits.onnx"
SHOWN = 6
SHADES = " ░▒▓█"


def main() -> int:
    """Run the demo; returns the exit status: 1 when the results depart from the reference."""
    console = Console()
    with np.load(HERE / "digits_held_out.npz") as held_out:
        pictures, digits = held_out["pictures"], held_out["digits"]
    console.rule("compile")
    start = perf_counter()
    model = sw.compile(MODEL)
    seconds = perf_counter() - start
    console.print(model.summary(), f"compiled in {seconds:.2f} s", sep="\n", highlight=False)

    console.rule(f"read {SHOWN} of {len(digits)} held-out pictures")
    start = perf_counter()
    probabilities = np.asarray(model(pictures), np.float32)
    seconds = perf_counter() - start
    guesses = probabilities.argmax(axis=1)
    console.print(
        Columns(
            Panel(drawn(picture), title=f"read {guess}", subtitle=f"{p.max():.0%}, is {digit}", width=20)
            for picture, guess, p, digit in zip(
                pictures[:SHOWN], guesses, probabilities, digits[:SHOWN], strict=False
            )
        )
    )
    right = float(np.mean(guesses == digits))
    console.print(
        f"{right:.1%} of {len(digits)} pictures are right, {1e6 * seconds / len(digits):.2f} µs each"
    )

    console.rule("compare with ONNX's reference evaluator")
    expected = reference(pictures)
    difference = float(np.abs(probabilities - expected).max() / np.ptp(expected))
    console.print(f"largest difference: {difference:.1e} of the output's range")

    console.rule("read the program")
    folder = HERE / "digits-levels"
    compile_and_dump(MODEL, sw.CompileOptions(), folder)
    for path in sorted(folder.glob("*.mlir")):
        console.print(f"{path.relative_to(HERE.parent)}: {len(path.read_text().splitlines())} lines")
    console.print(f"open {(folder / 'index.html').relative_to(HERE.parent)} to see what each pass did")
    return 0 if difference < 1e-4 else 1


def reference(pictures: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """What the model means, by the evaluator that defines ONNX."""
    from onnx.reference import ReferenceEvaluator

    evaluator: Any = ReferenceEvaluator(str(MODEL))
    return np.asarray(evaluator.run(None, {"pictures": pictures})[0])


def drawn(picture: npt.NDArray[np.float32]) -> str:
    """An 8x8 picture in shades, two characters a pixel."""
    levels = np.minimum((picture.reshape(8, 8) * len(SHADES)).astype(int), len(SHADES) - 1)
    return "\n".join("".join(SHADES[level] * 2 for level in row) for row in levels)


if __name__ == "__main__":
    sys.exit(main())
