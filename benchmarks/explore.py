"""
Explorer, debugger and the searches against their bounds: `python -m benchmarks.explore [ROW…] [--json F]`.

Each row runs a command of `stepwell` in a process of its own, or its function where a process would be most
of the time. Models are those of `benchmarks/zoo.py`; a row whose model is not here is left out, aloud.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.cases import explore_services
from benchmarks.zoo import REPOSITORY, model_path
from stepwell.runtime.environment import CACHE
from tests.explore.browser import BROWSER, selftest
from tests.support.faults import planted

Found = Mapping[str, float]
_NODES = 500
_ROUNDS = 7


class Missing(Exception):
    """A model that is not here."""


@dataclass(frozen=True)
class Row:
    """A row of the table: its figures, each with a bound."""

    what: str
    bounds: Mapping[str, float]
    measure: Callable[[Path], Found]


def _model(name: str) -> Path:
    if (path := model_path(name)) is None:
        raise Missing(name)
    return path


def _command(folder: Path, *words: str, cache: str = "cache") -> tuple[dict[str, Any], float]:
    """The results of a command and its seconds. Its exit status may be 1: it has found something."""
    environment = {**os.environ, CACHE.name: str(folder / cache)}
    place = folder / "found.json"
    command = [sys.executable, "-m", "stepwell.tools.cli", *words, "--json", str(place)]
    begin = perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    seconds = perf_counter() - begin
    if done.returncode not in (0, 1) or not place.exists():
        raise RuntimeError(f"{' '.join(words)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(place.read_text()), seconds


def network(path: Path, count: int = _NODES) -> Path:
    """A made-up network with one subtraction in the middle, which its output shows."""
    pick = random.Random(1)
    nodes = [helper.make_node("Tanh", ["x"], ["t0"])]
    for i in range(1, count):
        last = f"t{i - 1}"
        if i == count * 2 // 3:
            nodes.append(helper.make_node("Sub", [last, "x"], [f"t{i}"], f"n{i}"))
        elif pick.random() < 0.3:
            nodes.append(
                helper.make_node(pick.choice(["Add", "Mul", "Max"]), [last, "x"], [f"t{i}"], f"n{i}")
            )
        else:
            kind = pick.choice(["Tanh", "Sin", "Neg", "Sigmoid", "Erf"])
            nodes.append(helper.make_node(kind, [last], [f"t{i}"], f"n{i}"))
    nodes.append(helper.make_node("Add", [f"t{count * 2 // 3}", f"t{count - 1}"], ["y"], "sum"))
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 32]) for n in ("x", "y"))
    graph = helper.make_graph(nodes, "network", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return path


def _layout(folder: Path) -> Found:
    """Seconds for graphs of 3,000 nodes, and the growth of time from 3,000 to 48,000 in that of nodes."""
    del folder
    from stepwell.tools.explore.layout import layout

    def seconds(count: int, edges: list[tuple[int, int]]) -> float:
        return min(_timed(lambda: layout([(120.0, 30.0)] * count, edges)) for _ in range(3))

    def attention(blocks: int) -> float:
        edges: list[tuple[int, int]] = []
        for x in range(0, 6 * blocks, 6):
            edges += [(x, x + 1), (x, x + 2), (x, x + 3), (x + 1, x + 4), (x + 2, x + 4), (x + 4, x + 5)]
            edges += [(x + 3, x + 5), (x, x + 6), (x + 5, x + 6)]
        return seconds(6 * blocks + 1, edges)

    small, large, pick = attention(500), attention(8000), random.Random(7)
    edges = [(pick.randrange(j), j) for j in range(1, 3000) for _ in range(3)]
    dense = [(i, j) for j in range(3000) for i in range(max(0, j - 16), j)]
    return {
        "seconds": small,
        "random": seconds(3000, edges),
        "dense": seconds(3000, dense),
        "growth": large / small / 16,
    }


def _timed(call: Callable[[], object]) -> float:
    begin = perf_counter()
    call()
    return perf_counter() - begin


def _explore(folder: Path) -> Found:
    """`explore --no-run` with kernels cached, against the compilation without caches."""
    model = str(_model("light_resnet50"))
    _, cold = _command(folder, "compile", model, "-o", str(folder / "m.stepwell"))
    _, page = _command(folder, "explore", model, "--no-run", "-o", str(folder / "m.html"))
    peak = getrusage(RUSAGE_CHILDREN).ru_maxrss / 2**20  # of all processes so far
    return {"ratio": page / cold, "megabytes": (folder / "m.html").stat().st_size / 1e6, "peak GiB": peak}


def blocks(path: Path, count: int = 300) -> Path:
    """A made-up model of `count` products of different sizes, each with nine elementwise nodes after it."""
    pick, last, width = np.random.default_rng(0), "x", 64
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def add(op: str, *inputs: str) -> str:
        name = f"/layer.{len(nodes) // 100}/{op}_{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], name))
        return nodes[-1].output[0]

    for block in range(count):
        weight = 0.1 * pick.standard_normal((width, width := 16 + block), np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{block}"))
        last = add("MatMul", last, f"w{block}")
        for i in range(9):
            last = add(("Tanh", "Relu", "Sigmoid", "Abs", "Neg")[(block + i) % 5], last)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, [4, width])
    graph = helper.make_graph(nodes, "blocks", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return path


def _page(folder: Path) -> Found:
    """The page of a model of 3,000 nodes in 300 kernels: its size, and in Chromium all its nodes."""
    if BROWSER is None:
        raise Missing("in a browser: no Chromium")
    page = folder / "blocks.html"
    found, _ = _command(folder, "explore", str(blocks(folder / "blocks.onnx")), "--no-run", "-o", str(page))
    views = [selftest(page, f"folded={folded}") for folded in (0, 1)]
    facts = {"seconds": max(view["ms"] for view in views) / 1e3, "frame ms": max(v["frame"] for v in views)}
    return {"megabytes": page.stat().st_size / 1e6, **facts, "not 300 kernels": abs(found["kernels"] - 300)}


def _debug(folder: Path) -> Found:
    """A run with all values against a plain one, in turn; and the comparison without the reference's time."""
    del folder
    import stepwell
    from stepwell.tools.debug.references import reference_values

    path = _model("light_resnet50")
    plain, session = stepwell.compile(path), stepwell.debug(path)
    name = plain.interface.inputs[0].name
    shape = [dim.value for dim in plain.interface.inputs[0].dims]
    feeds = {name: np.random.default_rng(0).standard_normal(shape, np.float32)}
    times: list[tuple[float, float]] = []
    for _ in range(_ROUNDS + 1):
        times.append((_timed(lambda: plain.run(feeds)), _timed(lambda: session.run(feeds))))
    ratio = median(kept / alone for alone, kept in times[1:])
    wanted = reference_values("reference", str(path), feeds).values
    return {"ratio": ratio, "compare": _timed(lambda: session.compare(wanted))}


def _validate(folder: Path) -> Found:
    """The default levels of healthy small models: rows that are wrong, the share that nothing judges."""
    return _validated(folder, REPOSITORY / "examples" / "digits.onnx", _model("gru_seq"))


def _validate_large(folder: Path) -> Found:
    """ResNet-50, of whose kernels the interpreter runs samples."""
    return _validated(folder, _model("light_resnet50"))


def _validated(folder: Path, *paths: Path) -> Found:
    """The rows of some models that are wrong, the share that nothing judges, and the seconds."""
    wrong = unjudged = rows = took = 0.0
    for path in paths:
        found, seconds = _command(folder, "validate", str(path))
        took += seconds
        rows += len(found["runs"])
        wrong += sum(row["status"] in ("differs", "failed") for row in found["runs"])
        unjudged += sum(row["status"] == "unjudged" for row in found["runs"])
    return {"wrong": wrong, "unjudged %": 100 * unjudged / rows, "seconds": took}


def _bisect(folder: Path) -> Found:
    """A rewrite at fault in 500 nodes."""
    model, plugin = network(folder / "net.onnx"), planted("simplify-expr", folder)
    found, seconds = _command(folder, "bisect", str(model), "--load", str(plugin))
    named = found.get("pass") == "simplify-expr" and found["rewrite"] is not None
    return {"seconds": seconds, "runs": found["runs"], "not named": 1 - named}


def _bisect_kernel(folder: Path) -> Found:
    """A pass at fault in a kernel of resnet18."""
    plugin = planted("vectorize", folder)
    found, seconds = _command(folder, "bisect", str(_model("resnet18")), "--load", str(plugin))
    return {"seconds": seconds, "not named": 1 - (found.get("pass", "").partition("{")[0] == "vectorize")}


def _reduce(folder: Path) -> Found:
    """One wrong rewrite in 500 nodes."""
    model, plugin = network(folder / "net.onnx"), planted("simplify-expr", folder)
    words = ("reduce", str(model), "-o", str(folder / "small.onnx"), "--load", str(plugin))
    found, seconds = _command(folder, *words)
    return {"nodes": found["nodes_after"], "probes": found["probes"], "seconds": seconds}


CRASH = '''"""A fault: simplify-expr ends the process at a subtraction."""
import os
from stepwell.passes.registry import load_pass
from stepwell.patterns import register_predicate

Faulty = load_pass("simplify-expr")
register_predicate("crash.any")(lambda value: True)  # a plugin registers something

def apply(self, ctx, op):
    if any(inner.name == "graph.subtract" for inner in op.walk()):
        os.abort()

Faulty.apply = apply
'''


def _reduce_ir(folder: Path) -> Found:
    """A crash in a file of 2,000 ops of level 1."""
    model = network(folder / "net.onnx", 2000)
    _command(
        folder, "compile", str(model), "--emit", "graph", "-o", str(folder / "net.mlir"), "--opt-level", "0"
    )
    (folder / "crash.py").write_text(CRASH)
    words = ("reduce", str(folder / "net.mlir"), "-o", str(folder / "small.mlir"), "-p", "simplify-expr")
    found, seconds = _command(folder, *words, "--crash", "--load", str(folder / "crash.py"))
    return {"ops": found["ops_after"], "seconds": seconds}


ROWS: Mapping[str, Row] = {
    "layout": Row(
        "layout of 3,000 nodes; growth to 48,000",
        {"seconds": 0.5, "random": 0.5, "dense": 0.5, "growth": 2.0},
        _layout,
    ),
    "explore": Row(
        "explore --no-run, ResNet-50, kernels cached",
        {"ratio": 2.0, "megabytes": 20, "peak GiB": 1},
        _explore,
    ),
    "page": Row(
        "page of 3,000 nodes in 300 kernels",
        {"megabytes": 20, "seconds": 2, "frame ms": 16, "not 300 kernels": 0},
        _page,
    ),
    "debug": Row("run with all values; comparison", {"ratio": 1.2, "compare": 10}, _debug),
    "validate": Row("healthy models", {"wrong": 0, "unjudged %": 2}, _validate),
    "validate-resnet50": Row(
        "ResNet-50 validate sampled", {"wrong": 0, "unjudged %": 2, "seconds": 300}, _validate_large
    ),
    "bisect": Row("a rewrite in 500 nodes", {"seconds": 15, "runs": 25, "not named": 0}, _bisect),
    "bisect-kernel": Row("a pass in a kernel of resnet18", {"seconds": 60, "not named": 0}, _bisect_kernel),
    "reduce": Row("a wrong rewrite in 500 nodes", {"nodes": 4, "probes": 60, "seconds": 60}, _reduce),
    "reduce-ir": Row("a crash in 2,000 ops of level 1", {"ops": 5, "seconds": 60}, _reduce_ir),
    "serve": Row("a try in the playground, a product", {"seconds": 2}, explore_services.serve),
    "lsp": Row("definition in 10,000 lines after a change", {"ms": 50}, explore_services.lsp),
    "off": Row("log and trace that are off, of a compilation", {"%": 1}, explore_services.off),
}


def main() -> None:
    """Measure the rows and print each figure beside its bound."""
    parser = ArgumentParser(prog="python -m benchmarks.explore")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="F.json", help="the figures in a file too")
    args = parser.parse_args()
    if unknown := [name for name in args.rows if name not in ROWS]:
        parser.error(f"no row {unknown[0]!r}: the rows are {', '.join(ROWS)}")
    results: dict[str, object] = {}
    for name in args.rows or ROWS:
        row = ROWS[name]
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = row.measure(Path(folder))
            except Missing as missing:
                print(f"{name:14} {row.what}: no model {missing}")
                continue
        results[name] = {what: {"found": found[what], "bound": row.bounds[what]} for what in row.bounds}
        texts = (f"{what} {found[what]:.3g} of {bound:g}" for what, bound in row.bounds.items())
        print(f"{name:14} {row.what}: {', '.join(texts)}", flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
