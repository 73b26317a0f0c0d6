"""Each function of the prelude does what its twin in Python does."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp

import stepwell
from stepwell.dialects.adt.prelude import prelude_functions
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.values import Data

N, B = "tensor<i64>", "tensor<i1>"
L, T = f"!adt.data<@List, {N}>", f"!adt.data<@Tree, {N}>"
PAIR = f"tuple<{N}, {N}>"
OPTION = f"!adt.data<@Option, {PAIR}>"
UNARY, BINARY = f"({N}) -> {N}", f"({N}, {N}) -> {N}"
STEP = f"({N}, {N}) -> {PAIR}"
MAYBE = f"({N}) -> {OPTION}"
FOLD = f"({N}, {L}) -> {N}"

# Functions that are no use of their own: each argument matters, and their order.
FUNCTIONS = f"""
  %one = graph.constant dense<1> : {N}
  %double = graph.lambda (%x: {N}) -> ({N}) {{
    %y = graph.add %x, %x : ({N}, {N}) -> {N}
    graph.yield %y : {N}
  }}
  %next = graph.lambda (%x: {N}) -> ({N}) {{
    %y = graph.add %x, %one : ({N}, {N}) -> {N}
    graph.yield %y : {N}
  }}
  %minus = graph.lambda (%a: {N}, %b: {N}) -> ({N}) {{
    %c = graph.add %a, %a : ({N}, {N}) -> {N}
    %d = graph.subtract %c, %b : ({N}, {N}) -> {N}
    graph.yield %d : {N}
  }}
  %is_large = graph.lambda (%x: {N}) -> ({B}) {{
    %y = graph.less %one, %x : ({N}, {N}) -> {B}
    graph.yield %y : {B}
  }}
  %both = graph.lambda (%a: {N}, %b: {N}) -> ({PAIR}) {{
    %c = graph.add %a, %b : ({N}, {N}) -> {N}
    %d = graph.subtract %a, %b : ({N}, {N}) -> {N}
    %t = graph.tuple %c, %d : {N}, {N}
    graph.yield %t : {PAIR}
  }}
  %down = graph.lambda (%s: {N}) -> ({OPTION}) {{
    %more = graph.less %one, %s : ({N}, {N}) -> {B}
    %r = graph.if %more : {B} -> ({OPTION}) {{
      %m = graph.subtract %s, %one : ({N}, {N}) -> {N}
      %q = graph.multiply %s, %s : ({N}, {N}) -> {N}
      %t = graph.tuple %m, %q : {N}, {N}
      %o = adt.make @Option::@Some(%t) : ({PAIR}) -> {OPTION}
      graph.yield %o : {OPTION}
    }} else {{
      %o = adt.make @Option::@None() : () -> {OPTION}
      graph.yield %o : {OPTION}
    }}
    graph.yield %r : {OPTION}
  }}
  %weigh = graph.lambda (%x: {N}, %ys: {L}) -> ({N}) {{
    %s = graph.call @sum<i64>(%ys) : ({L}) -> {N}
    %d = graph.add %s, %s : ({N}, {N}) -> {N}
    %r = graph.add %x, %d : ({N}, {N}) -> {N}
    graph.yield %r : {N}
  }}
"""


class Case(NamedTuple):
    """A call of a function of the prelude, and its twin on the same list, number and tree."""

    call: str
    result: str
    twin: Callable[[list[int], int, Any], Any]


def minus(a: int, b: int) -> int:
    return 2 * a - b


def tree_map(tree: Any) -> Any:
    value, children = tree
    return 2 * value, [tree_map(child) for child in children]


def tree_fold(tree: Any) -> int:
    value, children = tree
    return value + 2 * sum(map(tree_fold, children))


def nodes(tree: Any) -> int:
    return 1 + sum(map(nodes, tree[1]))


def accumulated(state: int, numbers: list[int]) -> tuple[int, list[int]]:
    found: list[int] = []
    for number in numbers:
        state, out = state + number, state - number
        found.append(out)
    return state, found


def from_right(state: int, numbers: list[int]) -> tuple[int, list[int]]:
    state, found = accumulated(state, numbers[::-1])
    return state, found[::-1]


def squares(n: int) -> list[int]:
    return [s * s for s in range(n, 1, -1)]


LISTS = f"({L}, {L}) -> {L}"
ACCUMULATED = f"tuple<{N}, {L}>"
CASES = {
    "id": Case(f"@id<{N}>(%n) : ({N}) -> {N}", N, lambda xs, n, t: n),
    "compose": Case(
        f"@compose<{N}, {N}, {N}>(%double, %next) : ({UNARY}, {UNARY}) -> ({UNARY})",
        UNARY,
        lambda xs, n, t: 2 * (n + 1),
    ),
    "flip": Case(
        f"@flip<{N}, {N}, {N}>(%minus) : ({BINARY}) -> ({BINARY})", BINARY, lambda xs, n, t: minus(n, 1)
    ),
    "iterate": Case(
        f"@iterate<{N}>(%double, %n) : ({UNARY}, {N}) -> ({UNARY})", UNARY, lambda xs, n, t: n << n
    ),
    "hd": Case(f"@hd<{N}>(%l) : ({L}) -> {N}", N, lambda xs, n, t: xs[0]),
    "tl": Case(f"@tl<{N}>(%l) : ({L}) -> {L}", L, lambda xs, n, t: xs[1:] if xs else xs[0]),
    "nth": Case(f"@nth<{N}>(%l, %n) : ({L}, {N}) -> {N}", N, lambda xs, n, t: xs[n]),
    "length": Case(f"@length<{N}>(%l) : ({L}) -> {N}", N, lambda xs, n, t: len(xs)),
    "update": Case(
        f"@update<{N}>(%l, %n, %one) : ({L}, {N}, {N}) -> {L}",
        L,
        lambda xs, n, t: [*xs[:n], 1, *xs[n + 1 :]] if n < len(xs) else xs[n],
    ),
    "map": Case(
        f"@map<{N}, {N}>(%double, %l) : ({UNARY}, {L}) -> {L}", L, lambda xs, n, t: [2 * x for x in xs]
    ),
    "foldl": Case(
        f"@foldl<{N}, {N}>(%minus, %n, %l) : ({BINARY}, {N}, {L}) -> {N}",
        N,
        lambda xs, n, t: reduce(minus, xs, n),
    ),
    "foldr": Case(
        f"@foldr<{N}, {N}>(%minus, %n, %l) : ({BINARY}, {N}, {L}) -> {N}",
        N,
        lambda xs, n, t: reduce(lambda acc, x: minus(x, acc), xs[::-1], n),
    ),
    "foldr1": Case(
        f"@foldr1<{N}>(%minus, %l) : ({BINARY}, {L}) -> {N}",
        N,
        lambda xs, n, t: reduce(lambda acc, x: minus(x, acc), xs[-2::-1] if len(xs) > 1 else [], xs[-1]),
    ),
    "sum": Case(f"@sum<i64>(%l) : ({L}) -> {N}", N, lambda xs, n, t: sum(xs)),
    "concat": Case(f"@concat<{N}>(%l, %k) : {LISTS}", L, lambda xs, n, t: [*xs, *squares(n)]),
    "append": Case(f"@append<{N}>(%l, %n) : ({L}, {N}) -> {L}", L, lambda xs, n, t: [*xs, n]),
    "filter": Case(
        f"@filter<{N}>(%is_large, %l) : (({N}) -> {B}, {L}) -> {L}",
        L,
        lambda xs, n, t: [x for x in xs if x > 1],
    ),
    "zip": Case(
        f"@zip<{N}, {N}>(%l, %k) : ({L}, {L}) -> !adt.data<@List, {PAIR}>",
        f"!adt.data<@List, {PAIR}>",
        lambda xs, n, t: list(zip(xs, squares(n), strict=False)),
    ),
    "rev": Case(f"@rev<{N}>(%l) : ({L}) -> {L}", L, lambda xs, n, t: xs[::-1]),
    "take": Case(f"@take<{N}>(%l, %n) : ({L}, {N}) -> {L}", L, lambda xs, n, t: xs[:n]),
    "drop": Case(f"@drop<{N}>(%l, %n) : ({L}, {N}) -> {L}", L, lambda xs, n, t: xs[n:]),
    "map_accumr": Case(
        f"@map_accumr<{N}, {N}, {N}>(%both, %n, %l) : ({STEP}, {N}, {L}) -> {ACCUMULATED}",
        ACCUMULATED,
        lambda xs, n, t: from_right(n, xs),
    ),
    "map_accuml": Case(
        f"@map_accuml<{N}, {N}, {N}>(%both, %n, %l) : ({STEP}, {N}, {L}) -> {ACCUMULATED}",
        ACCUMULATED,
        lambda xs, n, t: (accumulated(n, xs)[0], accumulated(n, xs)[1][::-1]),
    ),
    "unfoldr": Case(f"@unfoldr<{N}, {N}>(%down, %n) : ({MAYBE}, {N}) -> {L}", L, lambda xs, n, t: squares(n)),
    "unfoldl": Case(
        f"@unfoldl<{N}, {N}>(%down, %n) : ({MAYBE}, {N}) -> {L}", L, lambda xs, n, t: squares(n)[::-1]
    ),
    "tmap": Case(f"@tmap<{N}, {N}>(%double, %tree) : ({UNARY}, {T}) -> {T}", T, lambda xs, n, t: tree_map(t)),
    "tfold": Case(
        f"@tfold<{N}, {N}>(%weigh, %tree) : ({FOLD}, {T}) -> {N}", N, lambda xs, n, t: tree_fold(t)
    ),
    "size": Case(f"@size<{N}>(%tree) : ({T}) -> {N}", N, lambda xs, n, t: nodes(t)),
    "stack": Case(f"@stack<i64>(%l) : ({L}) -> tensor<?xi64>", "tensor<?xi64>", lambda xs, n, t: xs),
    "unstack": Case(
        f'@unstack<i64>(%v) : (tensor<?xi64, #graph.dims<["V"]>>) -> {L}', L, lambda xs, n, t: squares(n)
    ),
}
ARGUMENTS = {UNARY: "%n", BINARY: "%one, %n"}


def text_of(case: Case) -> str:
    """The program of a case; a function that is the result is called."""
    result, after = case.result, ""
    if result in ARGUMENTS:
        after = f"%s = graph.call %r({ARGUMENTS[result]}) : {result}"
        result = N
    return f"""
func.func @main(%l: {L}, %n: {N}, %tree: {T}, %v: tensor<?xi64, #graph.dims<["V"]>>) -> ({result}) {{
  {FUNCTIONS}
  %k = graph.call @unfoldr<{N}, {N}>(%down, %n) : ({MAYBE}, {N}) -> {L}
  %r = graph.call {case.call}
  {after}
  func.return {"%s" if after else "%r"} : {result}
}}"""


def listed(values: list[Any]) -> Data:
    found = Data("Nil", ())
    for value in reversed(values):
        found = Data("Cons", (value, found))
    return found


def tree_of(tree: Any) -> Data:
    return Data("Rose", (np.int64(tree[0]), listed([tree_of(child) for child in tree[1]])))


def plain(value: Any) -> Any:
    """A value of the interpreter as the twins write it."""
    if isinstance(value, Data) and value.constructor == "Rose":
        return plain(value.fields[0]), plain(value.fields[1])
    if isinstance(value, Data):
        found: list[Any] = []
        while value.constructor == "Cons":
            found.append(plain(value.fields[0]))
            value = value.fields[1]
        return found
    return tuple(map(plain, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


LEAVES = st.integers(-9, 9)
TREES = st.recursive(
    st.tuples(LEAVES, st.just([])), lambda of: st.tuples(LEAVES, st.lists(of, max_size=3)), max_leaves=6
)
MODULES: dict[str, stepwell.Module] = {}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=6, deadline=None)
@given(numbers=st.lists(LEAVES, max_size=6), n=st.integers(0, 6), tree=TREES)
def test_it_does_what_its_twin_does(name: str, numbers: list[int], n: int, tree: Any) -> None:
    if name not in MODULES:
        MODULES[name] = stepwell.parse(text_of(CASES[name])).run("link-prelude,monomorphize")
    inputs = listed(list(map(np.int64, numbers))), np.int64(n), tree_of(tree), np.array(squares(n), np.int64)
    try:
        expected = CASES[name].twin(numbers, n, tree)
    except IndexError:
        with pytest.raises(StepwellError, match="no case of this match fits Nil"):
            MODULES[name].interpret(*inputs)
        return
    (found,) = MODULES[name].interpret(*inputs)
    assert plain(found) == expected


def test_each_function_has_a_twin() -> None:
    """Those without one help others."""
    linked = set[str]()
    for case in CASES.values():
        module = stepwell.parse(text_of(case)).run("link-prelude")
        linked |= {op.sym_name.data for op in module.op.ops if isinstance(op, FuncOp)}
    assert set(prelude_functions()) == linked - {"main"}
    assert {*prelude_functions()} - {*CASES} == {"unfoldl_onto", "stack_first", "unstack_onto"}
