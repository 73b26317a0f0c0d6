"""Models with several graphs, variables and recurrent layers, and LiteRT's results of calls in a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.frontends.tflite.models import Array, ModelBuilder
from tests.frontends.tflite.recurrent import LAYERS, Calls, floats

ADD, MUL, LESS = ("ADD", "Add"), ("MUL", "Mul"), ("LESS", "Less")


def _then(m: ModelBuilder, kind: tuple[str, str], x: int, y: int, shape: Sequence[int], dtype: str) -> int:
    """The result of an operator of two operands."""
    result = m.tensor(f"{kind[0].lower()}{len(m.tensors)}", shape, dtype)
    m.operator(kind[0], [x, y], [result], kind[1])
    return result


def _loop(m: ModelBuilder, types: Sequence[tuple[Sequence[int], str]]) -> tuple[ModelBuilder, list[int], int]:
    """
    The graphs of a loop over a counter, a limit and further values, whose condition is counter < limit.

    Returns: the graph of an iteration, its inputs after the limit, and the next counter. The options of the
    loop are in `options`.
    """
    number, test = m.graph()
    inputs = [test.input("i", [], "int32"), test.input("limit", [], "int32")]
    for k, (shape, dtype) in enumerate(types):
        test.input(f"v{k}", shape, dtype)
    test.outputs = [_then(test, LESS, inputs[0], inputs[1], [], "bool")]
    _, body = m.graph()
    counter = body.input("i", [], "int32")
    body.input("limit", [], "int32")
    values = [body.input(f"v{k}", shape, dtype) for k, (shape, dtype) in enumerate(types)]
    one = body.constant("one", np.array(1, np.int32))
    assert number == len(m.graphs) - 1
    return body, values, _then(body, ADD, counter, one, [], "int32")


def _while(m: ModelBuilder, limit: int, values: Sequence[int], shapes: Sequence[Sequence[int]]) -> list[int]:
    """A loop of the last two graphs, from 0 to a limit; returns the further values."""
    zero = m.constant("zero", np.array(0, np.int32))
    results = [m.tensor("count", [], "int32"), m.tensor("end", [], "int32")]
    results += [m.tensor(f"result{k}", shape) for k, shape in enumerate(shapes)]
    options = {"condSubgraphIndex": len(m.graphs) - 1, "bodySubgraphIndex": len(m.graphs)}
    m.operator("WHILE", [zero, limit, *values], results, "While", **options)
    return results[2:]


def powers() -> Calls:
    """A loop whose trip count is an input."""
    m = ModelBuilder()
    x, limit = m.input("x", [4]), m.input("n", [], "int32")
    body, values, counter = _loop(m, [([4], "float32")])
    factor = body.constant("factor", np.array([1.5], np.float32))
    body.outputs = [counter, 1, _then(body, MUL, values[0], factor, [4], "float32")]
    outputs = _while(m, limit, [x], [[4]])
    return Calls(m.finish(outputs), [[floats(4), np.array(n, np.int32)] for n in (3, 0, 1)])


def rows() -> Calls:
    """A loop in which a tensor grows by a row with each iteration."""
    m = ModelBuilder()
    x, limit = m.input("x", [1, 2]), m.input("n", [], "int32")
    body, values, counter = _loop(m, [([-1, 2], "float32")])
    grown, row = body.tensor("grown", [-1, 2]), body.constant("row", floats(1, 2, seed=5))
    body.operator("CONCATENATION", [values[0], row], [grown], "Concatenation", axis=0)
    body.outputs = [counter, 1, grown]
    outputs = _while(m, limit, [x], [[-1, 2]])
    return Calls(m.finish(outputs), [[floats(1, 2), np.array(n, np.int32)] for n in (2, 0)])


def written_rows() -> Calls:
    """A loop that puts a row in place of one of a tensor, as lists of TensorFlow are lowered."""
    m = ModelBuilder()
    x, limit = m.input("x", [4, 2]), m.input("n", [], "int32")
    body, values, counter = _loop(m, [([4, 2], "float32")])
    parts = [body.tensor(f"part{k}", [-1, 2]) for k in range(2)]
    bounds = [body.tensor(f"bounds{k}", [2], "int32") for k in range(2)]
    one, all_of_it, zero = (body.constant(f"c{k}", np.array([k], np.int32)) for k in (1, -1, 0))
    for number, bound, rest in ((0, bounds[0], all_of_it), (counter, bounds[1], zero)):
        flat = body.tensor(f"flat{number}", [1], "int32")
        body.operator("RESHAPE", [number, one], [flat], "Reshape", newShape=[1])
        body.operator("CONCATENATION", [flat, rest], [bound], "Concatenation", axis=0)
    begin, end = (body.constant(f"end{k}", np.array([k, k], np.int32)) for k in (0, -1))
    body.operator("SLICE", [values[0], begin, bounds[0]], [parts[0]], "Slice")
    body.operator("SLICE", [values[0], bounds[1], end], [parts[1]], "Slice")
    row, joined = body.constant("row", floats(1, 2, seed=5)), body.tensor("joined", [4, 2])
    body.operator("CONCATENATION", [parts[0], row, parts[1]], [joined], "Concatenation", axis=0)
    body.outputs = [counter, 1, joined]
    outputs = _while(m, limit, [x], [[4, 2]])
    return Calls(m.finish(outputs), [[floats(4, 2), np.array(n, np.int32)] for n in (3, 0)])


def nested() -> Calls:
    """A loop in a loop, whose trip count is the outer loop's counter."""
    m = ModelBuilder()
    x, limit = m.input("x", [3]), m.input("n", [], "int32")
    outer, values, counter = _loop(m, [([3], "float32")])
    numbers = len(m.graphs) - 1, len(m.graphs)
    inner, others, steps = _loop(m, [([3], "float32")])
    amount = inner.constant("amount", floats(3, seed=9))
    inner.outputs = [steps, 1, _then(inner, ADD, others[0], amount, [3], "float32")]
    outer.outputs = [counter, 1, _while(outer, 0, values, [[3]])[0]]
    zero = m.constant("zero", np.array(0, np.int32))
    results = [m.tensor("count", [], "int32"), m.tensor("end", [], "int32"), m.tensor("y", [3])]
    options = {"condSubgraphIndex": numbers[0], "bodySubgraphIndex": numbers[1]}
    m.operator("WHILE", [zero, limit, x], results, "While", **options)
    return Calls(m.finish(results[2:]), [[floats(3), np.array(4, np.int32)]])


def branches() -> Calls:
    """A choice, whose condition has rank 1; one of the graphs also gives a constant."""
    m = ModelBuilder()
    condition, x = m.input("p", [1], "bool"), m.input("x", [3])
    first, negative = m.graph()
    y = negative.tensor("y", [3])
    negative.operator("NEG", [negative.input("a", [3])], [y], "Neg")
    negative.outputs = [y, negative.constant("k", np.array([1.0], np.float32))]
    second, square = m.graph()
    a = square.input("a", [3])
    square.outputs = [
        _then(square, MUL, a, a, [3], "float32"),
        square.constant("k", np.array([2.0], np.float32)),
    ]
    results = [m.tensor("y", [3]), m.tensor("k", [1])]
    m.operator("IF", [condition, x], results, "If", thenSubgraphIndex=first, elseSubgraphIndex=second)
    return Calls(m.finish(results), [[np.array([flag]), floats(3)] for flag in (True, False)])


def counter() -> Calls:
    """A variable that is set once, and changed by each call: twice in a loop, and in a graph of a choice."""
    m = ModelBuilder()
    number, first = m.graph()
    initial = first.constant("initial", np.array([5, 7], np.float32))
    first.operator("ASSIGN_VARIABLE", [first.resource("total"), initial], [], "AssignVariable")
    m.operator("CALL_ONCE", [], [], "CallOnce", initSubgraphIndex=number)
    x, condition = m.input("x", [2]), m.input("p", [], "bool")
    body, values, steps = _loop(m, [([2], "float32")])
    _change(body, MUL, body.constant("factor", np.array([2.0], np.float32)))
    body.outputs = [steps, 1, values[0]]
    _while(m, m.constant("two", np.array(2, np.int32)), [x], [[2]])
    yes, taken = m.graph()
    _change(taken, ADD, taken.input("x", [2]))
    taken.outputs = taken.inputs
    no, other = m.graph()
    other.outputs = [other.input("x", [2])]
    same = m.tensor("same", [2])
    m.operator("IF", [condition, x], [same], "If", thenSubgraphIndex=yes, elseSubgraphIndex=no)
    y = m.tensor("y", [2])
    m.operator("READ_VARIABLE", [m.resource("total")], [y], "ReadVariable")
    calls = [[floats(2, seed=k), np.array(k != 1)] for k in range(3)]
    return Calls(m.finish([y]), calls)


def _change(m: ModelBuilder, kind: tuple[str, str], y: int) -> None:
    """Change the variable `total`."""
    handle, value = m.resource("total"), m.tensor("value", [2])
    m.operator("READ_VARIABLE", [handle], [value], "ReadVariable")
    m.operator("ASSIGN_VARIABLE", [handle, _then(m, kind, value, y, [2], "float32")], [], "AssignVariable")


PROGRAMS: dict[str, Callable[[], Calls]] = {
    **{each.__name__: each for each in (powers, rows, written_rows, nested, branches, counter)},
    **LAYERS,
}


def numbered(calls: Sequence[Sequence[Array]], kind: str) -> dict[str, Any]:
    """The arrays of calls by names: `in0_1` is the second input of the first call."""
    return {f"{kind}{i}_{j}": each for i, call in enumerate(calls) for j, each in enumerate(call)}
