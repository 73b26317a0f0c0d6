# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
"""
A user's script that uses every public name, with complete types; the lines that must not type say so.

The ordinary run of pyright checks it, and that each ignored line is an error; test_public_names.py runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context as XdslContext
from xdsl.passes import ModulePass

import stepwell as sw
from stepwell.lowering.backends import Arrays, Backend, Constants
from stepwell.plugin import (
    Attribute,
    FuncOp,
    ModuleOp,
    Op,
    PatternRewriter,
    SSAValue,
    TensorType,
    base,
    operand_def,
    result_def,
)

TEXT = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %h = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = graph.relu %h : tensor<4x16xf32> -> tensor<4x16xf32>
  func.return %y : tensor<4x16xf32>
}
"""
X, W = np.ones((4, 8), np.float32), np.ones((8, 16), np.float32)


class CountPass(sw.passes.Pass):
    """A pass of the user's."""

    name = "count"

    def apply(self, ctx: XdslContext, op: ModuleOp) -> None:
        sw.passes.count("ops", sum(1 for _ in op.walk()))


class UserBackend(Backend):
    """A backend of the user's, which computes nothing."""

    name = "user"

    def compile(self, func: FuncOp, constants: Constants, target: object) -> bytes:
        return b""

    def load(self, code: bytes) -> Callable[[Arrays, list[npt.NDArray[np.generic]]], None]:
        return lambda inputs, outputs: None


class Names(sw.Instrument):
    """An instrument of the user's."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self.names.append(step.name)


def refused(call: Callable[[], object]) -> None:
    """Expect an error of a call that does not type."""
    try:
        call()
    except sw.StepwellError as error:
        assert error.code == "bad-option"
    else:
        raise AssertionError("expected an error")


def programs(folder: Path) -> sw.Module:
    """Read, parse, import, save."""
    context = sw.Context()
    m: sw.Module = sw.parse(TEXT, name="small", target="x86-64-v3", context=context)
    m.save(folder / "m.mlir").save(folder / "m.onnx")
    again = sw.read(folder / "m.mlir", target=m.target)
    level0 = sw.import_onnx(folder / "m.onnx")
    assert sw.import_onnx((folder / "m.onnx").read_bytes()).level == level0.level == "onnx"
    assert sw.import_onnx(level0.to_onnx()).inputs == level0.inputs
    wrapped = sw.Module(again.op, weights=m.weights, context=context)
    shapes: list[tuple[int | str, ...] | None] = [value.shape for value in (*wrapped.inputs, *m.outputs)]
    assert shapes == [(4, 8), (8, 16), (4, 16)]
    return m


def passes(m: sw.Module, folder: Path) -> None:
    """Run passes, walk over ops, match patterns."""
    names, out, counts, rewrites = Names(), StringIO(), sw.OpCounts(), sw.RewriteCounts()
    instruments: list[sw.Instrument] = [names, sw.Timing(stream=out), sw.Diff(stream=out), counts]
    instruments += [sw.VerifyEach(), sw.PrintIR(after=["cse"], stream=out), sw.Snapshots(folder / "ir")]
    instruments.append(trace := sw.TraceEvents())
    with sw.PassContext(config={"fuse-ops.max-ops": 8}) as context:
        m.clone().run("cse", CountPass, [CountPass(), "fuse-ops"], instruments=instruments).verify()
    m.clone().run("fuse-ops", "convert-graph-to-linalg", instruments=[rewrites])
    trace.save(folder / "trace.json")
    assert sum(rewrites.counts["convert-graph-to-linalg"].values()) > 0
    assert context.counters["count"]["ops"] == 10 and names.names == ["cse", "count", "count", "fuse-ops"]
    relu: sw.graph.ReluOp = next(m.walk(sw.graph.ReluOp))
    any_value = sw.patterns.wildcard()
    pattern = sw.patterns.is_op("graph.relu")(any_value)
    assert m.match(pattern)[0][any_value] == [relu.input] and m.explain(pattern) is None
    assert str(m.explain(sw.patterns.is_op("graph.neg")(any_value))).startswith("no match")
    rule = sw.patterns.Rule(pattern, lambda pre, post, nodes, rewriter: post)
    assert m.clone().rewrite(rule) == 0
    assert m["main"].sym_name.data == "main" and repr(m) == "<Module graph, 4 ops>" and "graph.relu" in str(m)
    arrays: list[npt.NDArray[np.generic]] = m.interpret(X, W)
    assert arrays[0].shape == (4, 16)


def levels(m: sw.Module) -> None:
    """Go down, by pipelines or by levels."""
    texts = [sw.pipelines.graph(m.target, opt_level=1), sw.pipelines.linalg(), sw.pipelines.vector()]
    low = m.clone().run(texts, sw.pipelines.loops(), sw.pipelines.llvm())
    assert low.level == m.clone().to("llvm", opt_level=1).level == "llvm"
    dialects = [sw.amx.AMX, sw.arith.Arith, sw.graph.Graph, sw.llvm.LLVM, sw.onnx.Onnx, sw.vector.Vector]
    assert all(dialect.operations for dialect in [*dialects, sw.gpu.GPU])
    assert str(sw.sched.Schedule((4, 8)).attr()) == "#sched.schedule<tile = [4, 8]>"
    refused(lambda: m.to("graph", opt_levle=1))  # pyright: ignore[reportCallIssue, reportUnknownLambdaType]


def models(m: sw.Module, folder: Path) -> None:
    """Compile, call, measure, save, load."""
    f: sw.CompiledModel = m.compile(target="x86-64-v3", threads=1, opt_level=2)
    named: dict[str, npt.NDArray[np.generic]] = f.run({"input0": X, "input1": W})
    listed: list[npt.NDArray[np.generic]] = f.run(None, {"input0": X, "input1": W})
    assert np.array_equal(cast("npt.NDArray[np.float32]", f(X, W)), named["output0"])
    assert np.array_equal(listed[0], named["output0"])
    dtype: np.dtype[np.generic] | None = f.inputs[0].dtype
    assert dtype == np.float32 and f.outputs[0].name == "output0" and "fma" in f.target.features
    seconds: float = f.benchmark(X, W, runs=2).median
    assert seconds > 0 and "inputs:" in f.summary()
    for name, kernel in f.kernels.items():
        assert name == kernel.name and "vector" in kernel.ir("vector") and kernel.schedule and kernel.asm
    refused(lambda: f.kernels["k0"].ir("vectors"))  # pyright: ignore[reportArgumentType]
    f.save(folder / "m.stepwell")
    again: sw.CompiledModel = sw.load(folder / "m.stepwell", threads=1)
    assert sw.export(f, folder / "m.a", name="m").files[0] == folder / "m.a"
    sw.Library({"a": f, "b": again}).save(folder / "both.stepwell")
    assert sw.Library.load(folder / "both.stepwell").functions == ("a", "b")
    options = sw.CompileOptions(opt_level=1, mcpu="x86-64-v3")
    exported = sw.export(again, folder / "m.so", name="m")
    assert exported.files[0] == folder / "m.so" and sw.Target("cpu{mcpu=armv7}")["mcpu"] == "armv7"
    other = sw.compile(folder / "m.onnx", options, input_shapes={"x": (4, 8)}, memory="low")
    assert again.threads == 1 and [v.shape for v in other.inputs] == [v.shape for v in again.inputs]
    assert not sw.serve.app({"m": again}).is_draining
    assert callable(sw.ffi.register)  # which needs a package
    assert isinstance(sw.devices(), list) and sw.device("gpu-interpreter").kind == "gpu-interpreter"
    with sw.rpc.local() as there:
        assert np.array_equal(there.load(again)(X, W), again(X, W))
    session = sw.debug(folder / "m.onnx", options, threads=1)
    session.run({"x": X, "w": W})
    assert session.compare().first is None and not session.watch()
    assert sw.explore(folder / "m.onnx", opt_level=1).data["schema"] == "stepwell-explore/1"
    assert "graph." in str(sw.show(m)) and callable(sw.load_ipython_extension)
    refused(lambda: sw.generate(again, [1]))
    refused(lambda: sw.quantize(folder / "m.onnx", scheme="int3"))
    assert sw.te.placeholder((4, "N")).ndim == 2
    refused(lambda: sw.tune(folder / "m.onnx", time=0))
    assert not sw.tuning.Database(folder / "none.jsonl").read().trials
    refused(lambda: sw.Trainer(folder / "m.onnx", loss="mse", train=["none"]))
    refused(lambda: sw.compile(m, winograd="slow"))  # pyright: ignore[reportArgumentType]
    refused(lambda: sw.compile(m, opt_levle=1))  # pyright: ignore[reportCallIssue, reportUnknownLambdaType]


def plugins(m: sw.Module) -> None:
    """Bring an op, its lowering, an operator of another domain, a pass and a backend."""

    @sw.op("user.twice")
    class TwiceOp(Op):
        x = operand_def(base(TensorType))
        result = result_def(base(TensorType))
        assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

        def infer(self) -> list[Attribute]:
            return [self.x.type]

    @sw.lower(TwiceOp, to="graph")
    def lower_twice(op: TwiceOp, rewriter: PatternRewriter) -> SSAValue:
        return sw.graph.AddOp(op.x, op.x).result

    @sw.onnx_op("com.user", "Twice")
    def import_twice(rewriter: PatternRewriter, x: SSAValue) -> SSAValue:
        return sw.graph.AddOp(x, x).result

    sw.register_pass(CountPass)
    sw.register_backend("user", UserBackend)
    text = TEXT.replace("graph.relu %h", "user.twice %h")
    np.testing.assert_array_equal(sw.parse(text).compile()(X, W), np.full((4, 16), 16, np.float32))
    assert lower_twice and import_twice and m.clone().run("count").level == "graph"


def script(folder: Path) -> None:
    """Everything."""
    m = programs(folder)
    passes(m, folder)
    levels(m)
    models(m, folder)
    plugins(m)
