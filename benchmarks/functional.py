"""
Programs with functions and data: `python -m benchmarks.functional`.

- A child-sum Tree-LSTM (examples/tree_lstm.mlir, hidden sizes 150 and 32, batch 1) over the syntax trees of
  modules of Python's library, against torch 2, eager, one thread, in turn: microseconds a node, and torch's
  time over ours. A call includes the conversion of the tree from Python.
- A recursion that counts down, three scalar ops a level: microseconds a level at a depth of 1,000 and of
  999,999.
- A call that does next to nothing.
- The growth of memory over 1,000 calls of a program with closures and cells.
- The seconds of a cold compilation of the Tree-LSTM.
- Beam search over a decoder with a growing cache (`beam_search.py`), against the same loop in Python.

All but the last with native functions and with the machine (`executor="vm"`).
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import resource
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import stepwell
from benchmarks.beam_search import measure_beam_search
from stepwell.runtime.environment import CACHE
from stepwell.runtime.rpc.interleaved import interleave, ratio
from stepwell.runtime.values import Data

Array = npt.NDArray[Any]
Tree = tuple[int, list["Tree"]]
"""A node of a syntax tree: the number of its class, and its children."""
MODULES = ("heapq", "bisect", "textwrap", "shlex", "fnmatch", "glob", "queue", "sched", "string", "copy")
ROUNDS = 7
CALLS = 2_000
EXECUTORS: tuple[Literal["native", "vm"], ...] = ("native", "vm")
EXAMPLE = Path(__file__).parents[1] / "examples" / "tree_lstm.mlir"
COUNT_DOWN = """
func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> (tensor<i64>) {
    graph.yield %zero : tensor<i64>
  } else {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %d = graph.call @main(%m) : (tensor<i64>) -> tensor<i64>
    %e = graph.add %d, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %e : tensor<i64>
  }
  func.return %r : tensor<i64>
}
"""
CLOSURES = """
func.func @main(%l: !adt.data<@List, tensor<i64>>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %r = ref.new %zero : tensor<i64> -> !ref.cell<tensor<i64>>
  %add = graph.lambda (%x: tensor<i64>) -> (tensor<i64>) {
    %v = ref.read %r : !ref.cell<tensor<i64>> -> tensor<i64>
    %w = graph.add %v, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ref.write %r, %w : !ref.cell<tensor<i64>>, tensor<i64>
    graph.yield %w : tensor<i64>
  }
  %m = graph.call @map<tensor<i64>, tensor<i64>>(%add, %l) : ((tensor<i64>) -> tensor<i64>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
  %s = graph.call @sum<i64>(%m) : (!adt.data<@List, tensor<i64>>) -> tensor<i64>
  func.return %s : tensor<i64>
}
"""  # noqa: E501


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


def measure_tree_lstm(folder: Path, hidden: int) -> None:
    """Print microseconds a node, and torch's time over ours."""
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
        mine = 1e6 * times[executor].median / nodes
        factor = f", torch / ours {ratio(times['torch'], times[executor])}" if "torch" in times else ""
        print(f"Tree-LSTM, hidden {hidden}, {executor}: {mine:.1f} us a node{factor}")
    print(f"Tree-LSTM, hidden {hidden}: cold compilation {cold:.2f} s")


def torch_run(trees: list[Tree], inputs: list[Array], weights: list[Array]) -> Callable[[], list[Any]]:
    """The states of all roots in torch."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    given = [torch.from_numpy(each) for each in inputs], [torch.from_numpy(each) for each in weights]

    def theirs() -> list[Any]:
        with torch.no_grad():
            return [torch_state(torch, tree, *given)[0] for tree in trees]

    return theirs


def measure_recursion(folder: Path) -> None:
    """Print microseconds a level."""
    (folder / "down.mlir").write_text(COUNT_DOWN)
    for executor in EXECUTORS:
        model: Any = stepwell.compile(folder / "down.mlir", executor=executor)
        for depth in (1_000, 999_999):
            runs = 20 if depth == 1_000 else 1
            assert model(np.int64(depth)) == depth
            start = perf_counter()
            for _ in range(runs):
                model(np.int64(depth))
            microseconds = 1e6 * (perf_counter() - start) / runs / depth
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(
                f"count-down of depth {depth:,}, {executor}: {microseconds:.2f} us a level, "
                f"peak memory {peak:.2f} GB"
            )


def measure_call(folder: Path) -> None:
    """Print microseconds of a call that does next to nothing."""
    (folder / "down.mlir").write_text(COUNT_DOWN)
    zero = np.zeros((), np.int64)
    for executor in EXECUTORS:
        model: Any = stepwell.compile(folder / "down.mlir", executor=executor)
        model(zero)
        start = perf_counter()
        for _ in range(CALLS):
            model(zero)
        print(f"a call of depth 0, {executor}: {1e6 * (perf_counter() - start) / CALLS:.1f} us")


def measure_growth(folder: Path) -> None:
    """Print the growth of the process's memory over 1,000 calls."""
    (folder / "closures.mlir").write_text(CLOSURES)
    values = list(range(50))
    for executor in EXECUTORS:
        model: Any = stepwell.compile(folder / "closures.mlir", executor=executor)
        for _ in range(100):
            model(values)
        before = _resident()
        for _ in range(1_000):
            model(values)
        growth = (_resident() - before) / 1e6
        print(f"memory after 1,000 calls with closures and cells, {executor}: {growth:+.2f} MB")


def _resident() -> int:
    """The bytes of the process in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure all, with an empty cache."""
    with tempfile.TemporaryDirectory() as name:
        os.environ[CACHE.name] = str(Path(name, "cache"))
        folder = Path(name)
        measure_growth(folder)
        measure_call(folder)
        for hidden in (150, 32):
            measure_tree_lstm(folder, hidden)
        measure_recursion(folder)
        measure_beam_search()


if __name__ == "__main__":
    main()
