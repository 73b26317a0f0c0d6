"""
A child-sum Tree-LSTM (examples/tree_lstm.mlir, batch 1) over the syntax trees of modules of Python's library.

Against torch 2, eager, one thread, in turn. A call includes the conversion of the tree from Python.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import stepwell
from benchmarks.functional.rows import EXECUTORS, Row
from stepwell.runtime.rpc.interleaved import interleave, ratio
from stepwell.runtime.values import Data

Array = npt.NDArray[Any]
Tree = tuple[int, list["Tree"]]
"""A node of a syntax tree: the number of its class, and its children."""
MODULES = ("heapq", "bisect", "textwrap", "shlex", "fnmatch", "glob", "queue", "sched", "string", "copy")
ROUNDS = 7
EXAMPLE = Path(__file__).parents[2] / "examples" / "tree_lstm.mlir"
FASTER = {(150, "vm"): 2.5, (150, "native"): 4.5, (32, "vm"): 4.0, (32, "native"): 15.0}
"""The least time of torch over ours, by hidden size and executor."""
COLD_S = 3.0


def syntax_tree(module: str) -> Tree:
    """The syntax tree of a module of Python's library."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    kinds: dict[type, int] = {}

    def tree(node: ast.AST) -> Tree:
        return kinds.setdefault(type(node), len(kinds)), [tree(child) for child in ast.iter_child_nodes(node)]

    return tree(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))


def nodes_of(tree: Tree) -> int:
    """The number of nodes."""
    return 1 + sum(map(nodes_of, tree[1]))


def tree_lstm(hidden: int) -> str:
    """The text of the example for another hidden size."""
    sizes = {"32": hidden, "64": 2 * hidden, "96": 3 * hidden, "128": 4 * hidden}
    text = EXAMPLE.read_text(encoding="utf-8")
    return re.sub(r"(?<![a-wyz\d])(32|64|96|128)(?!\d)", lambda found: str(sizes[found[1]]), text)


def torch_state(torch: Any, tree: Tree, inputs: Any, weights: Any) -> Any:
    """The state of a node in torch, as its users write it."""
    w, u, uf, b = weights
    h = uf.shape[0]
    q = inputs[tree[0]] @ w + b
    hsum = csum = torch.zeros(1, h)
    for child in tree[1]:
        hidden, memory = torch_state(torch, child, inputs, weights)
        hsum = hsum + hidden
        csum = csum + torch.sigmoid(q[:, 3 * h :] + hidden @ uf) * memory
    gates = q[:, : 3 * h] + hsum @ u
    i, o, v = torch.sigmoid(gates[:, :h]), torch.sigmoid(gates[:, h : 2 * h]), torch.tanh(gates[:, 2 * h :])
    memory = i * v + csum
    return o * torch.tanh(memory), memory


def tree_lstm_rows(folder: Path) -> Iterator[Row]:
    """Rows of both hidden sizes."""
    for hidden in (150, 32):
        yield from _rows(folder, hidden)


def _rows(folder: Path, hidden: int) -> Iterator[Row]:
    (folder / "tree.mlir").write_text(tree_lstm(hidden))
    start = perf_counter()
    models: dict[str, Any] = {"native": stepwell.compile(folder / "tree.mlir", threads=1)}
    cold = perf_counter() - start
    models["vm"] = stepwell.compile(folder / "tree.mlir", threads=1, executor="vm")
    rng = np.random.default_rng(0)
    shapes = ((hidden, 4 * hidden), (hidden, 3 * hidden), (hidden, hidden), (4 * hidden,))
    weights = [(rng.standard_normal(shape) / np.sqrt(hidden)).astype(np.float32) for shape in shapes]
    inputs = [rng.standard_normal((1, hidden)).astype(np.float32) for _ in range(200)]
    trees = [syntax_tree(module) for module in MODULES]
    nodes = sum(map(nodes_of, trees))

    def data(tree: Tree) -> Data:
        return Data("Rose", [inputs[tree[0]], [data(child) for child in tree[1]]])

    values = [data(tree) for tree in trees]

    def ours(executor: str) -> list[Array]:
        return [models[executor](value, *weights) for value in values]

    for one, other in zip(ours("native"), ours("vm"), strict=True):
        assert np.array_equal(one, other)  # the segments are the same machine code
    runs: dict[str, Callable[[], list[Any]]] = {each: partial(ours, each) for each in EXECUTORS}
    if importlib.util.find_spec("torch") is not None:
        runs["torch"] = torch_run(trees, inputs, weights)
        for mine, other in zip(ours("native"), runs["torch"](), strict=True):
            np.testing.assert_allclose(mine, other.numpy(), rtol=1e-3, atol=1e-4)
    times = interleave(runs, ROUNDS)
    for executor in EXECUTORS:
        found = f"{1e6 * times[executor].median / nodes:.1f} us a node"
        holds, bound = None, FASTER[hidden, executor]
        if "torch" in times:
            against = ratio(times["torch"], times[executor])
            found, holds = f"{found}, torch / ours {against}", against.median >= bound
        yield Row(f"Tree-LSTM, hidden {hidden}, {executor}", found, f"torch / ours >= {bound}", holds)
    yield Row(f"Tree-LSTM, hidden {hidden}, cold compilation", f"{cold:.2f} s", "<= 3 s", cold <= COLD_S)


def torch_run(trees: list[Tree], inputs: list[Array], weights: list[Array]) -> Callable[[], list[Any]]:
    """The states of all roots in torch."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    given = [torch.from_numpy(each) for each in inputs], [torch.from_numpy(each) for each in weights]

    def theirs() -> list[Any]:
        with torch.no_grad():
            return [torch_state(torch, tree, *given)[0] for tree in trees]

    return theirs
