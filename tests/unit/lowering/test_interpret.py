"""The interpreter: scalars, grids, reductions, vectors, buffers, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import stepwell
from stepwell import plugin
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret, structured
from stepwell.runtime.errors import StepwellError

Array = npt.NDArray[Any]


def run(text: str, *inputs: object, function: str = "main") -> list[Array]:
    """Parse a module and run a function of it."""
    ctx = StepwellContext()
    return interpret(parse_module(ctx, text), ctx, function, [np.asarray(x) for x in inputs])


def test_buffers_are_dense_copies() -> None:
    """An input of transposed strides has no view with merged dimensions; a buffer of its elements has."""
    text = """
    func.func @main(%x: memref<2x3xf32>, %y: memref<6xf32>) attributes {
        sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
      %flat = memref.collapse_shape %x [[0 : i64, 1 : i64]] : memref<2x3xf32> into memref<6xf32>
      "memref.copy"(%flat, %y) : (memref<6xf32>, memref<6xf32>) -> ()
      func.return
    }"""
    x = np.arange(6, dtype=np.float32).reshape(3, 2).T
    assert run(text, x)[0].tolist() == x.ravel().tolist()


def elementwise(body: str, source: str, target: str, values: Sequence[Any], dtype: npt.DTypeLike) -> Array:
    """A body from `%a` to `%r` on each element of a vector."""
    n = len(values)
    maps = "affine_map<(i) -> (i)>, affine_map<(i) -> (i)>"
    return run(
        f"""
        func.func @main(%x: tensor<{n}x{source}>) -> tensor<{n}x{target}> {{
          %e = tensor.empty() : tensor<{n}x{target}>
          %y = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
              ins(%x : tensor<{n}x{source}>) outs(%e : tensor<{n}x{target}>) {{
          ^bb0(%a: {source}, %o: {target}):
            {body}
            linalg.yield %r : {target}
          }} -> tensor<{n}x{target}>
          func.return %y : tensor<{n}x{target}>
        }}""",
        np.array(values, dtype),
    )[0]


@pytest.mark.parametrize(
    ("body", "source", "target", "values", "expected"),
    [
        ("%c = arith.constant 3 : i8\n%r = arith.divui %a, %c : i8", "i8", "i8", [-1, 7], [85, 2]),
        ("%c = arith.constant 3 : i8\n%r = arith.divsi %a, %c : i8", "i8", "i8", [-7, 7], [-2, 2]),
        ("%c = arith.constant 3 : i8\n%r = arith.floordivsi %a, %c : i8", "i8", "i8", [-7, 7], [-3, 2]),
        ("%c = arith.constant 3 : i8\n%r = arith.ceildivsi %a, %c : i8", "i8", "i8", [-7, 7], [-2, 3]),
        ("%c = arith.constant 3 : i8\n%r = arith.remsi %a, %c : i8", "i8", "i8", [-7, 7], [-1, 1]),
        ("%c = arith.constant 5 : i8\n%r = arith.maxui %a, %c : i8", "i8", "i8", [-7, 3], [-7, 5]),
        ("%c = arith.constant 1 : i8\n%r = arith.shrui %a, %c : i8", "i8", "i8", [-2, 6], [127, 3]),
        ("%c = arith.constant 100 : i8\n%r = arith.addi %a, %c : i8", "i8", "i8", [100, 1], [-56, 101]),
        ("%c = arith.constant 5 : i8\n%r = arith.cmpi ult, %a, %c : i8", "i8", "i1", [-7, 3], [False, True]),
        ("%c = arith.constant true\n%r = arith.addi %a, %c : i1", "i1", "i1", [True, False], [False, True]),
        ("%r = arith.extsi %a : i1 to i8", "i1", "i8", [True, False], [-1, 0]),
        ("%r = arith.extui %a : i1 to i8", "i1", "i8", [True, False], [1, 0]),
        ("%r = arith.extui %a : i8 to i32", "i8", "i32", [-1, 3], [255, 3]),
        ("%c = arith.constant 4 : i8\n%r = arith.ceildivui %a, %c : i8", "i8", "i8", [-1, 8, 9], [64, 2, 3]),
        ("%r = arith.uitofp %a : i8 to f32", "i8", "f32", [-1, 3], [255.0, 3.0]),
        ("%r = arith.trunci %a : i32 to i8", "i32", "i8", [300, -1], [44, -1]),
        ("%r = arith.fptosi %a : f32 to i32", "f32", "i32", [2.9, -2.9], [2, -2]),
        ("%r = arith.truncf %a : f32 to bf16", "f32", "bf16", [1.00390625, 3.0], [1.0, 3.0]),
        ("%r = arith.bitcast %a : f32 to i32", "f32", "i32", [1.0, 0.0], [0x3F800000, 0]),
        ("%r = arith.maximumf %a, %a : f32", "f32", "f32", [np.nan, 1.0], [np.nan, 1.0]),
        (
            "%c = arith.constant 1.0 : f32\n%r = arith.maxnumf %a, %c : f32",
            "f32",
            "f32",
            [np.nan, 2.0],
            [1.0, 2.0],
        ),
        ("%r = arith.cmpf uno, %a, %a : f32", "f32", "i1", [np.nan, 1.0], [True, False]),
        ("%r = math.roundeven %a : f32", "f32", "f32", [2.5, -3.5], [2.0, -4.0]),
        ("%r = math.round %a : f32", "f32", "f32", [2.5, -3.5], [3.0, -4.0]),
        ("%r = math.fma %a, %a, %a : f32", "f32", "f32", [2.0, -3.0], [6.0, 6.0]),
    ],
)
def test_scalars(body: str, source: str, target: str, values: list[object], expected: list[object]) -> None:
    kinds = {"i1": np.bool_, "i8": np.int8, "i32": np.int32, "f32": np.float32}
    found = elementwise(body, source, target, values, kinds[source])
    np.testing.assert_array_equal(found.astype(np.float64), np.array(expected, np.float64))


def test_branches_on_a_grid_read_only_what_they_take() -> None:
    body = """
        %i = linalg.index 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0.0 : f32
        %left = arith.subi %i, %c1 : index
        %in = arith.cmpi sge, %left, %{zero} : index
        %r = scf.if %in -> (f32) {
          %v = tensor.extract %x[%left] : tensor<4xf32>
          scf.yield %v : f32
        } else {
          scf.yield %zero : f32
        }"""
    body = "%c0 = arith.constant 0 : index\n" + body.replace("%{zero}", "%c0")
    np.testing.assert_array_equal(elementwise(body, "f32", "f32", [1, 2, 3, 4], np.float32), [0, 1, 2, 3])
    with pytest.raises(StepwellError, match="an index leaves a dimension of extent 4"):
        elementwise(body.replace("sge", "sle"), "f32", "f32", [1, 2, 3, 4], np.float32)


REDUCTIONS: dict[str, tuple[str, Callable[[Array], object]]] = {
    "sum": ("%r = arith.addf %o, %a : f32", lambda x: x.sum(axis=1) + 1),
    "product": ("%r = arith.mulf %a, %o : f32", lambda x: x.prod(axis=1)),
    "max": ("%r = arith.maximumf %a, %o : f32", lambda x: np.maximum(x.max(axis=1), 1)),
    "sum of squares": (
        "%s = arith.mulf %a, %a : f32\n%r = arith.addf %s, %o : f32",
        lambda x: (x * x).sum(axis=1) + 1,
    ),
    "not a reduction of numpy's": (
        "%s = arith.mulf %o, %o : f32\n%h = arith.constant 0.25 : f32\n%t = arith.mulf %s, %h : f32\n"
        "%r = arith.addf %t, %a : f32",
        lambda x: _fold(x),
    ),
}


def _fold(x: Array) -> Array:
    state = np.ones(x.shape[0], np.float32)
    for column in x.T:
        state = state * state * np.float32(0.25) + column
    return state


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    body, expected = REDUCTIONS[name]
    x = np.random.default_rng(1).standard_normal((3, 9)).astype(np.float32)
    maps = "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>"
    found = run(
        f"""
        func.func @main(%x: tensor<3x9xf32>, %i: tensor<3xf32>) -> tensor<3xf32> {{
          %y = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "reduction"]}}
              ins(%x : tensor<3x9xf32>) outs(%i : tensor<3xf32>) {{
          ^bb0(%a: f32, %o: f32):
            {body}
            linalg.yield %r : f32
          }} -> tensor<3xf32>
          func.return %y : tensor<3xf32>
        }}""",
        x,
        np.ones(3, np.float32),
    )[0]
    np.testing.assert_allclose(found, np.asarray(expected(x)), rtol=1e-5)


@pytest.mark.parametrize(
    ("lhs", "rhs", "shapes", "einsum"),
    [
        ("i, k", "k, j", [(3, 5), (5, 4), (3, 4)], "ik,kj->ij"),
        ("i, j, k", "i, k", [(3, 4, 5), (3, 5), (3, 4)], "ijk,ik->ij"),
        ("k", "j, k", [(5,), (4, 5), (3, 4)], "k,jk->j"),
        ("i, k", "j", [(3, 5), (4,), (3, 4)], "ik,j->ij"),
    ],
)
def test_contractions(lhs: str, rhs: str, shapes: list[tuple[int, ...]], einsum: str) -> None:
    random = np.random.default_rng(2)
    a, b, c = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes]
    maps = ", ".join(f"affine_map<(i, j, k) -> ({indices})>" for indices in (lhs, rhs, "k", "i, j"))
    found = run(
        f"""
        func.func @main(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) -> {types[2]} {{
          %w = tensor.empty() : tensor<5xf32>
          %y = linalg.generic {{indexing_maps = [{maps}],
              iterator_types = ["parallel", "parallel", "reduction"]}}
              ins(%a, %b, %w : {types[0]}, {types[1]}, tensor<5xf32>) outs(%c : {types[2]}) {{
          ^bb0(%x: f32, %z: f32, %u: f32, %o: f32):
            %p = arith.mulf %x, %z : f32
            %s = arith.addf %p, %o : f32
            linalg.yield %s : f32
          }} -> {types[2]}
          func.return %y : {types[2]}
        }}""",
        a,
        b,
        c,
    )[0]
    product = np.einsum(einsum, a, b)
    np.testing.assert_allclose(found, c + product, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("limit", [1, 8, 100])
def test_large_grids_run_in_pieces(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operand that the longest loop does not index is whole in each piece."""
    monkeypatch.setattr(structured, "MAX_GRID_ELEMS", limit)
    x, y = np.arange(6, dtype=np.float32), np.arange(4, dtype=np.float32)
    maps = "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>"
    found = run(
        f"""
        func.func @main(%x: tensor<6xf32>, %y: tensor<4xf32>) -> tensor<6x4xf32> {{
          %e = tensor.empty() : tensor<6x4xf32>
          %z = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
              ins(%x, %y : tensor<6xf32>, tensor<4xf32>) outs(%e : tensor<6x4xf32>) {{
          ^bb0(%a: f32, %b: f32, %o: f32):
            %r = arith.subf %a, %b : f32
            linalg.yield %r : f32
          }} -> tensor<6x4xf32>
          func.return %z : tensor<6x4xf32>
        }}""",
        x,
        y,
    )[0]
    np.testing.assert_array_equal(found, np.subtract.outer(x, y))


def test_convolution_with_strides_and_dilation() -> None:
    random = np.random.default_rng(3)
    x, w = (
        random.standard_normal((1, 2, 9)).astype(np.float32),
        random.standard_normal((3, 2, 3)).astype(np.float32),
    )
    found = run(
        """
        func.func @main(%x: tensor<1x2x9xf32>, %w: tensor<3x2x3xf32>, %o: tensor<1x3x3xf32>)
            -> tensor<1x3x3xf32> {
          %y = linalg.generic {indexing_maps = [
              affine_map<(n, f, i, c, k) -> (n, c, i * 2 + k * 2)>,
              affine_map<(n, f, i, c, k) -> (f, c, k)>,
              affine_map<(n, f, i, c, k) -> (n, f, i)>],
              iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
              ins(%x, %w : tensor<1x2x9xf32>, tensor<3x2x3xf32>) outs(%o : tensor<1x3x3xf32>) {
          ^bb0(%a: f32, %b: f32, %s: f32):
            %p = arith.mulf %a, %b : f32
            %t = arith.addf %s, %p : f32
            linalg.yield %t : f32
          } -> tensor<1x3x3xf32>
          func.return %y : tensor<1x3x3xf32>
        }""",
        x,
        w,
        np.zeros((1, 3, 3), np.float32),
    )[0]
    expected = [
        [sum(float(np.dot(x[0, :, 2 * i + 2 * k], w[f, :, k])) for k in range(3)) for i in range(3)]
        for f in range(3)
    ]
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)


def test_transfers_pad_mask_and_permute() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = run(
        """
        func.func @main(%x: tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %p = arith.constant -1.0 : f32
          %v = vector.transfer_read %x[%c1, %c0], %p {permutation_map = affine_map<(i, j) -> (j, i)>}
              : tensor<3x4xf32>, vector<4x3xf32>
          %e = tensor.empty() : tensor<4x3xf32>
          %y = vector.transfer_write %v, %e[%c0, %c0] {in_bounds = [true, true]}
              : vector<4x3xf32>, tensor<4x3xf32>
          %m = vector.create_mask %c2 : vector<4xi1>
          %r = vector.transfer_read %x[%c2, %c0], %p, %m {in_bounds = [true]} : tensor<3x4xf32>, vector<4xf32>
          %z = vector.transfer_write %r, %x[%c0, %c2] : vector<4xf32>, tensor<3x4xf32>
          func.return %y, %z : tensor<4x3xf32>, tensor<3x4xf32>
        }""",
        x,
    )
    shifted = np.full((3, 4), -1, np.float32)
    shifted[:2] = x[1:]
    np.testing.assert_array_equal(found[0], shifted.T)
    expected = x.copy()
    expected[0, 2:] = [8, 9]
    np.testing.assert_array_equal(found[1], expected)


def test_vectors() -> None:
    found = run(
        """
        func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) {
          %c0 = arith.constant 0 : index
          %c4 = arith.constant 4 : index
          %two = arith.constant 2.0 : f32
          %a = vector.load %x[%c0] : memref<8xf32>, vector<4xf32>
          %b = vector.load %x[%c4] : memref<8xf32>, vector<4xf32>
          %t = vector.broadcast %two : f32 to vector<4xf32>
          %f = vector.fma %a, %t, %b : vector<4xf32>
          %s = vector.shuffle %a, %f [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
          vector.store %s, %y[%c0] : memref<8xf32>, vector<4xf32>
          %sum = vector.reduction <add>, %f : vector<4xf32> into f32
          %w = vector.insert %sum, %t [3] : f32 into vector<4xf32>
          %m = arith.constant dense<[true, false, false, true]> : vector<4xi1>
          vector.maskedstore %y[%c4], %m, %w : memref<8xf32>, vector<4xi1>, vector<4xf32>
          func.return
        }""",
        np.arange(8, dtype=np.float32),
        np.zeros(8, np.float32),
    )
    np.testing.assert_array_equal(found[1], [0, 4, 1, 7, 2, 0, 0, 34])


def test_buffers_are_views_and_inputs_stay() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = run(
        """
        func.func @main(%x: memref<2x3xf32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %v = memref.subview %x[0, 1] [2, 2] [1, 1]
              : memref<2x3xf32> to memref<2x2xf32, strided<[3, 1], offset: 1>>
          %f = memref.load %v[%c1, %c1] : memref<2x2xf32, strided<[3, 1], offset: 1>>
          memref.store %f, %v[%c0, %c0] : memref<2x2xf32, strided<[3, 1], offset: 1>>
          %flat = memref.collapse_shape %x [[0 : i64, 1 : i64]] : memref<2x3xf32> into memref<6xf32>
          memref.store %f, %flat[%c0] : memref<6xf32>
          func.return
        }""",
        x,
    )
    np.testing.assert_array_equal(found[0], [[5, 5, 2], [3, 4, 5]])
    np.testing.assert_array_equal(x, np.arange(6).reshape(2, 3))


def test_while_and_symbols() -> None:
    text = """
        func.func @main(%x: tensor<?xf32> {graph.dims = #graph.dims<["2 * N"]>}, %N: index) -> index
            attributes {sched.program = #sched.program<symbols = ["N"]>} {
          %one = arith.constant 1 : index
          %r = scf.while (%i = %one) : (index) -> index {
            %go = arith.cmpi slt, %i, %N : index
            scf.condition(%go) %i : index
          } do {
          ^bb0(%i: index):
            %next = arith.addi %i, %i : index
            scf.yield %next : index
          }
          func.return %r : index
        }"""
    assert run(text, np.zeros(22, np.float32))[0] == 16
    with pytest.raises(StepwellError, match="needs the sizes of N"):
        run(text, np.zeros(21, np.float32))
    assert run(text, np.zeros(22, np.float32), 11)[0] == 16
    with pytest.raises(StepwellError, match="an extent of 22 where 2 \\* N is 10"):
        run(text, np.zeros(22, np.float32), 5)


def test_bfloat16_is_rounded_in_each_op() -> None:
    body = "%c = arith.constant 1.0 : bf16\n%r = arith.addf %a, %c : bf16"
    found = elementwise(body, "bf16", "bf16", [256.0, 2.0], ml_dtypes.bfloat16)
    np.testing.assert_array_equal(found.astype(np.float32), [256.0, 3.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @other() { func.return }", "no function is named 'main'"),
        ("func.func @main(%x: tensor<4xf32>) { func.return }", "takes 1 inputs, got 0"),
        (
            "func.func @main() -> index { %c = arith.constant 0 : index\n"
            "%r = arith.divsi %c, %c : index\n func.return %r : index }",
            "arith.divsi: ",
        ),
        (
            "func.func @main() -> tensor<3xf32> { %c = arith.constant 2 : index\n"
            "%e = tensor.empty() : tensor<4xf32>\n"
            "%r = tensor.extract_slice %e[%c] [3] [1] : tensor<4xf32> to tensor<3xf32>\n"
            "func.return %r : tensor<3xf32> }",
            r"slice 2\.\.4 leaves a dimension of extent 4",
        ),
    ],
)
def test_errors_name_the_place(text: str, message: str) -> None:
    with pytest.raises(StepwellError, match=message):
        run(text)


def test_an_op_that_cannot_run_is_named() -> None:
    text = """
        func.func @main(%x: memref<4xf32>) {
          %r = "memref.rank"(%x) : (memref<4xf32>) -> index
          func.return
        }"""
    with pytest.raises(StepwellError, match="the interpreter cannot run memref.rank"):
        run(text, np.zeros(4, np.float32))


@pytest.mark.parametrize(
    ("op", "conversion"),
    [("onnx.Relu", "convert-onnx-to-graph"), ("test_interpret.a", "convert-plugins-to-graph")],
)
def test_an_op_that_another_pass_converts(op: str, conversion: str) -> None:
    @plugin.op("test_interpret.a")
    class _(plugin.Op):
        x = plugin.operand_def(plugin.TensorType)
        result = plugin.result_def(plugin.TensorType)

    text = f"""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
          %r = "{op}"(%x) : (tensor<4xf32>) -> tensor<4xf32>
          func.return %r : tensor<4xf32>
        }}"""
    with pytest.raises(StepwellError, match=f"cannot run {op}(.|\n)*help: run {conversion} first"):
        run(text, np.zeros(4, np.float32))


def test_every_dialect_names_the_files_with_steps_of_its_ops() -> None:
    """The files of a dialect alone register as many of its ops as all files together, in a fresh process."""
    program = """
import sys
from stepwell.lowering.interpret import engine

def registered(dialects):
    engine._HANDLERS.clear()
    engine._load_handlers.cache_clear()
    for name in [name for name in sys.modules if name.startswith("stepwell.lowering.interpret.")]:
        if name != engine.__name__:
            del sys.modules[name]
    for dialect in dialects:
        engine._load_handlers(dialect)
    return set(engine._HANDLERS)

every = registered(engine._FILES)
for dialect in engine._FILES:
    print(*(name for name in every - registered([dialect]) if name.startswith(dialect + ".")), end="")
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not process.stdout


def test_an_element_variable_that_an_op_names() -> None:
    of_e = 'tensor<4x!graph.var<"E">>'
    text = f"""
    func.func private @g(%x: {of_e}) -> {of_e}
        attributes {{graph.type_params = #graph.params<["E": float]>}} {{
      %i = graph.cast %x to i64 saturate true round "nearest" : {of_e} -> tensor<4xi64>
      %y = graph.cast %i to !graph.var<"E"> saturate true round "nearest" : tensor<4xi64> -> {of_e}
      func.return %y : {of_e}
    }}
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %y = graph.call @g<f32>(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }}"""
    module, x = stepwell.parse(text), np.array([0.25, 1.5, -2.75, 3], np.float32)
    with pytest.raises(StepwellError, match="help: run `monomorphize` first"):
        module.interpret(x)
    (found,) = module.run("monomorphize").interpret(x)
    np.testing.assert_array_equal(found, [0, 1, -2, 3])


def test_a_kernel_on_buffers_of_a_main_on_tensors() -> None:
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @k(%x: memref<4xf32>, %y: memref<4xf32>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  func.return
}"""
    with pytest.raises(StepwellError, match="the kernel @k on buffers: @main calls kernels on its own level"):
        run(text, np.zeros(4, np.float32))
