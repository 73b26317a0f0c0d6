"""The analyzer against enumeration: bounds, congruences, proofs, simplification, bijections, rules."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from stepwell.passes.analysis import Analyzer
from stepwell.runtime.dims import Dim
from stepwell.runtime.integers.bijections import Bijection, Meeting
from stepwell.runtime.integers.simplification import RULES
from tests.unit.passes.analysis.random_integers import expect_sound, instances_of, value_of

AN = Analyzer({"i": (0, 127), "j": (0, 15)}, multiples={"N": 16})


@pytest.mark.parametrize(
    ("expression", "bounds"),
    [
        ("i * 16 + j", (0, 2047)),
        ("i - j", (-15, 127)),
        ("i mod 8", (0, 7)),
        ("3 - i mod 8", (-4, 3)),
        ("(i * 16 + j) floordiv 32", (0, 63)),
        ("min(i, 9)", (0, 9)),
        ("max(i, j + 3)", (3, 127)),
        ("N + j", (Dim.of("N"), Dim.of("N + 15"))),
        ("i * j", (0, 127 * 15)),
    ],
)
def test_bounds(expression: str, bounds: tuple[object, object]) -> None:
    assert AN.bounds(expression) == bounds


def test_unbounded_symbols_have_no_bounds() -> None:
    an = Analyzer({"i": (None, 3), "j": (-5, None), "k": (None, None)})
    assert an.bounds("i") == (None, 3)
    assert an.bounds("2 * j + 1") == (-9, None)
    assert an.bounds("k") == (None, None)
    assert an.bounds("k mod 4") == (0, 3)
    assert str(an.simplify("min(j, 0)")) == "min(0, j)"
    assert an.proves("i + j < 0") is None


def test_congruences() -> None:
    assert AN.modular("i * 16 + 3") == (16, 3)
    assert AN.modular("N * 3 + 5") == (48, 5)
    assert AN.modular("7") == (0, 7)
    assert AN.modular("i floordiv 2") == (1, 0)


@pytest.mark.parametrize(
    ("expression", "simpler"),
    [
        ("(i * 16 + j) floordiv 16", "i"),
        ("(i * 16 + j) mod 16", "j"),
        ("(i floordiv 4) * 4 + i mod 4", "i"),
        ("(i * 16 + j) floordiv 32", "i floordiv 2"),
        ("(i + 128) floordiv 128", "1"),
        ("(j + 1) ceildiv 16", "1"),
        ("min(i, 200) + max(j, 20)", "i + 20"),
        ("((i * 16 + j) mod 64) floordiv 16", "i mod 4"),
    ],
)
def test_simplification(expression: str, simpler: str) -> None:
    assert AN.simplify(expression) == AN.simplify(simpler)
    assert len(str(AN.simplify(expression))) <= len(str(AN.simplify(simpler)))


@pytest.mark.parametrize(
    ("comparison", "answer"),
    [
        ("i * 16 + j < 2048", True),
        ("i * 16 + j < 2047", None),
        ("i < 0", False),
        ("i >= 0", True),
        ("i == i + 1", False),
        ("N * 16 + j < N * 16 + 16", True),
        ("(i floordiv 4) * 4 <= i", True),
        ("(i floordiv 4) * 4 + 4 > i", True),
        ("i mod 16 < 16", True),
        ("min(i, N) <= N", True),
        ("M floordiv 2 <= M", True),
    ],
)
def test_proofs(comparison: str, answer: bool | None) -> None:
    assert AN.proves(comparison) is answer


def test_a_range_may_be_symbolic() -> None:
    assert Analyzer({"i": (0, "16 * N - 1")}).proves("i floordiv 16 < N") is True
    assert Analyzer({"i": (0, "16 * N")}).proves("i floordiv 16 < N") is None


def test_facts_are_used() -> None:
    an = Analyzer({"i": (0, None), "j": (0, None)})
    assert an.proves("i < N") is None
    an.assume("i + j < N")
    assert an.proves("i < N") is True
    assert an.proves("i + j + 1 > N") is False
    with pytest.raises(ValueError, match="no comparison"):
        an.assume("i + j")


def test_boxes() -> None:
    an = Analyzer({"r": (0, 2), "q": (1, 4)})
    assert an.box({"x": "2 * i + r", "y": "q"}, over=["r", "q"]) == {
        "x": (Dim.of("2 * i"), Dim.of(3)),
        "y": (Dim.of(1), Dim.of(4)),
    }


@pytest.mark.parametrize("scale", [1, 40])
def test_bijections(scale: int) -> None:
    packed = ["n floordiv 16", "k", "n mod 16"]
    assert AN.bijection(packed, {"k": 8 * scale, "n": 48 * scale}) == Bijection(
        (3 * scale, 8 * scale, 16), True
    )
    found = AN.bijection(packed, {"k": 8 * scale, "n": 50})
    assert found == Bijection((4, 8 * scale, 16), False)
    meeting = AN.bijection(["n floordiv 16", "k", "k mod 16"], {"k": 8 * scale, "n": 48 * scale})
    assert meeting == Meeting({"k": 0, "n": 0}, {"k": 0, "n": 1})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.left} -> {rule.right} if {rule.condition}")
def test_a_rule_of_the_table_is_applied(rule: object) -> None:
    for analyzer, left, right in instances_of(rule):  # pyright: ignore[reportArgumentType]
        assert analyzer.simplify(left) == analyzer.simplify(right), (left, right)


def test_random_expressions_by_enumeration() -> None:
    random = Random(7)
    for _ in range(60):
        expect_sound(random)


def test_extrema_of_what_may_be_negative_stay() -> None:
    an = Analyzer({"j": (-7, 3)})
    text = "((min(j, -4) floordiv 3) floordiv 2) * 5"
    for j in range(-7, 4):
        assert value_of(str(an.simplify(text)), {"j": j}) == value_of(text, {"j": j})


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand_expressions_by_enumeration(seed: int) -> None:
    random = Random(seed)
    for _ in range(500):
        expect_sound(random)


def test_random_maps_by_enumeration() -> None:
    for a, b in product(range(1, 5), repeat=2):
        found = AN.bijection([f"i * {a} + j * {b}"], {"i": 4, "j": 4})
        places = {i * a + j * b for i in range(4) for j in range(4)}
        assert isinstance(found, Bijection) == (len(places) == 16)
