"""
Train an ONNX file: write an untrained classifier of digits and its data, then train it by `stepwell.Trainer`.

Needs scikit-learn for its pictures: `pip install 'stepwell[demo]'`. Writes untrained.onnx, digits_train.npz
and tuned.onnx into the folder that is given, by default this one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from sklearn.datasets import load_digits

import stepwell
from stepwell.tools.training.fit import epochs

HIDDEN, EPOCHS, BATCH, HELD_OUT = 128, 30, 64, 397
NET = f"""digits (float[N, 64] pictures, float[64, {HIDDEN}] w0, float[{HIDDEN}] b0, float[{HIDDEN}, 10] w1,
  float[10] b1) => (float[N, 10] scores)
  {{ h = Gemm(pictures, w0, b0) r = Relu(h) scores = Gemm(r, w1, b1) }}"""


def untrained(path: Path) -> None:
    """Write the classifier with random weights."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {NET}')
    rng = np.random.default_rng(0)
    for name, shape in (("w0", (64, HIDDEN)), ("b0", (HIDDEN,)), ("w1", (HIDDEN, 10)), ("b1", (10,))):
        scale = np.sqrt(2.0 / shape[0]) if len(shape) > 1 else 0.0
        weight = (scale * rng.standard_normal(shape)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    del model.graph.input[1:]
    onnx.save(model, str(path))


def main(folder: Path) -> float:
    """Train and write the files; returns the share of held-out pictures that are right."""
    pictures, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    x, y = (pictures[order] / 16).astype(np.float32), digits[order].astype(np.int64)
    untrained(folder / "untrained.onnx")
    np.savez(folder / "digits_train.npz", pictures=x[HELD_OUT:], labels=y[HELD_OUT:])
    trainer = stepwell.Trainer(folder / "untrained.onnx", loss="cross_entropy", optimizer="adam", lr=3e-3)
    for number, epoch in enumerate(
        epochs(trainer, [x[HELD_OUT:]], y[HELD_OUT:], count=EPOCHS, batch=BATCH), 1
    ):
        if number % 5 == 0:
            print(f"epoch {number}: loss {epoch.loss:.4f}, {epoch.samples / epoch.seconds:,.0f} pictures/s")
    right = trainer.outputs(x[:HELD_OUT])["scores"].argmax(1) == y[:HELD_OUT]
    trainer.to_onnx(folder / "tuned.onnx")
    print(f"held out: {100 * right.mean():.1f} % right")
    return float(right.mean())


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
