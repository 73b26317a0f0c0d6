"""`stepwell.debug`: values of nodes, whatever became of them, and parts of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.integers.summands import json_of
from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import relative_difference
from stepwell.tools.debug.session import DebugSession
from tests.onnx_models import onnx_model
from tests.support.samples import whole

F32 = npt.NDArray[np.float32]
RANDOM = np.random.default_rng(0)
FILTERS = ", ".join(str(n / 8) for n in range(-54, 54))
CONV = onnx_model(
    f"""g (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y)
    <float[4, 3, 3, 3] w = {{{FILTERS}}}, float[4] s = {{1, 2, 3, 4}}, float[4] b = {{1, 2, 3, 4}},
     float[4] m = {{0, 1, 0, 1}}, float[4] v = {{1, 2, 3, 4}}> {{
      conv = Conv <pads = [1, 1, 1, 1]> (x, w)
      bn = BatchNormalization (conv, s, b, m, v)
      y = Relu (bn)
    }}"""
)
PRODUCTS = onnx_model(
    "g (float[N, 8] x, float[8, 8] w) => (float[N, 8] y) {"
    + "".join(f" a{i} = Add (m{i - 1}, x) m{i} = MatMul (a{i}, w)" for i in range(1, 10)).replace("m0", "x")
    + " y = Relu (m9) }"
)
LOOP = onnx_model(
    """g (float[4] x, int64 n) => (float[4] y) <bool t = {1}> {
      a = Relu (x)
      y = Loop (n, t, a) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] w) {
        d = Identity (c)
        f = Cast <to = 1> (i)
        u = Add (v, f)
        w = Mul (u, u)
      }>
    }"""
)


def close(found: Array, wanted: Array, tolerance: float = 1e-4) -> None:
    """Require arrays to be almost equal."""
    assert relative_difference(found, wanted) <= tolerance


def random(*shape: int) -> F32:
    return RANDOM.standard_normal(shape).astype(np.float32)


def infos(session: DebugSession) -> dict[str, tuple[str, str]]:
    return {value.name: (value.how, value.note) for value in session.values() if value.node}


def test_a_folded_value_is_gone_with_the_pass() -> None:
    """The convolution's weights have the scale of the batch norm: its own result is nowhere any more."""
    session = stepwell.debug(CONV)
    found = infos(session)
    assert list(found) == ["conv", "bn", "y"]
    assert found["conv"] == ("gone", "folded into BatchNormalization#1 by fold-scale-axis")
    assert found["bn"][0] in ("computed", "observed") and found["y"] == ("observed", "")
    session.run({"x": random(1, 3, 8, 8)})
    close(np.maximum(session.get("bn"), 0), session.get("y"))
    with pytest.raises(StepwellError, match="folded into .* by fold-scale-axis") as error:
        session.get("conv")
    assert error.value.code == "no-value"


def test_at_level_0_nothing_is_folded() -> None:
    session = stepwell.debug(CONV, opt_level=0)
    assert {how for how, _ in infos(session).values()} <= {"computed", "observed"}
    session.run({"x": random(1, 3, 8, 8)})
    assert session.compare().first is None
    assert not session.compare().unjudged


def test_no_value_is_overwritten_by_a_later_one() -> None:
    """Each value of a chain, whose results share two places without the debugger, is numpy's."""
    session = stepwell.debug(PRODUCTS)
    x, w = random(3, 8), random(8, 8) / 4
    session.run({"x": x, "w": w})
    wanted = x
    for number in range(1, 10):
        added = wanted + x
        wanted = added @ w
        close(session.get(f"a{number}"), added)
        close(session.get(f"m{number}"), wanted)
    assert {value.shape for value in session.values() if value.node} == {(3, 8)}


def test_many_open_sizes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of the sizes of all values is a longer text than is read."""
    for module in ("dims", "integers.summands"):
        monkeypatch.setattr(f"stepwell.runtime.{module}.MAX_EXPRESSION_CHARS", 45)
    weights = " ".join(f"m{i} = MatMul (x, w{i}) s{i} = Softmax (m{i})" for i in range(3, 9))
    inputs = ", ".join(f"float[8, {i}] w{i}" for i in range(3, 9))
    outputs = ", ".join(f"float[N, {i}] s{i}" for i in range(3, 9))
    model = onnx_model(f"g (float[N, 8] x, {inputs}) => ({outputs}) {{ {weights} }}")
    session = stepwell.debug(model, opt_level=0)
    arena = session.program.image.main.interface.arena_bytes
    assert len(str(arena)) > 45 and isinstance(json_of(arena), list)
    feeds = {"x": random(5, 8), **{f"w{i}": random(8, i) for i in range(3, 9)}}
    session.run(feeds)
    for i in range(3, 9):
        close(session.get(f"m{i}"), feeds["x"] @ feeds[f"w{i}"])


def test_a_run_uses_the_memory_of_the_one_before() -> None:
    """New memory for all values takes as long as a run of ResNet-50."""
    session, w = stepwell.debug(PRODUCTS), random(8, 8)
    arenas: list[int] = []
    copies: list[tuple[Array, Array]] = []
    for _ in range(3):
        x = random(3, 8)
        session.run({"x": x, "w": w})
        arenas.append(session._run.arena.ctypes.data if session._run else 0)  # pyright: ignore[reportPrivateUsage]
        copies.append((session.get("m1"), (x + x) @ w))
    assert len(set(arenas)) == 1 and arenas[0]
    for found, wanted in copies:
        close(found, wanted)


def test_the_kernels_are_those_of_production() -> None:
    plain = stepwell.compile(PRODUCTS)
    session = stepwell.debug(PRODUCTS)
    feeds = {"x": random(5, 8), "w": random(8, 8) / 4}
    np.testing.assert_array_equal(plain.run(feeds)["y"], session.run(feeds)["y"])
    assert {value.kernel for value in session.values()} - {""} == set(plain.kernels)


def test_threads_do_not_change_values() -> None:
    feeds = {"x": random(64, 8), "w": random(8, 8) / 4}
    one, two = (stepwell.debug(PRODUCTS, threads=threads) for threads in (1, 2))
    one.run(feeds)
    two.run(feeds)
    for value in one.values():
        assert np.array_equal(one.get(value.name), two.get(value.name))


def test_a_run_goes_on_with_another_value() -> None:
    session = stepwell.debug(PRODUCTS)
    x, w = random(2, 8), random(8, 8) / 4
    session.run({"x": x, "w": w})
    border = next(v.name for v in session.values() if v.how == "observed" and v.name > "a3")
    middle = np.full((2, 8), 2, np.float32)
    session.set(border, middle)
    wanted = middle @ w
    for _ in range(int(border.removeprefix("a")) + 1, 10):
        wanted = (wanted + x) @ w
    reader = border.replace("a", "m")
    found = session.run_from(next(v.node for v in session.values() if v.name == reader))
    close(found["y"], np.maximum(wanted, 0))
    np.testing.assert_array_equal(session.get(border), middle)


def test_set_refuses_values_that_do_not_fit() -> None:
    session = stepwell.debug(PRODUCTS)
    session.run({"x": random(2, 8), "w": random(8, 8)})
    border = next(v.name for v in session.values() if v.how == "observed")
    with pytest.raises(StepwellError, match=rf'"{border}" must have shape \[2, 8\], found \[8, 2\]') as error:
        session.set(border, random(8, 2))
    assert error.value.code == "shape-mismatch"
    with pytest.raises(StepwellError, match="must be float32, found float64") as error:
        session.set(border, np.zeros((2, 8)))
    assert error.value.code == "type-mismatch"


FUSED = onnx_model("""g (float[N, 8] x, float[8, 8] w) => (float[N, 8] y) {
  a = MatMul (x, w)
  r = Relu (a)
  t = Tanh (r)
  b = MatMul (t, w)
  y = Sigmoid (b)
}""")


@pytest.mark.sample(3)
@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize(("name", "reader"), [("a", "Relu#1"), ("r", "Tanh#2"), ("b", "Sigmoid#4")])
def test_a_run_goes_on_with_another_value_inside_of_a_kernel(name: str, reader: str, opt_level: int) -> None:
    session = stepwell.debug(FUSED, opt_level=opt_level)
    x, w = random(2, 8), random(8, 8)
    session.run({"x": x, "w": w})
    given = random(2, 8)
    session.set(name, given)
    tanh = np.tanh(np.maximum(given, 0) if name == "a" else given)
    wanted = 1 / (1 + np.exp(-(given if name == "b" else tanh @ w)))
    close(session.run_from(reader)["y"], wanted)
    np.testing.assert_array_equal(session.get(name), given)
    close(session.get("y"), wanted)
    session.run({"x": x, "w": w})
    close(session.get("a"), x @ w)
    alone = session.run_node(reader, {name: given})
    close(alone["y"] if name == "b" else alone["t"], wanted if name == "b" else tanh)
    close(session.get("a"), x @ w)


def test_two_values_inside_of_a_kernel_are_changed() -> None:
    session = stepwell.debug(FUSED)
    session.run({"x": random(2, 8), "w": random(8, 8)})
    both = {"a": random(2, 8), "r": random(2, 8)}
    for name, array in both.items():
        session.set(name, array)
    close(session.go_on()["y"], 1 / (1 + np.exp(-(np.tanh(both["r"]) @ session.get("w")))))
    kernel = next(value.kernel for value in session.values() if value.name == "a")
    close(session.run_kernel(kernel, both, level="graph")["t"], np.tanh(both["r"]))
    with pytest.raises(StepwellError, match="a value inside of kernel .* is changed"):
        session.run_kernel(kernel, both, level="loops")


def test_a_value_of_a_loop_is_not_changed_in_vain() -> None:
    session = stepwell.debug(LOOP)
    session.run({"x": np.ones(4, np.float32), "n": np.array(2, np.int64)})
    with pytest.raises(StepwellError, match='"u" is inside of a loop or branch'):
        session.set("u", np.ones(4, np.float32))


def test_kernels_run_one_by_one() -> None:
    session = stepwell.debug(PRODUCTS)
    feeds = {"x": random(2, 8), "w": random(8, 8)}
    outputs = session.run(feeds)
    units = len(session.program.units)
    ran = [session.step(feeds), *(session.step() for _ in range(units - 1))]
    assert len(ran) == units and set(ran) == set(session.program.kernel_names.values())
    np.testing.assert_array_equal(session.outputs()["y"], outputs["y"])
    node = next(v.node for v in session.values() if v.name == "m3")
    session.until(node, feeds)
    assert session.outputs() == {}
    close(session.get("m3"), np.matmul(session.get("a3").astype(np.float32), feeds["w"]))
    with pytest.raises(StepwellError, match='"m9" was not recorded'):
        session.get("m9")


def test_a_kernel_runs_alone_on_every_level() -> None:
    session = stepwell.debug(PRODUCTS)
    session.run({"x": random(2, 8), "w": random(8, 8)})
    name = next(v.kernel for v in session.values() if v.name == "m3")
    results = {
        level: session.run_kernel(name, level=level) for level in ("native", "graph", "linalg", "loops")
    }
    (output,) = results["native"]
    for result in results.values():
        close(result[output], results["native"][output])
    doubled = session.run_node(
        next(v.node for v in session.values() if v.name == "m3"), {"w": np.eye(8, dtype="f4")}
    )
    assert not np.allclose(list(doubled.values())[0], session.get("m3"))
    with pytest.raises(StepwellError, match="no kernel is named 'k99'"):
        session.run_kernel("k99")
    with pytest.raises(StepwellError, match="does not run at level 'asm'"):
        session.run_kernel(name, level="asm")


def test_values_of_a_loop_are_those_of_an_iteration() -> None:
    session = stepwell.debug(LOOP)
    x = np.array([1, -1, 2, 0], np.float32)
    session.run({"x": x, "n": np.array(3)})
    values = [np.maximum(x, 0)]
    for number in range(3):
        values.append((values[-1] + number) ** 2)
    np.testing.assert_array_equal(session.get("w"), values[3])
    np.testing.assert_array_equal(session.get("u"), values[2] + 2)
    session.iterate(0)
    np.testing.assert_array_equal(session.get("w"), values[1])
    np.testing.assert_array_equal(session.get("u"), values[0])
    np.testing.assert_array_equal(session.get("y"), values[3])
    session.run({"x": x, "n": np.array(0)})
    with pytest.raises(StepwellError, match='"w" was not recorded'):
        session.get("w")


SCAN = onnx_model(
    """g (float[4] x, int64 n) => (float[4] y, float[K, 4] s) <bool t = {1}> {
      a = Relu (x)
      y, s = Loop (n, t, a) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] w, float[4] q) {
        d = Identity (c)
        f = Cast <to = 1> (i)
        w = Add (v, f)
        q = Mul (w, v)
      }>
    }"""
)
"""A loop that stacks a value of each iteration: as many as data say."""


@pytest.mark.parametrize("opt_level", [0, 2])
def test_iterations_of_a_loop_with_scan_outputs(opt_level: int) -> None:
    session = stepwell.debug(SCAN, opt_level=opt_level)
    x = np.array([1, -2, 3, 4], np.float32)
    session.run({"x": x, "n": np.array(3)})
    stacked, carried = session.get("s"), np.maximum(x, 0)
    for number in range(3):
        session.iterate(number)
        following = carried + np.float32(number)
        close(session.get("w"), following)
        close(session.get("q"), following * carried)
        close(session.get("q"), stacked[number])
        carried = following
    assert np.array_equal(session.get("s"), stacked)


def test_little_memory_gives_the_same_values() -> None:
    feeds = {"x": random(16, 8), "w": random(8, 8) / 4}
    plain, little = stepwell.debug(PRODUCTS), stepwell.debug(PRODUCTS, max_memory=1024)
    np.testing.assert_array_equal(plain.run(feeds)["y"], little.run(feeds)["y"])
    names = [value.name for value in plain.values()]
    for name in (*names, *reversed(names)):
        np.testing.assert_array_equal(plain.get(name), little.get(name))


@whole
def test_data_dependent_sizes() -> None:
    """The number of positive elements is known in the middle of a run only."""
    model = onnx_model(
        "g (float[2, 4] x) => (float[2, M] y) { i = NonZero (x) j = Cast <to = 1> (i) s = Softmax (j)"
        " y = Softmax <axis = 0> (s) }"
    )
    session = stepwell.debug(model)
    x = np.array([[0, 1, 2, 0], [0, 3, 0, 4]], np.float32)
    session.run({"x": x})
    np.testing.assert_array_equal(session.get("j"), np.array(np.nonzero(x)).astype(np.float32))
    assert session.get("s").shape == (2, 4)


def test_blocked_layouts_are_undone() -> None:
    """Feature maps in blocks, and padded to fill the last one, come out as the model has them."""
    model = onnx_model(
        """g (float[1, 16, 8, 8] x) => (float[1, 20, 8, 8] y) {
          a = Conv <pads = [1, 1, 1, 1]> (x, w)
          b = Relu (a)
          c = Conv <pads = [1, 1, 1, 1]> (b, v)
          y = Add (c, b)
        }"""
    )
    weights = {"w": random(20, 16, 3, 3), "v": random(20, 20, 3, 3)}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    session = stepwell.debug(model, mcpu="x86-64-v3")
    session.run({"x": random(1, 16, 8, 8)})
    assert {str(layout) for layout in session.program.layouts.values()} == {"NCHW8c"}
    assert session.get("b").shape == (1, 20, 8, 8)
    comparison = session.compare()
    assert comparison.first is None and not comparison.unjudged
    session.set("b", np.zeros((1, 20, 8, 8), np.float32))
    np.testing.assert_array_equal(session.go_on()["y"], 0)


def transposed(perm: list[int]) -> onnx.ModelProto:
    """Convolutions of feature maps whose axes are equally long, transposed at the end."""
    model = onnx_model(
        f"""g (float[1, 8, 8, 8] x, float[8] p, float[8, 8, 3, 3] w) => (float[1, 8, 8, 8] y) {{
          c = Conv <pads = [1, 1, 1, 1]> (x, w)
          e = Conv <pads = [1, 1, 1, 1]> (c, w)
          t = Transpose <perm = {perm}> (e)
          y = Add (t, p)
        }}"""
    )
    weights = np.random.default_rng(1).standard_normal((8, 8, 3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    model.graph.input.pop()
    return model


@pytest.mark.parametrize("perm", [[0, 2, 3, 1], [0, 3, 1, 2]])
def test_a_transposed_feature_map_is_no_feature_map(perm: list[int]) -> None:
    """The transpose became a layout transform; extents do not tell the orders of axes apart."""
    session = stepwell.debug(transposed(perm), mcpu="x86-64-v3")  # whose 8 lanes are as long as the axes
    assert len(session.program.layouts) >= 2
    x, p = random(1, 8, 8, 8), random(8)
    session.run({"x": x, "p": p})
    assert np.array_equal(session.get("t"), session.get("e").transpose(perm))
    close(np.add(session.get("t"), p), session.get("y"))
    assert session.compare().first is None
    other = random(1, 8, 8, 8)
    session.set("t", other)
    close(session.go_on()["y"], other + p)


def test_all_values_that_are_listed_have_an_array() -> None:
    """A map in blocks whose reshape is not the model's, and values of a loop that ends by a condition."""
    model = onnx_model(
        """g (float[4] x, bool c) => (float[4] y) {
          y = Loop ("", c, x) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] w) {
            s = Add (v, v)
            u = Exp (s)
            w = Sub (u, v)
            m = ReduceMax <keepdims = 0> (w)
            l = Constant <value = float {3}> ()
            d = Less (m, l)
          }>
        }"""
    )
    session = stepwell.debug(model)
    session.run({"x": np.zeros(4, np.float32), "c": np.array(True)})
    notes = {value.name: value.note for value in session.values() if value.how != "gone"}
    assert "of the last iteration that its kernel reads is not kept" in notes["s"]
    assert not notes["y"]
    for name, note in notes.items():
        if not note:
            session.get(name)
    with pytest.raises(StepwellError, match="not recorded: a value of the last iteration"):
        session.get("s")


TEXT = """
func.func @main(%x: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = graph.sqrt %s : tensor<4xf32> -> tensor<4xf32>
  %y = graph.exp %0 : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def test_values_of_a_program_from_text_have_its_names(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(TEXT)
    session = stepwell.debug(path, opt_level=0)
    x, b = np.array([1, 4, 9, 2], np.float32), np.array([0, 0, 0, -3], np.float32)
    session.run({"input0": x, "input1": b})
    assert {name: how for name, (how, _) in infos(session).items()} == {
        "s": "computed",
        "0": "computed",
        "y": "observed",
    }
    assert np.array_equal(session.get("%s"), x + b) and np.array_equal(session.get("x"), x)
    (finding,) = session.watch("nan")
    assert (finding.value, finding.op) == ("0", "graph.sqrt")
    session.set("%s", x)
    close(session.go_on()["output0"], np.exp(np.sqrt(x)))
    session.set("b", np.zeros(4, np.float32))
    close(session.go_on()["output0"], np.exp(np.sqrt(x)))
    with pytest.raises(StepwellError, match='the model has no value "%nope"'):
        session.get("%nope")


def test_before_a_run_there_are_no_values() -> None:
    session = stepwell.debug(PRODUCTS)
    with pytest.raises(StepwellError, match="the session has run nothing yet"):
        session.get("y")
    with pytest.raises(StepwellError, match='the model has no value "q"') as error:
        session.get("q")
    assert "the nearest are" in str(error.value)
    with pytest.raises(StepwellError, match="an artifact holds no IR"):
        stepwell.debug(Path("m.stepwell"))


def test_a_part_of_a_folded_value_is_not_shown() -> None:
    """
    The scale of n goes into the filters, the offsets of b and y become one: what is left of n lacks its
    offset.
    """
    model = onnx_model(
        """g (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y)
        <float[4] s = {1, 2, 3, 4}, float[4] o = {1, 2, 3, 4}, float[4] m = {0, 1, 0, 1},
         float[4] v = {1, 2, 3, 4}, float[4, 1, 1] t = {2, 3, 4, 5}, float[4, 1, 1] p = {5, 6, 7, 8}> {
          c = Conv (x, w)
          b = BatchNormalization (c, s, o, m, v)
          n = Mul (b, t)
          y = Add (n, p)
        }"""
    )
    model.graph.initializer.append(numpy_helper.from_array(random(4, 3, 1, 1), "w"))
    session = stepwell.debug(model)
    session.run({"x": random(1, 3, 8, 8)})
    assert {name: how for name, (how, _) in infos(session).items()} == {
        "c": "gone",
        "b": "gone",
        "n": "gone",
        "y": "observed",
    }
    assert session.compare().first is None


def test_a_backends_part_is_observed_as_a_whole() -> None:
    pytest.importorskip("onnxruntime")
    session = stepwell.debug(PRODUCTS, backends="onnxruntime")
    feeds = {"x": random(2, 8), "w": random(8, 8) / 4}
    wanted = stepwell.compile(PRODUCTS).run(feeds)["y"]
    close(session.run(feeds)["y"], wanted)
    close(session.get("y"), wanted)


def test_branches_that_are_not_taken_have_no_values() -> None:
    model = onnx_model(
        """g (float[4] x, bool c) => (float[4] y) {
          a = Relu (x)
          y = If (c) <
            then_branch = t () => (float[4] p) { l = Exp (a) p = Mul (l, a) },
            else_branch = e () => (float[4] q) { r = Neg (a) q = Mul (r, a) }>
        }"""
    )
    session = stepwell.debug(model)
    x = np.array([1, -1, 2, 0], np.float32)
    for taken, other, wanted in ((True, "r", np.exp(np.maximum(x, 0))), (False, "l", -np.maximum(x, 0))):
        session.run({"x": x, "c": np.array(taken)})
        close(session.get("l" if taken else "r"), wanted)
        with pytest.raises(StepwellError, match=f'"{other}" was not recorded'):
            session.get(other)
        assert session.compare().first is None
