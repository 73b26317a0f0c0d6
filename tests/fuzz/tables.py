"""Random nodes outside ONNX's own domain: trees and tables, and steps of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.fuzz.builder import GraphBuilder, Value
from tests.fuzz.layers import weights
from tests.fuzz.operators import Adder, ranked

_TRAINING: Mapping[str, Mapping[str, Any]] = {
    "Adagrad": {"norm_coefficient": 0.01, "decay_factor": 0.1, "epsilon": 0.01},
    "Momentum": {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.5, "mode": "standard"},
    "Adam": {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.9, "epsilon": 0.01},
}
_LESS_OR_EQUAL = 0


def trees(g: GraphBuilder) -> None:
    """Two trees of a root and two leaves each, added up."""
    value = g.pick(lambda v: v.dtype == "float32" and v.exact and len(v.shape) == 2 and v.array.size > 0)
    width = value.shape[1]
    leaves = g.rng.normal(0, 1, 4).astype(np.float32)
    g.node(
        "TreeEnsemble",
        [value],
        domain="ai.onnx.ml",
        precision="float32",
        n_targets=2,
        aggregate_function=1,
        post_transform=0,
        tree_roots=[0, 1],
        nodes_featureids=[int(n) for n in g.rng.integers(0, width, 2)],
        nodes_splits=_tensor(TensorProto.FLOAT, g.rng.normal(0, 1, 2)),
        nodes_modes=_tensor(TensorProto.UINT8, np.full(2, _LESS_OR_EQUAL)),
        nodes_truenodeids=[0, 2],
        nodes_trueleafs=[1, 1],
        nodes_falsenodeids=[1, 3],
        nodes_falseleafs=[1, 1],
        leaf_targetids=[int(n) for n in g.rng.integers(0, 2, 4)],
        leaf_weights=_tensor(TensorProto.FLOAT, leaves),
    )


def _tensor(kind: int, numbers: Any) -> TensorProto:
    return helper.make_tensor("numbers", kind, [len(numbers)], [n.item() for n in np.asarray(numbers)])


def binarize(g: GraphBuilder) -> None:
    """Above a threshold or not."""
    value = g.pick(lambda v: v.exact and v.dtype in ("float32", "int64"))
    g.node("Binarizer", [value], exact=True, domain="ai.onnx.ml", threshold=g.choice([0.0, 1.0]))


def columns(g: GraphBuilder) -> None:
    """Some columns of a table."""
    value = g.pick(lambda v: ranked(v) and len(v.shape) == 2 and v.dtype in ("float32", "int64", "int32"))
    chosen = g.constant(g.rng.integers(0, value.shape[1], g.integer(1, 3)))
    g.node("ArrayFeatureExtractor", [value, chosen], exact=True, domain="ai.onnx.ml")


def training(g: GraphBuilder) -> None:
    """A step of an optimizer on a value."""
    value = g.pick(lambda v: v.dtype == "float32" and v.array.size > 0)
    op = g.choice(list(_TRAINING))
    rate, steps = g.constant(np.array(0.1, np.float32)), g.constant(np.array(g.integer(0, 3)))
    # Averages of squares are not negative.
    kept = [weights(g, "float32", *value.shape), _squares(g, value)]
    state = {"Adagrad": kept[1:], "Momentum": kept[:1], "Adam": kept}[op]
    g.node(
        op,
        [rate, steps, value, weights(g, "float32", *value.shape), *state],
        outputs=1 + len(state),
        domain="ai.onnx.preview.training",
        precision="float32",
        **_TRAINING[op],
    )


def _squares(g: GraphBuilder, value: Value) -> Value:
    return g.constant((g.rng.normal(0, 0.5, value.shape) ** 2).astype(np.float32))


TABLES: Mapping[Adder, float] = {trees: 0.5, binarize: 0.5, columns: 0.4, training: 0.4}
"""How often each is tried."""
