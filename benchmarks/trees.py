"""
Tree ensembles against the engines that are installed: `python -m benchmarks.trees`.

Forests of scikit-learn, learned from random numbers, are exported to ONNX and run in turn by Stepwell, ONNX
Runtime, scikit-learn itself and tl2cgen (compiled if-else; it needs treelite and gcc), on a thread each. Time
is processor time, the least of some rounds' medians. `--model` measures an ONNX file in place of forests.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from shutil import which
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.interleaved import geometric_mean, interleave
from stepwell.tools.driver.compile import compile
from stepwell.tools.measure.peers import Runner, engine_named

PEERS = ("onnxruntime", "sklearn", "tl2cgen")
_FEATURES = 20
_SAMPLES = 3000
_INSTALL = "make .venv/with-bench"

Numbers = npt.NDArray[np.float32]


def learned(trees: int, depth: int, classes: int) -> Any:
    """A forest of scikit-learn: a regressor, or a classifier for several classes."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    rng = np.random.default_rng(0)
    x = rng.standard_normal((_SAMPLES, _FEATURES)).astype(np.float32)
    options: dict[str, Any] = {"n_estimators": trees, "max_depth": depth, "random_state": 0}
    if classes == 1:
        return ExtraTreesRegressor(**options).fit(x, rng.standard_normal(_SAMPLES))
    return ExtraTreesClassifier(**options).fit(x, rng.integers(0, classes, _SAMPLES))


def exported(forest: Any) -> onnx.ModelProto:
    """A forest as a model of one node, whose input `x` has an open number of rows."""
    classes = len(forest.classes_) if hasattr(forest, "classes_") else 0
    kind = "class" if classes else "target"
    node: dict[str, list[Any]] = {f"nodes_{name}": [] for name in _COLUMNS}
    leaf: dict[str, list[Any]] = {f"{kind}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for number, estimator in enumerate(forest.estimators_):
        for column, values in zip(node, _nodes(number, estimator.tree_), strict=True):
            node[column] += values
        for row in _leaves(number, estimator.tree_, len(forest.estimators_)):
            for column, value in zip(leaf, row, strict=True):
                leaf[column].append(value)
    options: dict[str, Any] = {"classlabels_int64s": [*range(classes)]} if classes else {"n_targets": 1}
    outputs = {"label": TensorProto.INT64, "y": TensorProto.FLOAT} if classes else {"y": TensorProto.FLOAT}
    operator = "TreeEnsembleClassifier" if classes else "TreeEnsembleRegressor"
    made = helper.make_node(operator, ["x"], [*outputs], domain="ai.onnx.ml", **node, **leaf, **options)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", _FEATURES])
    results = [helper.make_tensor_value_info(name, type, None) for name, type in outputs.items()]
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 18)]
    return helper.make_model(
        helper.make_graph([made], "forest", [x], results), opset_imports=opsets, ir_version=9
    )


_COLUMNS = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")


def _nodes(number: int, tree: Any) -> Sequence[Sequence[Any]]:
    """The columns of the nodes of a tree, those of leaves 0."""
    inner = tree.children_left >= 0
    # Of the numbers in f32 the same are at most the greatest one that is not above the threshold.
    limits = tree.threshold.astype(np.float32)
    limits = np.where(limits > tree.threshold, np.nextafter(limits, np.float32(-np.inf)), limits)
    columns = (tree.feature, limits, tree.children_left, tree.children_right)
    return [
        [number] * tree.node_count,
        [*range(tree.node_count)],
        ["BRANCH_LEQ" if is_inner else "LEAF" for is_inner in inner],
        *(np.where(inner, column, 0).tolist() for column in columns),
    ]


def _leaves(number: int, tree: Any, trees: int) -> Iterator[tuple[int, int, int, float]]:
    """Tree, node, target and weight of each leaf: its share of the mean over the trees."""
    values = tree.value[:, 0, :]
    values = values / values.sum(1, keepdims=True) if values.shape[1] > 1 else values
    for leaf in np.flatnonzero(tree.children_left < 0).tolist():
        for target, value in enumerate(values[leaf].tolist()):
            yield number, leaf, target, value / trees


def compiled_if_else(forest: Any, folder: Path) -> Any:
    """The forest as a library of C code by tl2cgen."""
    import tl2cgen
    import treelite

    library = folder / "forest.so"
    model = treelite.sklearn.import_model(forest)
    tl2cgen.export_lib(model, toolchain="gcc", libpath=library, params={"parallel_comp": 8})
    return tl2cgen.Predictor(library, nthread=1)


def measure(
    path: Path,
    batches: Sequence[Numbers],
    peers: Sequence[str],
    rounds: int,
    forest: Any = None,
    if_else: Any = None,
) -> Iterator[tuple[int, Mapping[str, float]]]:
    """For each batch the number of rows and the seconds of each engine; all of them take turns."""
    model = compile(path, threads=1)
    name = model.interface.inputs[0].name
    for x in batches:
        runners: dict[str, Runner] = {"stepwell": partial(_run, model, {name: x})}
        if "onnxruntime" in peers:
            runners["onnxruntime"] = engine_named("onnxruntime").load(path, 1, {name: x})
        if "sklearn" in peers and forest is not None:
            predict = getattr(forest, "predict_proba", forest.predict)
            runners["sklearn"] = partial(_predicted, predict, x)
        if if_else is not None:
            runners["tl2cgen"] = _if_else_runner(if_else, x)
        _expect_equal(runners)
        latencies = interleave(runners, rounds, process_time)
        yield len(x), {name: min(latency.rounds) for name, latency in latencies.items()}


def _run(model: CompiledModel, feeds: Mapping[str, Array]) -> Sequence[Array]:
    return [np.asarray(value) for value in model.run(feeds).values()]


def _if_else_runner(predictor: Any, x: Numbers) -> Runner:
    import tl2cgen

    matrix = tl2cgen.DMatrix(x, dtype="float32")
    return lambda: [predictor.predict(matrix)]


def _expect_equal(runners: Mapping[str, Runner]) -> None:
    """Require the engines to agree on the scores; their sums of a row may round in other places."""
    wanted = np.asarray(runners["stepwell"]()[-1], np.float64).ravel()
    for name, run in runners.items():
        found = np.asarray(run()[-1], np.float64).ravel()
        if not np.allclose(found, wanted, rtol=1e-4, atol=1e-4):
            raise SystemExit(f"{name} differs by {np.abs(found - wanted).max()}")


def _predicted(predict: Callable[[Array], Array], x: Array) -> Sequence[Array]:
    return [predict(x)]


def _row(title: str, rows: int, seconds: Mapping[str, float], peers: Sequence[str]) -> str:
    ours = seconds["stepwell"]
    ratios = [f"{seconds[peer] / ours:.2f}" if peer in seconds else "-" for peer in peers]
    return f"| {title} | {rows} | {1e6 * ours:.1f} | {' | '.join(ratios)} |"


def _installed(peers: Sequence[str]) -> list[str]:
    """The peers that can run; says aloud which cannot, and why."""
    found: list[str] = []
    for peer in peers:
        missing = [package for package in _NEEDS.get(peer, (peer,)) if find_spec(package) is None]
        if missing:
            print(f"{peer} is left out: {', '.join(missing)} not installed ({_INSTALL})")
        elif peer == "tl2cgen" and which("gcc") is None:
            print("tl2cgen is left out: there is no gcc")
        else:
            found.append(peer)
    return found


_NEEDS = {"tl2cgen": ("tl2cgen", "treelite", "sklearn")}


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.trees", description=__doc__)
    numbers: dict[str, Any] = {"type": int, "nargs": "+"}
    parser.add_argument("--trees", default=[10, 100, 1000], **numbers)
    parser.add_argument("--depth", default=[3, 5, 8, 12], **numbers)
    parser.add_argument("--classes", default=[1, 10], **numbers)
    parser.add_argument("--rows", default=[1, 64, 1000, 10_000], **numbers)
    parser.add_argument("--model", action="append", type=Path, default=[], help="an ONNX file")
    parser.add_argument("--against", default=",".join(PEERS), help="engines, with commas between")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--if-else", type=int, default=20_000, metavar="LEAVES",
        help="larger forests are not compiled by tl2cgen: gcc takes 36 s for 15,000 leaves",
    )  # fmt: skip
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table in Markdown; returns the exit status."""
    args = _arguments(argv)
    peers = _installed([peer for peer in args.against.split(",") if peer])
    if not args.model and find_spec("sklearn") is None:
        print(f"no forests: scikit-learn is not installed ({_INSTALL}); --model FILE measures a file")
        return 1
    x = np.random.default_rng(1).standard_normal((max(args.rows), _FEATURES)).astype(np.float32)
    batches = [x[:rows] for rows in args.rows]
    print(f"\n| forest | rows | µs | {' | '.join(peers)} |\n|---|--:|--:|{'--:|' * len(peers)}")
    ratios: dict[str, list[float]] = {peer: [] for peer in peers}

    def show(title: str, results: Iterator[tuple[int, Mapping[str, float]]]) -> None:
        for rows, seconds in results:
            print(_row(title, rows, seconds, peers), flush=True)
            for peer in seconds.keys() & ratios.keys():
                ratios[peer].append(seconds[peer] / seconds["stepwell"])

    for path in args.model:
        show(path.stem, measure(path, batches, peers, args.rounds))
    for trees, depth, classes in () if args.model else product(args.trees, args.depth, args.classes):
        with tempfile.TemporaryDirectory() as folder:
            forest, path = learned(trees, depth, classes), Path(folder) / "forest.onnx"
            onnx.save(exported(forest), path)
            leaves = sum(estimator.tree_.n_leaves for estimator in forest.estimators_)
            compiles = "tl2cgen" in peers and leaves <= args.if_else
            ifs = compiled_if_else(forest, Path(folder)) if compiles else None
            title = f"{trees} trees, depth {depth}, {classes} classes, {leaves} leaves"
            show(title, measure(path, batches, peers, args.rounds, forest, ifs))
    means = [f"{peer} {geometric_mean(values):.2f}" for peer, values in ratios.items() if values]
    print(f"\ntime over ours, geometric means: {', '.join(means) or 'no peers'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
