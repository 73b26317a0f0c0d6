"""
Train the digit classifier of the demo and write it as ONNX.

    python examples/train_digits.py        # needs the extra "demo": scikit-learn

Writes examples/digits.onnx and the held-out pictures, examples/digits_held_out.npz. Seeded: a second run with
the same versions gives the same files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HERE = Path(__file__).parent
WANTED_ACCURACY = 0.97


class Network(Protocol):
    """What a fitted network of scikit-learn holds: a matrix and a bias for each layer."""

    coefs_: Sequence[npt.NDArray[np.float64]]
    intercepts_: Sequence[npt.NDArray[np.float64]]

    def predict(self, pictures: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """The digit of each picture."""
        ...


def train() -> tuple[Network, npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """A fitted classifier of 8x8 pictures (values 0 .. 1), and the held-out pictures with their digits."""
    pictures, digits = load_digits(return_X_y=True)
    x = (np.asarray(pictures) / 16).astype(np.float32)
    y = np.asarray(digits).astype(np.int64)
    x_train, x_held, y_train, y_held = train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)
    classifier: Any = MLPClassifier((192,), alpha=1e-2, max_iter=300, random_state=0)
    classifier.fit(*with_shifts(np.asarray(x_train), np.asarray(y_train)))
    return classifier, np.asarray(x_held), np.asarray(y_held)


def with_shifts(
    pictures: npt.NDArray[np.float32], digits: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """The pictures, and each of them moved by one pixel up, down, left and right."""
    padded = np.pad(pictures.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    moves = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
    moved = [padded[:, row : row + 8, column : column + 8].reshape(-1, 64) for row, column in moves]
    return np.concatenate(moved), np.tile(digits, len(moves))


def to_onnx(classifier: Network) -> onnx.ModelProto:
    """The classifier as Gemm, Relu and Softmax nodes; any number of pictures at once."""
    nodes: list[onnx.NodeProto] = []
    initializers: list[onnx.TensorProto] = []
    value = "pictures"
    layers = list(zip(classifier.coefs_, classifier.intercepts_, strict=True))
    for index, (weight, bias) in enumerate(layers):
        for name, array in ((f"w{index}", weight), (f"b{index}", bias)):
            initializers.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        nodes.append(
            helper.make_node("Gemm", [value, f"w{index}", f"b{index}"], [f"h{index}"], name=f"layer{index}")
        )
        value = f"h{index}"
        if index < len(layers) - 1:
            nodes.append(helper.make_node("Relu", [value], [f"r{index}"], name=f"relu{index}"))
            value = f"r{index}"
    nodes.append(helper.make_node("Softmax", [value], ["probabilities"], name="softmax", axis=1))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["N", 64])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def main() -> None:
    """Train, check the accuracy on the held-out part, write both files."""
    classifier, pictures, digits = train()
    accuracy = float(np.mean(np.asarray(classifier.predict(pictures)) == digits))
    if accuracy < WANTED_ACCURACY:
        raise SystemExit(
            f"only {accuracy:.1%} of the held-out pictures are right, wanted {WANTED_ACCURACY:.0%}"
        )
    onnx.save(to_onnx(classifier), str(HERE / "digits.onnx"))
    np.savez_compressed(HERE / "digits_held_out.npz", pictures=pictures, digits=digits)
    print(f"{accuracy:.1%} of {len(digits)} held-out pictures are right")


if __name__ == "__main__":
    main()
