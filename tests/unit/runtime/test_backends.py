"""Backends: what they take, what they compile, what happens without them; artifacts with partitions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

import stepwell
from stepwell.dialects import graph
from stepwell.lowering.backends import Arrays, Backend, Constants, fill
from stepwell.passes import run_pipeline
from stepwell.passes.context import PassContext
from stepwell.patterns import is_op, wildcard
from stepwell.runtime.backends import find_backend, register_backend
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.target import TargetDescription, host_target
from stepwell.runtime.values.loading import load
from stepwell.tools.report import summary_text
from tests.patterns import elementwise
from tests.support.plugins import forgotten_plugins
from tests.support.samples import whole

MODEL = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z)
<float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2}>
{ a = MatMul(x, w)  b = Tanh(a)  c = Exp(b)  y = Add(c, x)  z = Mul(b, x) }
"""


def model() -> bytes:
    """MatMul, Tanh, Exp, Add and Mul on a dynamic batch."""
    return parser.parse_model(MODEL).SerializeToString()


def expected(x: Array) -> list[Array]:
    """What the model computes."""
    w = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2], np.float32).reshape(4, 4)
    b = np.tanh(np.asarray(x, np.float32) @ w)
    return [np.exp(b) + x, b * x]  # pyright: ignore[reportOperatorIssue]


X = (np.arange(12).reshape(3, 4) / 40 - 0.1).astype(np.float32)


class TanhBackend(Backend):
    """Takes tanh, and a product with tanh behind it, by a table."""

    name = "tanh"
    table = (("tanh.product", is_op("graph.tanh")(is_op("graph.matmul")(wildcard(), wildcard())), None),)
    compiled: list[list[str]] = []

    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """The first constant."""
        self.compiled.append([op.name for op in func.body.block.ops])
        arrays = [constants.of(op.results[0]) for op in func.body.block.ops if op.results]
        return b"".join(array.tobytes() for array in arrays if array is not None)

    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """The product with it."""
        w = np.frombuffer(code, np.float32).reshape(4, 4)

        def call(inputs: Arrays, outputs: list[Array]) -> None:
            fill(outputs, [np.tanh(np.asarray(inputs[0], np.float32) @ w)])

        return call


class BrokenBackend(TanhBackend):
    """As above, but it fails in the way that the test says."""

    name = "broken"
    table = (("broken.product", TanhBackend.table[0][1], None),)
    how = ""

    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """Fail, or return what is no code."""
        if self.how == "raises":
            raise RuntimeError("no room in SRAM")
        code = super().compile(func, constants, target)
        return "text" if self.how == "text" else code  # pyright: ignore[reportReturnType]

    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """Give a result of another shape, or not where it belongs; or raise."""
        made = np.zeros((4, 4), np.float32)
        ways: dict[str, Callable[[Arrays, list[Array]], object]] = {
            "shape": lambda inputs, outputs: fill(outputs, [np.zeros((7, 7), np.float32)]),
            "nothing": lambda inputs, outputs: None,
            "returns": lambda inputs, outputs: [made],
            "replaces": lambda inputs, outputs: outputs.__setitem__(0, made),
            "hangs": lambda inputs, outputs: {}["device"],
        }
        return cast("Callable[[Arrays, list[Array]], None]", ways.get(self.how, super().load(code)))


@pytest.fixture(autouse=True)
def plugged_in() -> None:
    """The backends of this file are there."""
    TanhBackend.compiled.clear()
    register_backend("tanh", TanhBackend)
    register_backend("broken", BrokenBackend)


def close(results: object, wanted: Sequence[Array]) -> None:
    """Compare the outputs of a model."""
    assert isinstance(results, tuple)
    for result, reference in zip(results, wanted, strict=True):
        np.testing.assert_allclose(
            np.asarray(result, np.float32), np.asarray(reference, np.float32), rtol=1e-5, atol=1e-6
        )


@pytest.mark.sample(3)
@pytest.mark.parametrize("chosen", [["tanh"], ["reference"], ["onnxruntime"], ["tanh", "reference"]])
@pytest.mark.parametrize("opt_level", [0, 2])
def test_a_model_is_split_and_saved(chosen: Sequence[str], opt_level: int, tmp_path: Path) -> None:
    compiled = stepwell.compile(model(), backends=chosen, opt_level=opt_level)
    assert compiled.image.main.callees[0].kind == chosen[0]
    close(compiled(X), expected(X))
    compiled.save(tmp_path / "m.stepwell")
    loaded = load(tmp_path / "m.stepwell")
    close(loaded(X), expected(X))
    close(loaded(X[:1]), expected(X[:1]))


def test_a_table_takes_its_patterns_first() -> None:
    stepwell.compile(model(), backends=["tanh"])
    assert TanhBackend.compiled == [["graph.constant", "graph.composite", "func.return"]]


def test_the_rest_is_ours() -> None:
    compiled = stepwell.compile(model(), backends=["tanh"])
    assert compiled.image.summary["partitions"] == 1
    assert compiled.image.summary["kernels"] != 0


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("raises", "RuntimeError: no room in SRAM"),
        ("text", "TypeError: compile must return bytes, found str"),
        ("shape", "result 0 must be float32[4, 4], found float32[7, 7]"),
        ("nothing", "result 0 must be written to outputs[0], as `fill` does: nothing was written to it"),
        (
            "returns",
            "result 0 must be written to outputs[0], as `fill` does: the function returned its results",
        ),
        (
            "replaces",
            "result 0 must be written to outputs[0], as `fill` does: another array was put in its place",
        ),
    ],
)
def test_a_backend_that_fails_is_named_with_its_partition(
    how: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BrokenBackend, "how", how)
    with pytest.raises(StepwellError) as caught:
        stepwell.compile(model(), backends=["broken"])
    error = caught.value
    assert error.code == "backend-failed"
    assert error.message == f"the backend 'broken' failed on partition @broken_0: {what}"
    assert "MatMul" in error.where and "Tanh" in error.where
    assert "--fallback" in (error.help or "")


@pytest.mark.parametrize("how", ["raises", "text", "shape"])
def test_fallback_goes_on_without_a_backend_that_fails(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BrokenBackend, "how", how)
    with PassContext() as context:
        compiled = stepwell.compile(model(), backends=["broken", "tanh"], fallback=True)
    assert any("goes on without the backend: the backend 'broken' failed" in str(r) for r in context.remarks)
    assert not compiled.image.main.callees
    assert "1 given up: --remarks says why" in summary_text(compiled.image)
    close(compiled(X), expected(X))


def without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the package is not installed."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)


def test_a_missing_engine_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stepwell.compile(model(), backends=["onnxruntime"]).save(tmp_path / "m.stepwell")
    without_onnxruntime(monkeypatch)
    with pytest.raises(StepwellError, match="pip install 'stepwell\\[onnxruntime\\]'") as caught:
        stepwell.compile(model(), backends=["onnxruntime"])
    assert caught.value.code == "missing-package"
    with pytest.raises(StepwellError, match="pip install 'stepwell\\[onnxruntime\\]'") as caught:
        load(tmp_path / "m.stepwell")
    assert caught.value.code == "missing-package"


def test_fallback_carries_our_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiled = stepwell.compile(model(), backends=["onnxruntime"], fallback=True)
    compiled.save(tmp_path / "m.stepwell")
    close(compiled(X), expected(X))
    without_onnxruntime(monkeypatch)
    with pytest.warns(RuntimeWarning, match="onnxruntime_0 runs on our kernels"):
        loaded = load(tmp_path / "m.stepwell")
    close(loaded(X), expected(X))


def test_fallback_compiles_where_the_engine_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    without_onnxruntime(monkeypatch)
    with PassContext() as context:
        compiled = stepwell.compile(model(), backends=["onnxruntime"], fallback=True)
    assert any("goes on without a backend" in str(remark) for remark in context.remarks)
    assert not compiled.image.main.callees
    close(compiled(X), expected(X))


@pytest.mark.parametrize(
    "pipeline", ["annotate-target{backends=onnxruntim}", "merge-composite{table=onnxruntim}"]
)
def test_an_unknown_backend_has_a_nearest_name(pipeline: str) -> None:
    made = elementwise("r = relu x")
    with pytest.raises(StepwellError, match="did you mean onnxruntime") as caught:
        run_pipeline(made.module, pipeline, made.ctx)
    assert caught.value.code == "unknown-backend"


def test_a_name_is_taken_once() -> None:
    with pytest.raises(StepwellError, match="there is a backend named 'reference' already"):
        register_backend("reference", TanhBackend)
    with pytest.raises(StepwellError, match="there is a backend named 'tanh' already"):
        register_backend("tanh", BrokenBackend)


SYMBOLS = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[N, 3] x, float[M] u) => (float[N, K] y)
<int64[1] two = {2}, int64[1] one = {1}>
{ n = Shape<start = 0, end = 1>(x)  m = Shape<start = 0, end = 1>(u)  twice = Mul(m, two)
  v = Tile(u, two)  shape = Concat<axis = 0>(n, twice)  w = Exp(v)  y = Expand(w, shape) }
"""


class ExpandBackend(TanhBackend):
    """Takes `broadcast_to` alone, whose argument does not tell all sizes."""

    name = "expand"
    table = ()

    def supports(self, op: Operation) -> bool:
        """One op."""
        return isinstance(op, graph.BroadcastToOp)

    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """As the reference does."""
        return find_reference().compile(func, constants, target)

    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """As the reference does."""
        return find_reference().load(code)


def find_reference() -> Backend:
    """The backend that computes with numpy."""
    found = find_backend("reference")
    assert isinstance(found, Backend)
    return found


@pytest.mark.parametrize("fallback", [False, True])
def test_sizes_that_no_argument_tells_are_arguments(
    fallback: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = parser.parse_model(SYMBOLS).SerializeToString()
    with forgotten_plugins():
        register_backend("expand", ExpandBackend)
        compiled = stepwell.compile(source, backends=["expand"], fallback=fallback)
    assert len(compiled.image.main.callees) == 1
    x, u = np.zeros((5, 3), np.float32), np.arange(4, dtype=np.float32)
    wanted = np.broadcast_to(np.exp(np.tile(u, 2)), (5, 8))
    np.testing.assert_allclose(np.asarray(compiled(x, u), np.float32), wanted, rtol=1e-6)
    if fallback:
        compiled.save(tmp_path / "m.stepwell")
        with pytest.warns(RuntimeWarning, match="runs on our kernels"):
            loaded = load(tmp_path / "m.stepwell")
        np.testing.assert_allclose(np.asarray(loaded(x, u), np.float32), wanted, rtol=1e-6)


def test_loading_needs_no_compiler(tmp_path: Path) -> None:
    for name in ("onnxruntime", "reference"):
        stepwell.compile(model(), backends=[name]).save(tmp_path / f"{name}.stepwell")
    code = f"""
import sys, numpy
sys.modules.update({{name: None for name in ("xdsl", "onnx")}})
from stepwell.runtime.values.loading import load
for name in ("onnxruntime", "reference"):
    load({str(tmp_path)!r} + f"/{{name}}.stepwell")(numpy.zeros((2, 4), numpy.float32))
print("ran")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "ran", done.stderr


def test_a_check_may_refuse_a_match() -> None:
    seen: list[SSAValue] = []

    class Choosy(TanhBackend):
        name = "choosy"
        table = (("choosy.tanh", lambda: is_op("graph.tanh")(wildcard()), lambda v: bool(seen.append(v))),)

    register_backend("choosy", Choosy)
    made = elementwise("r = tanh x")
    run_pipeline(made.module, "merge-composite{table=choosy},annotate-target{backends=choosy}", made.ctx)
    assert made.ops() == ["tanh", "return"] and len(seen) == 1


PACKAGE = """
import numpy as np
from stepwell.lowering.backends import Backend, fill

class Acme(Backend):
    name = "acme"

    def supports(self, op):
        return op.name == "graph.tanh"

    def compile(self, func, constants, target):
        return b"tanh"

    def load(self, code):
        return lambda inputs, outputs: fill(outputs, [np.tanh(inputs[0])])
"""


@whole
def test_a_package_registers_its_backend_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "acme.py").write_text(PACKAGE)
    about = tmp_path / "acme-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[stepwell.backends]\nacme = acme:Acme\n")
    (tmp_path / "m.onnx").write_bytes(model())
    code = """
import stepwell
compiled = stepwell.compile("m.onnx", backends=["acme"])
compiled.save("m.stepwell")
print(compiled.image.main.callees[0].kind, type(stepwell.load("m.stepwell")).__name__)
"""
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "acme CompiledModel", done.stderr


DATA = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[N] x) => (float[K] y, int64[K] z)
<int64[1] first = {0}>
{ at = NonZero(x)  row = Squeeze(at, first)  picked = Gather(x, row)  wide = Exp(picked)  y = Tanh(wide)
  n = Shape(picked)  scalar = Squeeze(n, first)
  zero = Constant<value_int = 0>()  one = Constant<value_int = 1>()  z = Range(zero, scalar, one) }
"""


@pytest.mark.parametrize("chosen", [["onnxruntime"], ["reference"]])
def test_sizes_may_depend_on_data(chosen: Sequence[str], tmp_path: Path) -> None:
    compiled = stepwell.compile(parser.parse_model(DATA).SerializeToString(), backends=chosen)
    compiled.save(tmp_path / "m.stepwell")
    x = np.array([0, 0.5, 0, -1, 2], np.float32)
    for ready in (compiled, load(tmp_path / "m.stepwell")):
        y, z = ready(x)
        np.testing.assert_allclose(np.asarray(y, np.float32), np.tanh(np.exp(x[x != 0])), rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(z, np.int64), np.arange(3))


def test_padding_by_own_elements_goes_to_onnx_runtime_where_each_is_used_once() -> None:
    """Its kernels read beyond a tensor that is too small, which a size of run time may be."""
    backend = cast(Backend, find_backend("onnxruntime"))
    for type, pads, expected in (
        ("tensor<4xf32>", [3, 3], True),
        ("tensor<4xf32>", [0, 4], False),
        ('tensor<?xf32, #graph.dims<["N"]>>', [1, 1], False),
    ):
        op = graph.PadOp(elementwise("r = relu x", type=type).func.body.block.args[0], pads, "reflect")
        assert backend.supports(op) == expected, (type, pads)


def test_the_reference_refuses_what_has_no_meaning() -> None:
    func = elementwise("r = relu x").func
    relu = func.body.block.first_op
    assert relu is not None
    call = graph.HostCallOp("numpy", "host.identity", StringAttr("{}"), relu.operands, relu.result_types)
    Rewriter.replace_op(relu, call)
    backend = cast(Backend, find_backend("reference"))
    with pytest.raises(StepwellError, match="graph.host_call has no numpy meaning"):
        backend.compile(func, Constants(WeightStore()), host_target())


def test_a_composite_that_cannot_be_taken_is_opened() -> None:
    class OneOp(TanhBackend):
        name = "one"
        table = (("one.tanh", lambda: is_op("graph.tanh")(wildcard()), None),)

    register_backend("one", OneOp)
    made = elementwise("r = tanh x", type="tensor<?xf32>")
    run_pipeline(made.module, "merge-composite{table=one}", made.ctx)
    assert made.ops() == ["composite", "return"]
    run_pipeline(made.module, "annotate-target{backends=one}", made.ctx)
    assert made.ops() == ["tanh", "return"]
