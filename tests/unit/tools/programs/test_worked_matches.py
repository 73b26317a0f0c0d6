"""Small programs with known answers: matches, types, and the machine's refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.vm.program import module_of, program_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.vm.bytecode import decode, encode
from stepwell.runtime.vm.machine import Machine
from stepwell.tools.driver.written_program import ProgramWarning
from tests.support.vm import LENGTH, LIST, PACKED, body, parsed

L, N = "!adt.data<@List, i64>", "tensor<i64>"
DATA = """
adt.data @Box<"A"> {
  adt.constructor @Box(!graph.var<"A">)
}
adt.data @Void {}
"""
BOXES = "!adt.data<@Box, !adt.data<@Box, !adt.data<@Box, i64>>>"


def match_of(type: str, *cases: str) -> str:
    """A function that matches a value of a type, with cases that do nothing."""
    text = " ".join(f"case {case} {{ graph.yield }}" for case in cases)
    return f"{DATA}func.func @main(%v: {type}) {{\nadt.match %v : {type} -> () {text}\nfunc.return\n}}"


@pytest.mark.parametrize(
    ("type", "cases", "missing"),
    [
        (L, [], "_"),
        ("i64", [], "_"),
        (L, ["_"], ""),
        (L, [f"%w: {L}"], ""),
        (BOXES, ["Box(Box(Box(_)))"], ""),
        (L, ["Cons(_, Cons(_, _))"], "Nil, Cons(_, Nil)"),
        (L, ["Cons(_, Nil)", "Cons(_, Cons(_, Nil))", "Nil", "Cons(_, Cons(_, _))"], ""),
        (L, ["Cons(_, Nil)", "Nil", "Cons(_, Cons(_, Cons(_, _)))"], "Cons(_, Cons(_, Nil))"),
        (f"tuple<{L}, {L}>", ["(Cons(_, _), _)", "(_, Nil)"], "(Nil, Cons(_, _))"),
        ("tuple<>", ["()"], ""),
        ("!adt.data<@Void>", [], ""),
    ],
)
@pytest.mark.filterwarnings("error::stepwell.tools.driver.written_program.ProgramWarning")
def test_values_that_no_case_fits(type: str, cases: list[str], missing: str) -> None:
    if not missing:
        stepwell.parse(match_of(type, *cases))  # and no case that is never reached
        return
    with pytest.raises(StepwellError) as raised:
        stepwell.parse(match_of(type, *cases))
    assert raised.value.code == "unmatched"
    assert raised.value.message == f"match does not cover {missing}"


def test_a_case_that_another_covers() -> None:
    with pytest.warns(ProgramWarning, match="case 2 can never be reached: case 1 covers it"):
        stepwell.parse(match_of(L, "_", "Nil"))


def refused(text: str, pipeline: str = "") -> StepwellError:
    """The error of a program, or of passes on it."""
    with pytest.raises(StepwellError) as raised:
        stepwell.parse(text).run(pipeline)
    assert raised.value.where, "errors have a location"
    return raised.value


def test_names_of_a_pattern_are_those_of_its_case() -> None:
    text = f"""
    func.func @main(%l: {L}, %x: i64) -> i64 {{
      %r = adt.match %l : {L} -> (i64) case Cons(%a: i64, _) {{
        graph.yield %a : i64
      }} case Nil {{
        graph.yield %a : i64
      }}
      func.return %r : i64
    }}"""
    error = refused(text)
    assert error.code == "syntax" and error.message == "values used but not defined: [%a]"
    assert "<text>:6:21" in error.where, "the use, not the pattern of the other case"


def test_backward_through_a_sum() -> None:
    text = """
    func.func @main(%x: tensor<10x20xf32>, %h: !graph.hole<"h">) -> !graph.hole<"y"> {
      %y = graph.add %x, %h : (tensor<10x20xf32>, !graph.hole<"h">) -> !graph.hole<"y">
      %z = graph.neg %h : !graph.hole<"h"> -> tensor<10x1x1xf32>
      func.return %y : !graph.hole<"y">
    }"""
    assert "%h: tensor<10x1x1xf32>) -> tensor<10x10x20xf32>" in str(stepwell.parse(text).run("infer-types"))


def test_two_instances_are_one_code() -> None:
    pair = f"tuple<{N}, tensor<f32>>"
    module = stepwell.parse(f"""
    func.func @main(%x: tensor<f32>, %p: {pair}) -> (tensor<f32>, {pair}) {{
      %a = graph.call @id<tensor<f32>>(%x) : (tensor<f32>) -> tensor<f32>
      %b = graph.call @id<{pair}>(%p) : ({pair}) -> {pair}
      func.return %a, %b : tensor<f32>, {pair}
    }}""").run("link-prelude,monomorphize,outline-dataflow,convert-graph-to-vm")
    functions = program_of(module.op, module.context.weights).functions
    instances = [function for function in functions if function.name.startswith("id.")]
    assert len(instances) == 2 and instances[0].code == instances[1].code


def test_types_that_grow_without_end() -> None:
    error = refused(
        f"""
    func.func private @f(%x: !graph.var<"A">) -> {N} attributes {{graph.type_params = #graph.params<["A"]>}} {{
      %t = graph.tuple %x, %x : !graph.var<"A">, !graph.var<"A">
      %n = graph.call @f<tuple<!graph.var<"A">, !graph.var<"A">>>(%t) : (tuple<!graph.var<"A">, !graph.var<"A">>) -> {N}
      func.return %n : {N}
    }}
    func.func @main(%x: i64) -> {N} {{
      %n = graph.call @f<i64>(%x) : (i64) -> {N}
      func.return %n : {N}
    }}""",  # noqa: E501
        "monomorphize",
    )
    assert error.code == "too-large" and any("needed by @f" in note for note in error.notes)


def test_holes_that_nothing_decides() -> None:
    text = """
    func.func @main(%g: !graph.hole<"g">, %h: !graph.hole<"h">) -> !graph.hole<"k"> {
      %k = graph.neg %h : !graph.hole<"h"> -> !graph.hole<"k">
      func.return %k : !graph.hole<"k">
    }"""
    error = refused(text, "infer-types")
    assert error.code == "incomplete-types" and error.message == "3 values have no type"
    assert [note.partition(" of ")[0] for note in error.notes[:3]] == ["%g", "%h", "%k"]
    assert all(" waits for " in note for note in error.notes[:3])
    assert refused(text, "simplify-expr").code == "incomplete-types"


@pytest.mark.parametrize("forcing", ["graph.neg", "graph.relu"])
def test_both_places_that_forced_types_are_named(forcing: str) -> None:
    text = f"""
    func.func @main(%x: tensor<3xf32>, %h: !graph.hole<"h">) -> tensor<3xf32> {{
      %a = graph.add %x, %h : (tensor<3xf32>, !graph.hole<"h">) -> tensor<3xf32>
      %n = {forcing} %h : !graph.hole<"h"> -> tensor<4xf32>
      func.return %a : tensor<3xf32>
    }}"""
    error = refused(text, "infer-types")
    assert error.code == "type-mismatch" and "graph.add: shapes (3) and (4)" in error.message
    assert f"operand tensor<4xf32> is forced by {forcing} at <text>:4:7" in error.notes


def test_a_type_inside_itself() -> None:
    text = f"""
    func.func @main(%f: !graph.hole<"f">, %x: !graph.hole<"a">) -> {N} {{
      %q = graph.call %f(%x) : (!graph.hole<"a">) -> {N}
      %l = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.hole<"a">>
      %r = graph.call %f(%l) : (!adt.data<@List, !graph.hole<"a">>) -> {N}
      func.return %r : {N}
    }}"""
    error = refused(text, "link-prelude,infer-types")
    assert error.code == "type-mismatch" and "a type inside itself" in error.message


@pytest.mark.parametrize("type", ["!adt.data<@List>", "!adt.data<@List, i64, i64>", "!adt.data<@Lost, i64>"])
def test_data_types_with_wrong_arguments(type: str) -> None:
    assert refused(f"func.func @main(%l: {type}) {{\nfunc.return\n}}").code == "bad-kind"


@pytest.mark.parametrize("depth", [60, 200, 2_000])
def test_nested_regions(depth: int) -> None:
    """Deep ones are refused, and never end in Python's limit of recursion."""
    begin = "%y = graph.if %c : tensor<i1> -> (i64) {\n" * depth
    end = "graph.yield %x : i64\n} else { graph.yield %x : i64 }\n" * depth
    text = f"func.func @main(%c: tensor<i1>, %x: i64) -> i64 {{\n{begin}{end}func.return %x : i64\n}}"
    if depth > 100:
        assert refused(text).code == "too-large"
    else:
        assert str(stepwell.parse(str(stepwell.parse(text)))).count("graph.if") == depth


def test_text_to_bytes_and_back() -> None:
    ctx = StepwellContext()
    text = str(module_of(decode(encode(parsed(LENGTH), [])), ctx.weights))
    assert str(module_of(decode(encode(parsed(text), [])), ctx.weights)) == text


def test_each_changed_byte_is_an_error_or_runs() -> None:
    data = encode(parsed(LENGTH), [])
    codes = set[str]()
    for place in range(len(data)):
        for change in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= change
            try:
                machine = Machine(
                    decode(bytes(damaged)), PACKED, max_depth=500, max_memory=1 << 20, max_instructions=5_000
                )
                for function in machine.program.public():
                    machine.call(function.name, *[np.array(3)] * function.parameters)
            except StepwellError as error:
                codes.add(error.code)
    assert {"bad-artifact", "bad-bytecode"} <= codes


def test_a_field_of_a_register_that_one_path_does_not_write() -> None:
    lines = (
        "vm.get_tag r1, r0",
        "vm.switch r1, [^bb1, ^bb2]",
        "^bb1:",
        "vm.move r2, r0",
        "vm.goto ^bb2",
        "^bb2:",
        "vm.get_field r3, r2 [0]",
        "vm.ret r3",
    )
    with pytest.raises(StepwellError, match="r2 is read before it is written on every path") as raised:
        Machine(parsed(body(*lines, head=LIST)), PACKED)
    assert raised.value.code == "bad-bytecode"


PARTIAL = f"""
func.func private @last(%l: !adt.data<@List, {N}>) -> {N} {{
  %r = adt.match partial %l : !adt.data<@List, {N}> -> ({N}) case Cons(%x: {N}, Nil) {{
    graph.yield %x : {N}
  }} case Cons(%x: {N}, %t: !adt.data<@List, {N}>) {{
    %s = graph.call @last(%t) : (!adt.data<@List, {N}>) -> {N}
    %u = graph.add %s, %x : ({N}, {N}) -> {N}
    graph.yield %u : {N}
  }}
  func.return %r : {N}
}}
func.func @main(%l: !adt.data<@List, {N}>) -> {N} {{
  %a = graph.call @last(%l) : (!adt.data<@List, {N}>) -> {N}
  %b = graph.add %a, %a : ({N}, {N}) -> {N}
  func.return %b : {N}
}}
"""


@pytest.mark.parametrize("executor", ["vm", "native"])
def test_a_partial_match_without_a_case(executor: Any, tmp_path: Path) -> None:
    (file := tmp_path / "partial.mlir").write_text(PARTIAL)
    model: Any = stepwell.compile(file, executor=executor)
    assert model([1, 2, 3]) == 12
    with pytest.raises(StepwellError) as raised:
        model([])
    assert raised.value.code == "no-case" and raised.value.message == "no case of this match fits Nil"
    assert [note.partition(",")[0] for note in raised.value.notes] == ["in @last", "in @main"]
    assert f"{file}:3:3" in raised.value.where


V, E = "tensor<?xf32>", 'tensor<?x!graph.var<"E">>'
DOUBLED = f"""
func.func private @grow(%x: {E}, %n: {N}) -> {E}
attributes {{graph.type_params = #graph.params<["E": number]>}} {{
  %zero = graph.constant dense<0> : {N}
  %done = graph.equal %n, %zero : ({N}, {N}) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> ({E}) {{
    graph.yield %x : {E}
  }} else {{
    %one = graph.constant dense<1> : {N}
    %m = graph.subtract %n, %one : ({N}, {N}) -> {N}
    %y = graph.add %x, %x : ({E}, {E}) -> {E}
    %z = graph.concat %x, %y axis 0 : ({E}, {E}) -> {E}
    %g = graph.call @grow<!graph.var<"E">>(%z, %m) : ({E}, {N}) -> {E}
    graph.yield %g : {E}
  }}
  func.return %r : {E}
}}
func.func @main(%x: tensor<?xf32, #graph.dims<["A"]>>, %y: tensor<3xf32>, %n: {N}) -> ({V}, {V}) {{
  %a = graph.call @grow<f32>(%x, %n) : (tensor<?xf32, #graph.dims<["A"]>>, {N}) -> {V}
  %b = graph.call @grow<f32>(%y, %n) : (tensor<3xf32>, {N}) -> {V}
  func.return %a, %b : {V}, {V}
}}
"""


@pytest.mark.parametrize("executor", ["vm", "native"])
def test_each_call_has_sizes_of_its_own(executor: Any, tmp_path: Path) -> None:
    (file := tmp_path / "grow.mlir").write_text(DOUBLED)
    model: Any = stepwell.compile(file, executor=executor)
    x, y = np.array([1, 5], np.float32), np.array([2, 3, 4], np.float32)
    for found, start in zip(model(x, y, 3), (x, y), strict=True):
        expected = start
        for _ in range(3):
            expected = np.concatenate([expected, expected + expected])
        assert np.array_equal(found, expected)
