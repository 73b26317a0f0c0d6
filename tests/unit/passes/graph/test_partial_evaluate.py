"""`partial-evaluate`: the same results, and no call or cell left where all is known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import stepwell
from tests.support.samples import whole

CELL, VALUE = "!ref.cell<tensor<i64>>", "tensor<i64>"
NAT = "!adt.data<@Nat>"
PIPELINE = "link-prelude,monomorphize,partial-evaluate,dead-code-elimination,remove-unused-functions"


def evaluated(text: str, pipeline: str = PIPELINE) -> tuple[stepwell.Module, Counter[str]]:
    """A program after partial evaluation, and how many ops of each name its `@main` has."""
    module = stepwell.parse(text)
    module.run(pipeline)
    main = next(op for op in module.op.ops if "main" in str(op.properties.get("sym_name")))
    return module, Counter(op.name for op in main.walk())


COUNTER = f"""
func.func @main(%d: tensor<i1>) -> {VALUE} {{
  %zero = graph.constant dense<0> : {VALUE}
  %one = graph.constant dense<1> : {VALUE}
  %r = ref.new %zero : {VALUE} -> {CELL}
  %u = graph.lambda () -> ({VALUE}) {{
    %v = ref.read %r : {CELL} -> {VALUE}
    %w = graph.add %v, %one : ({VALUE}, {VALUE}) -> {VALUE}
    ref.write %r, %w : {CELL}, {VALUE}
    graph.yield %w : {VALUE}
  }}
  %i = graph.if %d : tensor<i1> -> ({VALUE}) {{
    %a = graph.call %u() : () -> {VALUE}
    graph.yield %a : {VALUE}
  }} else {{
    %b = graph.call %u() : () -> {VALUE}
    graph.yield %b : {VALUE}
  }}
  %v = ref.read %r : {CELL} -> {VALUE}
  func.return %v : {VALUE}
}}
"""
FETCH = f"""
func.func @main(%d: tensor<i1>) -> {VALUE} {{
  %zero = graph.constant dense<0> : {VALUE}
  %one = graph.constant dense<1> : {VALUE}
  %r = ref.new %zero : {VALUE} -> {CELL}
  %f = graph.if %d : tensor<i1> -> (() -> {VALUE}) {{
    %a = graph.lambda () -> ({VALUE}) {{
      %v = ref.read %r : {CELL} -> {VALUE}
      graph.yield %v : {VALUE}
    }}
    graph.yield %a : () -> {VALUE}
  }} else {{
    %b = graph.lambda () -> ({VALUE}) {{
      %v = ref.read %r : {CELL} -> {VALUE}
      graph.yield %v : {VALUE}
    }}
    graph.yield %b : () -> {VALUE}
  }}
  ref.write %r, %one : {CELL}, {VALUE}
  %y = graph.call %f() : () -> {VALUE}
  func.return %y : {VALUE}
}}
"""


@pytest.mark.parametrize("text", [COUNTER, FETCH])
@pytest.mark.parametrize("pipeline", [PIPELINE, "inline", "to-a-normal-form", "lambda-lift"])
def test_effects_happen_when_a_function_is_called(text: str, pipeline: str) -> None:
    module = stepwell.parse(text)
    module.run(pipeline)
    assert [int(module.interpret(np.bool_(d))[0]) for d in (False, True)] == [1, 1]


def test_a_squared_cell_is_one_multiply() -> None:
    module, ops = evaluated(f"""
    func.func @main(%x: {VALUE}) -> {VALUE} {{
      %r = ref.new %x : {VALUE} -> {CELL}
      %a = ref.read %r : {CELL} -> {VALUE}
      %b = ref.read %r : {CELL} -> {VALUE}
      %c = graph.multiply %a, %b : ({VALUE}, {VALUE}) -> {VALUE}
      ref.write %r, %c : {CELL}, {VALUE}
      %y = ref.read %r : {CELL} -> {VALUE}
      func.return %y : {VALUE}
    }}""")
    assert ops == Counter(["func.func", "graph.multiply", "func.return"])
    assert int(module.interpret(np.int64(5))[0]) == 25


def test_map_over_a_known_list_makes_the_list() -> None:
    of = f"!adt.data<@List, {VALUE}>"
    made = "\n".join(
        f"%x{n} = graph.constant dense<{n}> : {VALUE}\n"
        f"%l{n} = adt.make @List::@Cons(%x{n}, %l{n + 1}) : ({VALUE}, {of}) -> {of}"
        for n in (3, 2, 1)
    )
    _, ops = evaluated(f"""
    func.func @main() -> {of} {{
      %l4 = adt.make @List::@Nil() : () -> {of}
      {made}
      %f = graph.function @id<{VALUE}> : ({VALUE}) -> {VALUE}
      %m = graph.call @map<{VALUE}, {VALUE}>(%f, %l1) : (({VALUE}) -> {VALUE}, {of}) -> {of}
      func.return %m : {of}
    }}""")
    assert ops == Counter({"func.func": 1, "graph.constant": 3, "adt.make": 4, "func.return": 1})


DIFFERENCE = f"""
func.func private @abs_diff(%a: {NAT}, %b: {NAT}) -> {NAT} {{
  %r = adt.match %a : {NAT} -> ({NAT})
  case Z {{
    graph.yield %b : {NAT}
  }} case S(%m: {NAT}) {{
    %s = adt.match %b : {NAT} -> ({NAT})
    case Z {{
      graph.yield %a : {NAT}
    }} case S(%n: {NAT}) {{
      %d = graph.call @abs_diff(%m, %n) : ({NAT}, {NAT}) -> {NAT}
      graph.yield %d : {NAT}
    }}
    graph.yield %s : {NAT}
  }}
  func.return %r : {NAT}
}}
"""


def naturals(most: int) -> str:
    lines = [f"%n0 = adt.make @Nat::@Z() : () -> {NAT}"]
    lines += [f"%n{i + 1} = adt.make @Nat::@S(%n{i}) : ({NAT}) -> {NAT}" for i in range(most)]
    return "\n".join(lines)


def test_the_difference_of_known_naturals_is_a_natural() -> None:
    _, ops = evaluated(f"""{DIFFERENCE}
    func.func @main() -> {NAT} {{
      {naturals(7)}
      %d = graph.call @abs_diff(%n7, %n3) : ({NAT}, {NAT}) -> {NAT}
      func.return %d : {NAT}
    }}""")
    assert ops == Counter({"func.func": 1, "adt.make": 5, "func.return": 1})


def test_a_loop_without_end_and_a_swap_stay_calls() -> None:
    module, ops = evaluated(f"""
    func.func private @loop(%x: {VALUE}) -> {VALUE} {{
      %y = graph.call @loop(%x) : ({VALUE}) -> {VALUE}
      func.return %y : {VALUE}
    }}
    func.func private @swap(%x: {VALUE}, %y: {VALUE}) -> {VALUE} {{
      %z = graph.call @swap(%y, %x) : ({VALUE}, {VALUE}) -> {VALUE}
      func.return %z : {VALUE}
    }}
    func.func @main() -> ({VALUE}, {VALUE}) {{
      %one = graph.constant dense<1> : {VALUE}
      %two = graph.constant dense<2> : {VALUE}
      %y = graph.call @loop(%one) : ({VALUE}) -> {VALUE}
      %z = graph.call @swap(%one, %two) : ({VALUE}, {VALUE}) -> {VALUE}
      func.return %y, %z : {VALUE}, {VALUE}
    }}""")
    assert ops["graph.call"] == 2
    assert "@loop" in str(module) and "@swap" in str(module)


@whole
def test_unfolding_is_as_deep_as_its_budget() -> None:
    """1200 calls inside each other: more than frames of Python."""
    text = f"""{DIFFERENCE}
    func.func @main() -> {NAT} {{
      {naturals(1200)}
      %d = graph.call @abs_diff(%n1200, %n1199) : ({NAT}, {NAT}) -> {NAT}
      func.return %d : {NAT}
    }}"""
    _, ops = evaluated(text)
    assert ops == Counter({"func.func": 1, "adt.make": 2, "func.return": 1})
    _, ops = evaluated(text, PIPELINE.replace("evaluate", "evaluate{budget=500}"))
    assert ops["graph.call"] == 1


def test_calls_that_emit_nothing_use_the_budget_too() -> None:
    """Each call makes two of a smaller number: 2^40 calls, of which none emits an op."""
    module, ops = evaluated(f"""
    func.func private @twice(%a: {NAT}) -> {NAT} {{
      %r = adt.match %a : {NAT} -> ({NAT})
      case Z {{
        graph.yield %a : {NAT}
      }} case S(%m: {NAT}) {{
        %x = graph.call @twice(%m) : ({NAT}) -> {NAT}
        %y = graph.call @twice(%m) : ({NAT}) -> {NAT}
        graph.yield %y : {NAT}
      }}
      func.return %r : {NAT}
    }}
    func.func @main() -> {NAT} {{
      {naturals(40)}
      %d = graph.call @twice(%n40) : ({NAT}) -> {NAT}
      func.return %d : {NAT}
    }}""")
    assert ops["graph.call"] == 1 and "@twice" in str(module)


def test_data_that_share_parts_have_a_size() -> None:
    """A pair of the same pair, 80 times: as a tree it has 2^80 constructors."""
    type = "(!adt.data<@Pair>, !adt.data<@Pair>) -> !adt.data<@Pair>"
    pairs = "\n".join(f"%p{n + 1} = adt.make @Pair::@Both(%p{n}, %p{n}) : {type}" for n in range(80))
    _, ops = evaluated(f"""
    adt.data @Pair {{
      adt.constructor @Both(!adt.data<@Pair>, !adt.data<@Pair>)
      adt.constructor @Leaf()
    }}
    func.func private @left(%p: !adt.data<@Pair>) -> !adt.data<@Pair> {{
      %r = adt.match %p : !adt.data<@Pair> -> (!adt.data<@Pair>)
      case Leaf {{
        graph.yield %p : !adt.data<@Pair>
      }} case Both(%a: !adt.data<@Pair>, _) {{
        %l = graph.call @left(%a) : (!adt.data<@Pair>) -> !adt.data<@Pair>
        graph.yield %l : !adt.data<@Pair>
      }}
      func.return %r : !adt.data<@Pair>
    }}
    func.func @main() -> !adt.data<@Pair> {{
      %p0 = adt.make @Pair::@Leaf() : () -> !adt.data<@Pair>
      {pairs}
      %l = graph.call @left(%p80) : (!adt.data<@Pair>) -> !adt.data<@Pair>
      func.return %l : !adt.data<@Pair>
    }}""")
    assert ops == Counter({"func.func": 1, "adt.make": 1, "func.return": 1})


@pytest.mark.parametrize("written", ["%r", "%s"])
def test_a_loop_forgets_the_cells_that_it_writes(written: str) -> None:
    other = "%s" if written == "%r" else "%r"
    module, ops = evaluated(f"""
    func.func @main(%n: {VALUE}) -> ({VALUE}, {VALUE}) {{
      %one = graph.constant dense<1> : {VALUE}
      %two = graph.constant dense<2> : {VALUE}
      %r = ref.new %one : {VALUE} -> {CELL}
      %s = ref.new %two : {VALUE} -> {CELL}
      %y = graph.for %i to %n (%a = %one : {VALUE}) -> ({VALUE}) {{
        %v = ref.read {written} : {CELL} -> {VALUE}
        %k = ref.read {other} : {CELL} -> {VALUE}
        %w = graph.add %v, %k : ({VALUE}, {VALUE}) -> {VALUE}
        ref.write {written}, %w : {CELL}, {VALUE}
        graph.yield %w : {VALUE}
      }}
      %a = ref.read %r : {CELL} -> {VALUE}
      %b = ref.read %s : {CELL} -> {VALUE}
      func.return %a, %b : {VALUE}, {VALUE}
    }}""")
    assert ops["ref.new"] == 1 and ops["ref.read"] == 2, "the other cell is local, and keeps its content"
    expected = [7, 2] if written == "%r" else [1, 5]
    assert [int(each) for each in module.interpret(np.int64(3))] == expected


def test_cells_in_cells_are_not_followed_through_a_loop() -> None:
    """In the second round the cell that is read out of the other is the one written before."""
    module, _ = evaluated(f"""
    func.func @main(%n: {VALUE}) -> {VALUE} {{
      %zero = graph.constant dense<0> : {VALUE}
      %one = graph.constant dense<1> : {VALUE}
      %two = graph.constant dense<2> : {VALUE}
      %e = ref.new %zero : {VALUE} -> {CELL}
      %other = ref.new %zero : {VALUE} -> {CELL}
      %c = ref.new %other : {CELL} -> !ref.cell<{CELL}>
      %round = graph.lambda (%x: {VALUE}) -> ({VALUE}) {{
        ref.write %e, %one : {CELL}, {VALUE}
        %v = ref.read %c : !ref.cell<{CELL}> -> {CELL}
        ref.write %v, %two : {CELL}, {VALUE}
        %y = ref.read %e : {CELL} -> {VALUE}
        ref.write %c, %e : !ref.cell<{CELL}>, {CELL}
        graph.yield %y : {VALUE}
      }}
      %same = graph.equal %n, %zero : ({VALUE}, {VALUE}) -> tensor<i1>
      %f = graph.if %same : tensor<i1> -> (({VALUE}) -> {VALUE}) {{
        %g = graph.lambda (%x: {VALUE}) -> ({VALUE}) {{
          graph.yield %x : {VALUE}
        }}
        graph.yield %g : ({VALUE}) -> {VALUE}
      }} else {{
        graph.yield %round : ({VALUE}) -> {VALUE}
      }}
      %a = graph.call %f(%one) : ({VALUE}) -> {VALUE}
      %b = graph.call %f(%one) : ({VALUE}) -> {VALUE}
      func.return %b : {VALUE}
    }}""")
    assert int(module.interpret(np.int64(5))[0]) == 2


T = "tensor<f32>"
THROUGH_A_CELL = f"""
func.func private @f(%x: {T}, %y: {T}) -> {T} {{
  %r = ref.new %x : {T} -> !ref.cell<{T}>
  %g = graph.lambda (%z: {T}) -> ({T}) {{
    %v = ref.read %r : !ref.cell<{T}> -> {T}
    %w = graph.multiply %v, %z : ({T}, {T}) -> {T}
    ref.write %r, %w : !ref.cell<{T}>, {T}
    %s = graph.sin %w : {T} -> {T}
    graph.yield %s : {T}
  }}
  %a = graph.call %g(%y) : ({T}) -> {T}
  %b = graph.call %g(%a) : ({T}) -> {T}
  %c = ref.read %r : !ref.cell<{T}> -> {T}
  %d = graph.add %b, %c : ({T}, {T}) -> {T}
  func.return %d : {T}
}}
func.func @main(%x: {T}, %y: {T}) -> ({T}, {T}, {T}) {{
  %g = graph.gradient @f wrt [0, 1] : ({T}, {T}) -> ({T}, {T}, {T})
  %v, %dx, %dy = graph.call %g(%x, %y) : ({T}, {T}) -> ({T}, {T}, {T})
  func.return %v, %dx, %dy : {T}, {T}, {T}
}}
"""


def test_a_gradient_by_closures_and_cells_becomes_straight_line_code() -> None:
    module, ops = evaluated(THROUGH_A_CELL, f"gradient{{mode=higher-order}},{PIPELINE}")
    arithmetic = {"graph.multiply", "graph.add", "graph.sin", "graph.cos", "graph.constant"}
    assert set(ops) == arithmetic | {"func.func", "func.return"}
    assert ops["graph.sin"] == ops["graph.cos"] == 2, "nothing is computed twice"
    x, y, h = 0.7, 1.3, 1e-5

    def f(x: float, y: float) -> float:
        product = x * y * np.sin(x * y)
        return float(np.sin(product) + product)

    expected = [f(x, y), (f(x + h, y) - f(x - h, y)) / (2 * h), (f(x, y + h) - f(x, y - h)) / (2 * h)]
    found = [float(each) for each in module.interpret(np.float32(x), np.float32(y))]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
