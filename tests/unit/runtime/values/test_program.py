"""Values of Python in and out of programs: lists, options, tuples, data, functions, errors with positions."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import image_bytes, image_of_bytes
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.values import Data
from stepwell.runtime.values.program import ProgramModel, load_program, program_of_image
from stepwell.runtime.vm.bytecode import encode
from stepwell.runtime.vm.machine import Machine
from tests.support.samples import whole
from tests.support.vm import LENGTH, LIST, PACKED, parsed

TYPES = f"""{LIST}
adt.data @Option<"A"> {{
  adt.constructor @Some(!graph.var<"A">)
  adt.constructor @None()
}}
adt.data @Tree<"A"> {{
  adt.constructor @Rose(!graph.var<"A">, !adt.data<@List, !adt.data<@Tree, !graph.var<"A">>>)
}}
adt.data @Nat {{
  adt.constructor @Z()
  adt.constructor @S(!adt.data<@Nat>)
}}
adt.data @Grows<"A"> {{
  adt.constructor @More(!adt.data<@Grows, tuple<!graph.var<"A">, !graph.var<"A">>>)
  adt.constructor @End()
}}
"""


def identity(*types: str, result: str = "", names: str = "") -> ProgramModel:
    """A program that returns its first argument."""
    attributes = f" attributes {{vm.names = [{names}]}}" if names else ""
    count, type = len(types), f"({', '.join(types)}) -> ({result or types[0]})"
    head = f"vm.func @main ({count}) registers {count} : {type}"
    return ProgramModel(Machine(parsed(f"{TYPES}{head}{attributes} {{\n  vm.ret r0\n}}"), {}))


LISTS = "!adt.data<@List, tensor<i64>>"
TREE = "!adt.data<@Tree, tensor<4xf32>>"


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("tensor<i64>", 3),
        (LISTS, []),
        (LISTS, [1, 2, 3]),
        ("tuple<tensor<i64>, tuple<>>", (1, ())),
        ("!adt.data<@Option, tensor<i64>>", None),
        ("!adt.data<@Option, tensor<i64>>", 5),
        (f"!adt.data<@Option, {LISTS}>", [[1], None][0]),
        ("!adt.data<@List, !adt.data<@Option, tensor<i64>>>", [1, None]),
        ("!adt.data<@Nat>", Data("S", [Data("S", [Data("Z")])])),
        ("!adt.data<@Option, !adt.data<@Option, tensor<i64>>>", Data("Some", [None])),
    ],
)  # fmt: skip
def test_values_come_back(type: str, value: Any) -> None:
    found = identity(type)(value)
    assert Data("x", [found]) == Data("x", [_arrays(value)])


def _arrays(value: Any) -> Any:
    if isinstance(value, int):
        return np.asarray(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_arrays, value))
    return value


def test_trees_are_matched_by_the_classes_of_their_constructors() -> None:
    model = identity(TREE, names='"tree"')
    rose = model.data.Tree.Rose
    x = np.ones(4, np.float32)
    tree = rose(x, [rose(2 * x, []), rose(3 * x, [])])
    match model(tree):
        case rose(value, [rose(first, []), second]):
            np.testing.assert_array_equal(value + first, 3 * x)
            assert second == rose(3 * x, []) and second != rose(x, [])
        case other:
            pytest.fail(f"{other!r} does not match")
    assert repr(model(tree=rose(x, []))) == "Rose([1., 1., 1., 1.], [])"
    with pytest.raises(StepwellError, match="Rose has 2 fields, found 1"):
        rose(x)
    with pytest.raises(AttributeError, match="no Tre: did you mean Tree"):
        _ = model.data.Tre
    with pytest.raises(AttributeError, match="no Roze: did you mean Rose"):
        _ = model.data.Tree.Roze


def test_errors_name_the_position_inside_of_a_value() -> None:
    model = identity(TREE, names='"tree"')
    rose = model.data.Tree.Rose
    good, short = np.ones(4, np.float32), np.ones(3, np.float32)
    leaves = [rose(good, []) for _ in range(3)]
    cases: list[tuple[object, str, str]] = [
        (rose(good, [*leaves, rose(short, [])]), "shape-mismatch",
         ".Rose.1[3].Rose.0: expected f32[4], found f32[3]"),
        (rose(good.astype("f8"), []), "type-mismatch", ".Rose.0: expected f32[4], found f64[4]"),
        (rose(good, 7), "type-mismatch", ".Rose.1: expected List(Tree(f32[4])), found int"),
        (rose(good, [model.data.Nat.Z()]), "type-mismatch", ".Rose.1[0]: expected Tree(f32[4]), found Z"),
        (Data("Rose", [good]), "type-mismatch", "Rose has 2 fields, found 1"),
        ([good], "type-mismatch", "expected Tree(f32[4]), found list"),
    ]  # fmt: skip
    for value, code, message in cases:
        with pytest.raises(StepwellError) as caught:
            model(value)
        assert caught.value.code == code
        colon = ": " if message.startswith((".", "expected", "Rose")) else ""
        assert caught.value.message == f"input 'tree'{colon}{message}"


def test_sizes_by_symbol_hold_over_all_inputs() -> None:
    row = 'tensor<?xf32, #graph.dims<["N"]>>'
    model = identity(f"!adt.data<@List, {row}>", 'tensor<?xf32, #graph.dims<["2 * N"]>>')
    x = np.zeros(3, np.float32)
    found: Any = model([x, x], np.zeros(6, np.float32))
    assert len(found) == 2
    for rows, other in (([x, x[:2]], np.zeros(6, np.float32)), ([x], x)):
        with pytest.raises(StepwellError, match="with N = 3|2 \\* N") as caught:
            model(rows, other)
        assert caught.value.code == "shape-mismatch"


def test_inputs_by_name_and_number() -> None:
    model = identity("tensor<i64>", "tensor<i64>", names='"a", ""')
    assert model(input1=2, a=1) == 1 and model(1, input1=2) == 1
    missing, many, twice = ((1,), {}), ((1, 2, 3), {}), ((1,), {"a": 1})
    for (given, named), code in ((missing, "missing-input"), (many, "extra-input"), (twice, "extra-input")):
        with pytest.raises(StepwellError) as caught:
            model(*given, **named)
        assert caught.value.code == code
    assert repr(model) == "<ProgramModel main(a: i64[], input1: i64[]) -> i64[]>"


def test_functions_that_a_program_returns_are_callable() -> None:
    adder = """
    func.func private @add(tensor<i64>, tensor<i64>) -> tensor<i64> attributes {vm.segment}
    vm.func private @sum (2) registers 3 {
      vm.invoke_packed @add(r0, r1) -> (r2)
      vm.ret r2
    }
    vm.func @main (1) registers 2 : (tensor<i64>) -> ((tensor<i64>) -> tensor<i64>) {
      vm.alloc_closure r1, @sum(r0)
      vm.ret r1
    }
    vm.func @twice (2) registers 3
      : ((tensor<i64>) -> tensor<i64>, tensor<i64>) -> tensor<i64> {
      vm.invoke_closure r2, r0(r1)
      vm.tail_invoke_closure r0(r2)
    }
    """
    model = ProgramModel(Machine(parsed(adder), PACKED))
    add_three: Any = model(3)
    assert add_three(4) == 7 and repr(add_three) == "<Function (i64[]) -> i64[]>"
    assert model.run("twice", add_three, 1) == 7
    with pytest.raises(StepwellError, match="expected 1 arguments, found 2"):
        add_three(1, 2)
    with pytest.raises(StepwellError, match="type-mismatch"):
        ProgramModel(Machine(parsed(adder), PACKED)).run("twice", add_three, 1)
    with pytest.raises(StepwellError, match="type-mismatch"):
        model.run("twice", lambda x: x, 1)


def test_results_of_another_type_than_declared() -> None:
    for type in (LISTS, "tensor<f32>", "tuple<tensor<i64>, tensor<i64>>", "(tensor<i64>) -> tensor<i64>"):
        with pytest.raises(StepwellError, match="the program returned") as caught:
            identity("tensor<i64>", result=type)(3)
        assert caught.value.code == "bad-bytecode"
    with pytest.raises(StepwellError, match="cells do not leave or enter"):
        identity("!ref.cell<tensor<i64>>")(3)


def test_types_that_grow_with_the_depth_of_a_value() -> None:
    value = Data("End")
    for _ in range(40):
        value = Data("More", [value])
    with pytest.raises(StepwellError, match="grow without end"):
        identity("!adt.data<@Grows, tensor<i64>>")(value)


@whole
def test_long_and_deep_values() -> None:
    """Of 30,000 here; a list is freed, compared, printed and copied without recursion."""
    count = 30_000
    model = identity("!adt.data<@Nat>")
    deep = Data("Z")
    for _ in range(count):
        deep = Data("S", [deep])
    found = model(deep)
    assert found == deep and repr(found).startswith("S(S(") and len(repr(found)) < 80
    made = ProgramModel(Machine(parsed(LENGTH), PACKED))
    values: Any = made(count)
    assert made.run("length", values) == count
    long = Data("Cons", [values])
    assert long == Data("Cons", [list(values)]) and repr(long).count(",") < 25


def test_copies_and_pickles_are_flat() -> None:
    deep = Data("Z", [(1, [np.ones(2)])])
    for _ in range(5_000):
        deep = Data("S", [deep])
    assert copy.deepcopy(deep) == deep and pickle.loads(pickle.dumps(deep)) == deep
    assert copy.copy(Data("P", [[], ()])) == Data("P", [[], ()]) != Data("P", [(), []])


def test_an_artifact_has_the_bytecode_of_a_program() -> None:
    weights: list[Array] = []
    data = encode(parsed(LENGTH), weights)
    image = image_of_bytes(image_bytes(ModelImage({}, tuple(weights), program=data)), "a.stepwell")
    assert image.program == data
    model = program_of_image(image, PACKED)
    assert model.run("length", model(5)) == 5
    with pytest.raises(StepwellError, match="no compiled @main"):
        _ = image.main
    with pytest.raises(StepwellError, match="has no bytecode"):
        program_of_image(image._replace(program=b""), PACKED)
    with pytest.raises(StepwellError, match="bad-artifact"):
        image_of_bytes(image_bytes(ModelImage({}, ())), "a.stepwell")
    with pytest.raises(StepwellError, match="bad-bytecode"):
        load_program(data[:-1], [], PACKED)
