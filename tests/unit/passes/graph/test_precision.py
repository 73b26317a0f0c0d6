"""`precision`: operands of products with the digits of 16-bit floats, and sums in f32."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import run_pipeline
from stepwell.passes.analysis.work import macs_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import target_from
from stepwell.runtime.meaning import evaluate
from stepwell.tools import cli
from tests.support.samples import whole

Array = npt.NDArray[Any]
RNG = np.random.default_rng(5)
WEIGHT = RNG.standard_normal((75, 24)).astype(np.float32)
FILTER = RNG.standard_normal((8, 3, 3, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Without the warning of CPUs that have no such instructions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def model(
    op: str, dims: list[int | str], out: list[int | str], *weights: Array, **attributes: Any
) -> onnx.ModelProto:
    """A model of one node `n`, with constants after its input."""
    names = [f"w{i}" for i in range(len(weights))]
    node = helper.make_node(op, ["x", *names], ["y"], "n", **attributes)
    value = helper.make_tensor_value_info
    constants = [numpy_helper.from_array(w, name) for w, name in zip(weights, names, strict=True)]
    graph = helper.make_graph([node], "g", [value("x", 1, dims)], [value("y", 1, out)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def rounded(x: Array, dtype: str) -> Array:
    """The values that a 16-bit float has, in f64."""
    return x.astype(ml_dtypes.bfloat16 if dtype == "bf16" else np.float16).astype(np.float64)


PRODUCT = model("MatMul", ["N", 75], ["N", 24], WEIGHT)


@pytest.mark.sample(1)
@pytest.mark.parametrize("rows", [1, 5, 33])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_products_round_their_operands(rows: int, dtype: str) -> None:
    x = RNG.standard_normal((rows, 75)).astype(np.float32)
    found = compiled(x, proto=PRODUCT, precision=dtype)
    wanted = rounded(x, dtype) @ rounded(WEIGHT, dtype)
    bound = 75 * 2.0**-24 * (np.abs(rounded(x, dtype)) @ np.abs(rounded(WEIGHT, dtype)))
    assert found.dtype == np.float32 and (np.abs(found - wanted) <= bound).all()
    assert np.abs(found - x.astype(np.float64) @ WEIGHT).max() > 8 * bound.max()  # they are rounded


def compiled(*inputs: Array, proto: onnx.ModelProto, **options: Any) -> Array:
    """The output of a model that is compiled with options."""
    return np.asarray(stepwell.compile(proto, **options)(*inputs))  # pyright: ignore


def test_convolutions_round_their_operands() -> None:
    x = RNG.standard_normal((1, 3, 9, 10)).astype(np.float32)
    proto = model("Conv", [1, 3, 9, 10], [1, 8, 9, 10], FILTER, pads=[1, 1, 1, 1])
    found = compiled(x, proto=proto, precision="bf16", winograd="off")
    padded = np.pad(rounded(x, "bf16"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    wanted = np.einsum("nchwij,ocij->nohw", views, rounded(FILTER, "bf16"))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "stride", "groups"),
    [(32, 48, 3, 2, 1), (48, 32, 1, 1, 1), (32, 32, 3, 1, 1), (64, 64, 3, 1, 2), (29, 32, 3, 2, 1)],
)
def test_convolutions_of_many_channels(
    channels: int, filters: int, kernel: int, stride: int, groups: int
) -> None:
    """Blocks of channels are read in pairs; the blocks of 29 channels are not full."""
    pad = kernel // 2
    x = RNG.standard_normal((2, channels, 9, 10)).astype(np.float32)
    w = RNG.standard_normal((filters, channels // groups, kernel, kernel)).astype(np.float32)
    size = [(n + 2 * pad - kernel) // stride + 1 for n in (9, 10)]
    proto = model(
        "Conv", list(x.shape), [2, filters, *size], w, pads=[pad] * 4, strides=[stride] * 2, group=groups
    )
    found = compiled(x, proto=proto, precision="bf16", winograd="off")
    args: dict[str, Any] = {"strides": [stride] * 2, "dilations": [1, 1], "pads": [pad] * 4, "groups": groups}
    both = [rounded(x, "bf16"), rounded(w, "bf16")]
    wanted = evaluate("graph.conv", both, args)[0]
    size_of_sums = evaluate("graph.conv", [np.abs(part) for part in both], args)[0]
    assert np.all(np.abs(found - wanted) <= np.multiply(size_of_sums, 2.0**-20))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("width", "taps", "stride", "pads"),
    [
        (10, 7, 2, (3, 3)),
        (10, 3, 2, (1, 0)),
        (12, 4, 2, (0, 1)),
        (14, 3, 4, (0, 0)),
        (10, 2, 2, (1, 1)),
        (11, 3, 2, (1, 1)),
        (10, 3, 2, (2, 5)),
    ],
)
def test_first_layers(width: int, taps: int, stride: int, pads: tuple[int, int]) -> None:
    """Neighbours in a row are read in pairs: filters begin at even positions of the padded row, or before."""
    x = RNG.standard_normal((2, 3, 9, width)).astype(np.float32)
    w = RNG.standard_normal((32, 3, 3, taps)).astype(np.float32)
    columns = (width + sum(pads) - taps) // stride + 1
    args: dict[str, Any] = {"strides": [1, stride], "dilations": [1, 1], "pads": [1, pads[0], 0, pads[1]]}
    proto = model("Conv", list(x.shape), [2, 32, 8, columns], w, strides=[1, stride], pads=args["pads"])
    found = compiled(x, proto=proto, precision="bf16")
    both = [rounded(x, "bf16"), rounded(w, "bf16")]
    wanted = evaluate("graph.conv", both, args)[0]
    sizes = evaluate("graph.conv", [np.abs(part) for part in both], args)[0]
    assert np.all(np.abs(found - wanted) <= np.multiply(sizes, 2.0**-20))


@whole
def test_attention_rounds_its_operands() -> None:
    q = RNG.standard_normal((1, 2, 6, 8)).astype(np.float32)
    names = ["q", "k", "v"]
    value = helper.make_tensor_value_info
    node = helper.make_node("Attention", names, ["y"], "n")
    inputs = [value(name, 1, [1, 2, 6, 8]) for name in names]
    graph = helper.make_graph([node], "g", inputs, [value("y", 1, [1, 2, 6, 8])])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    k, v = q[:, ::-1] + 0, q[:, :, ::-1] + 0
    found = compiled(q, k, v, proto=proto, precision="bf16")
    exact = compiled(q, k, v, proto=proto)
    assert 0 < np.abs(found - exact).max() < 2.0**-6 * np.ptp(exact)


def test_kept_nodes_and_f32_are_as_without_the_option(tmp_path: Path) -> None:
    plain = stepwell.compile(PRODUCT)
    kept = stepwell.compile(PRODUCT, precision="bf16", keep_f32="n*")
    x = RNG.standard_normal((4, 75)).astype(np.float32)
    np.testing.assert_array_equal(kept(x), plain(x))
    stepwell.compile(PRODUCT, precision="f32").save(tmp_path / "f32.stepwell")
    plain.save(tmp_path / "plain.stepwell")
    assert (tmp_path / "f32.stepwell").read_bytes() == (tmp_path / "plain.stepwell").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "bf16", "keep_f32": "m"}, "keep-f32 matches no node: 'm'"),
        ({"keep_f32": "n"}, "keep_f32 needs a precision of 16 bits, and precision is f32"),
        ({"precision": "bf16", "keep_f32": ['a"b']}, "patterns of names, without quotes"),
        ({"precision": "bf16", "opt_level": 0}, "opt_level 0 keeps every digit"),
        ({"precision": "f8"}, "precision must be one of f32, tf32, bf16, f16"),
        ({"precision": "tf32"}, "is for devices with products of TF32 (mma-tf32), and found: the CPU"),
        ({"precision": "tf32", "target": "webgpu"}, "and found: webgpu"),
        ({"precision": "tf32", "target": "cuda{arch=sm_75}"}, "and found: cuda{arch=sm_75}"),
        ({"precision": "tf32", "target": "gpu0=cuda,gpu1=rocm"}, "and found: rocm"),
        (
            {"precision": "tf32", "keep_f32": "n"},
            "keep_f32 needs a precision of 16 bits, and precision is tf32",
        ),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(StepwellError, match="bad-option") as found:
        stepwell.compile(PRODUCT, **options)
    assert message in found.value.message


def test_a_cpu_without_the_instructions_is_named() -> None:
    with pytest.warns(RuntimeWarning, match=r"no instructions for products of bf16 .*\(avx512bf16\)"):
        stepwell.compile(PRODUCT, precision="bf16", mcpu="x86-64-v3")


def test_pairs_are_multiplied_where_a_cpu_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code for a CPU that may not be this one: it is assembled, and has no warning."""
    onnx.save(
        model("MatMul", [64, 76], [64, 48], RNG.normal(size=(76, 48)).astype(np.float32)), tmp_path / "m.onnx"
    )
    features = ",".join((*target_from("x86-64-v4").features, "avx512bf16"))
    asked = ["compile", str(tmp_path / "m.onnx"), "--precision", "bf16", "--emit", "asm", "--target"]
    assert cli.main([*asked, f"cpu{{triple=x86_64-unknown-linux-gnu features={features}}}"]) == 0
    shown = capsys.readouterr()
    assert "vdpbf16ps" in shown.out and "no instructions" not in shown.err


@whole
def test_the_command_checks_within_the_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(PRODUCT, tmp_path / "m.onnx")
    run: Callable[..., int] = cli.main
    asked = ["run", str(tmp_path / "m.onnx"), "--check", "--input-shape", "x=4x75"]
    assert run([*asked, "--precision", "bf16"]) == 0
    assert "ok, largest difference 0.00" in capsys.readouterr().out
    assert run([*asked, "--precision", "bf16", "--keep-f32", "n"]) == 0
    assert "of the range" in capsys.readouterr().out


def _rounded_convolution(size: int) -> str:
    """A convolution of 32 channels in blocks, of an input that is rounded to bf16."""
    maps, filters = f"tensor<1x2x{size}x{size}x16x", "tensor<2x2x3x3x16x16xf32>"
    return f"""func.func @f(%x: {maps}bf16>) -> {maps}f32> {{
  %n = graph.constant dense<0.001> : tensor<f32>
  %w = graph.full %n shape <[2, 2, 3, 3, 16, 16]> : tensor<f32> -> {filters}
  %f = graph.cast %x to f32 saturate true round "nearest" : {maps}bf16> -> {maps}f32>
  %y = graph.conv %f, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
    data_layout "NCHW16c" kernel_layout "OIHW16i16o" : ({maps}f32>, {filters}) -> {maps}f32>
  func.return %y : {maps}f32>
}}"""


@pytest.mark.parametrize(
    ("size", "feature", "wanted"),
    [(3, True, "pairs true"), (14, True, "tensor<16x1x16x32xi32>"), (14, False, "tensor<36x1x32x32xf32>")],
)
def test_pairs_are_weighed_against_winograds_algorithm(size: int, feature: bool, wanted: str) -> None:
    """Small feature maps waste tiles: direct convolutions by pairs are faster; others have tiles of 2."""
    ctx, target = StepwellContext(), target_from("x86-64-v4")
    ctx.target = replace(target, features=(*target.features, *(["avx512bf16"] if feature else [])))
    module = parse_module(ctx, _rounded_convolution(size))
    run_pipeline(module, "fold-constant,winograd-conv,pack-bfloats", ctx)
    assert wanted in str(module)
    assert ("graph.winograd_conv" in str(module)) == (wanted != "pairs true")


def test_pairs_count_as_two_channels() -> None:
    """The work of a convolution is the same by pairs and without."""
    counts: list[Dim | None] = []
    for pipeline in ("fold-constant", "fold-constant,pack-bfloats{always=true}"):
        ctx = StepwellContext()
        module = parse_module(ctx, _rounded_convolution(14))
        run_pipeline(module, pipeline, ctx)
        counts += [macs_of(op) for op in module.walk() if op.name == "graph.conv"]
    assert counts == [Dim.of(14 * 14 * 32 * 32 * 9)] * 2
