"""Text to IR: locations, memoised types, errors that point, and no text that breaks the tool."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import dims_of
from stepwell.dialects.verify import violations
from stepwell.passes.instruments import module_text
from stepwell.runtime.errors import StepwellError

FILES = sorted((Path(__file__).resolve().parents[2] / "filecheck").rglob("*.mlir"))


def parse(text: str) -> ModuleOp:
    return parse_module(StepwellContext(), text, "f.mlir")


def place(op: Operation) -> tuple[str, int, int]:
    location = op.location
    assert isinstance(location, FileLineColLoc)
    return location.filename.data, location.line.data, location.column.data


def test_ops_know_where_they_stand() -> None:
    module = parse("func.func @f() {\n  %x = arith.constant 1 : i32\n\n  func.return\n}")
    assert [place(op) for op in module.walk()] == [
        ("f.mlir", 1, 1),
        ("f.mlir", 1, 1),
        ("f.mlir", 2, 3),
        ("f.mlir", 4, 3),
    ]


def test_a_written_location_wins() -> None:
    (op,) = parse('"test.op"() : () -> () loc("conv1")').body.ops
    assert str(op.location) == 'loc("conv1")'


def test_equal_spellings_are_one_type() -> None:
    module = parse("func.func private @f(tensor<?x4xf32>, tensor<?x4xf32>, memref<4xf32, strided<[1]>>)")
    (func,) = module.body.ops
    assert isinstance(func, FuncOp)
    first, second, _ = func.function_type.inputs
    assert first is second


@pytest.mark.parametrize("types", ["tensor<4xf32>, tensor<4xi32>", "(tensor<4xf32>, tensor<4xi32>)"])
def test_types_of_several_results_are_read_with_and_without_parentheses(types: str) -> None:
    maps = ", ".join(["affine_map<(i) -> (i)>"] * 2)
    module = parse(f"""func.func @f(%d: tensor<4xf32>, %e: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {{
  %a, %b = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      outs(%d, %e : tensor<4xf32>, tensor<4xi32>) {{
  ^bb0(%s: f32, %t: i32):
    linalg.yield %s, %t : f32, i32
  }} -> {types}
  func.return %a, %b : tensor<4xf32>, tensor<4xi32>
}}""")
    assert module_text(parse(module_text(module))) == module_text(module)


def test_brackets_in_the_names_of_dimensions_do_not_mislead() -> None:
    text = (
        'func.func @f(%x: tensor<?xf32, #graph.dims<["a>b"]>>, %y: tensor<?xf32, #graph.dims<["a<b"]>>)'
        " { func.return }"
    )
    with pytest.raises(StepwellError, match="a>b"):  # not a dimension, but read as a whole
        parse(text)


def test_types_with_named_dimensions() -> None:
    text = 'tensor<?x?xf32, #graph.dims<["N", "2 * N"]>>'
    module = parse(f'%0, %1 = "test.op"() : () -> ({text}, {text})')
    (op,) = module.body.ops
    assert [str(dim) for dim in dims_of(op.results[1].type)] == ["N", "2 * N"]


def test_syntax_error_shows_the_line_and_a_caret() -> None:
    with pytest.raises(StepwellError) as error:
        parse("func.func @f(%x: i32) {\n  %y = arith.addi %x %x : i32\n}")
    assert error.value.render().splitlines() == [
        "error[syntax]: Expected ','",
        "  --> f.mlir:2:22",
        "   |   %y = arith.addi %x %x : i32",
        "   |                      ^^",
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "func.func @f(%z: i32) {\n  func.return\n}\nfunc.func @g() -> i32 {\n  func.return %z : i32\n}",
            "5:15",
        ),
        ("func.func @f() {\n^bb1:\n  func.return\n}\nfunc.func @g() {\n  cf.br ^bb1\n}", "6:9"),
    ],
)
def test_names_that_another_function_defines_are_shown_where_they_are_used(text: str, place: str) -> None:
    with pytest.raises(StepwellError) as raised:
        parse(text)
    assert raised.value.code == "syntax" and f"f.mlir:{place}" in raised.value.where


def test_a_refused_attribute_is_a_syntax_error() -> None:
    with pytest.raises(StepwellError, match=r"error\[syntax\]"):
        parse('"test.op"() {d = #graph.dims<[1.5]>} : () -> ()')


@pytest.mark.parametrize(
    "text",
    [
        '"test.op"() {v = dense<0> : tensor<1000000000000xi8>} : () -> ()',
        '"test.op"() {v = ' + "[" * 3000 + "]" * 3000 + "} : () -> ()",
        '"test.op"() ({' * 3000,
        '"test.op"() {a = "' + "a" * 60,
    ],
    ids=["huge splat", "deep attribute", "deep regions", "string without end"],
)
def test_small_texts_cannot_ask_for_much(text: str) -> None:
    with pytest.raises(StepwellError):
        parse(text)


def mutate(text: str, rng: random.Random) -> str:
    """A text with a few tokens dropped, doubled, swapped, or exchanged for another's."""
    tokens = re.findall(r"\w+|\s+|[^\w\s]", text)
    for _ in range(rng.randint(1, 4)):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(4):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[other])
            case 2:
                tokens[at] = rng.choice(["0", "-1", "?", '"', "%x", "f32", "99999999999999999999", "\0"])
            case _:
                tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def check_mutations(file: Path, seeds: range) -> None:
    text = file.read_text(encoding="utf-8")
    for seed in seeds:
        mutated = mutate(text, random.Random(f"{file.name} {seed}"))
        try:
            module = parse(mutated)
        except StepwellError:
            continue
        if not list(violations(module)):
            printed = module_text(module)
            assert module_text(parse(printed)) == printed, (file.name, seed)


@pytest.mark.sample(10)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_damaged_files_end_in_an_error_of_ours(file: Path) -> None:
    check_mutations(file, range(3))


@pytest.mark.fuzz
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_damaged_files_end_in_an_error_of_ours_at_length(file: Path) -> None:
    check_mutations(file, range(3, 500))
