"""Models on several devices: parts of each, rules of placement, what is copied, and wrong options."""

from pathlib import Path

import numpy as np
import pytest

import stepwell as sw
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.profiling import timed_launches
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from stepwell.tools.report import summary_text
from tests.unit.lowering.npu.test_npu_models import block
from tests.unit.tools.devices.test_device_parts import model, one

INTERPRETER = "gpu-interpreter"
RULES = """
pattern.def @tanh {
  %root = pattern.op "graph.tanh"(...)
  pattern.yield %root
}
pattern.table @gpu1 [@tanh]
"""


def parts_of(model: sw.CompiledModel) -> list[tuple[str, str]]:
    """The kind and the name of each part, in the order of the calls."""
    return [(callee.kind, callee.name) for callee in model.image.main.callees]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose middle is for another device, and for the host."""
    nodes = (
        "[p] a = MatMul(x, w) [t] b = Tanh(a) [wide] d = Cast<to = 11>(b) [back] e = Cast<to = 1>(d)"
        " [s] y = Add(e, a)"
    )
    signature = "(float[N, 4] x, float[4, 4] w) => (float[N, 4] y)"
    return model(tmp_path_factory.mktemp("chain"), signature, nodes)


def test_rules_give_ops_to_devices(chain: Path, tmp_path: Path) -> None:
    rules = tmp_path / "the rules.mlir"
    rules.write_text(RULES)
    targets = {"gpu0": "cuda", "gpu1": "webgpu"}
    on_devices = sw.compile(chain, target=targets, device=INTERPRETER, place=rules, use_cache=False)
    assert parts_of(on_devices) == [("device", "gpu0_0"), ("device", "gpu1_0"), ("device", "gpu0_1")]
    parts = [DevicePart.from_bytes(callee.code) for callee in on_devices.image.main.callees]
    assert [part.target for part in parts] == ["cuda", "webgpu", "cuda"]
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 4), np.float32), rng.standard_normal((4, 4), np.float32)
    np.testing.assert_allclose(one(on_devices(x, w)), np.tanh(x @ w) + x @ w, atol=2e-6)


@pytest.mark.parametrize(
    "devices",
    [
        {"gpu0": f"{INTERPRETER}:0", "gpu1": f"{INTERPRETER}:1"},
        {"gpu0": INTERPRETER, "gpu1": "ptx-interpreter"},
    ],
    ids=["of one kind", "of two kinds"],
)
def test_two_gpus_of_a_target(devices: dict[str, str], tmp_path: Path) -> None:
    """The sum is on the first GPU, where the product has stayed: the tanh alone goes there and back."""
    rules = tmp_path / "rules.mlir"
    rules.write_text(RULES)
    nodes = "[p] a = MatMul(x, w) [t] b = Tanh(a) [s] y = Add(b, a)"
    path = model(tmp_path, "(float[N, 4] x, float[4, 4] w) => (float[N, 4] y)", nodes)
    targets = {"gpu0": "cuda", "gpu1": "cuda"}
    compiled = sw.compile(path, target=targets, device=devices, place=rules, use_cache=False)
    assert parts_of(compiled) == [("device", "gpu0_0"), ("device", "gpu1_0"), ("device", "gpu0_1")]
    summary = summary_text(compiled.image)
    for name, device in devices.items():
        assert f"{name} on {device}: nodes" in summary
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 4), np.float32), rng.standard_normal((4, 4), np.float32)
    with timed_launches() as times:
        result = one(compiled(x, w))
    np.testing.assert_allclose(result, np.tanh(x @ w) + x @ w, atol=2e-6)
    # To the first GPU x and w, and back a; to the second a, and back b; to the first b, and back y.
    assert times.copied_bytes == 6 * 48 + 64


def test_an_accelerator_beside_a_gpu(tmp_path: Path) -> None:
    path = block(tmp_path / "q.onnx")
    beside = sw.compile(path, target="gpu0=cuda,npu0=npu", device=INTERPRETER, use_cache=False)
    assert parts_of(beside) == [("device", "gpu0_0"), ("npu", "npu0_0"), ("device", "gpu0_1")]
    alone = sw.compile(path, device="npu", use_cache=False)
    x = np.random.default_rng(1).standard_normal((2, 3, 9, 11), np.float32)
    np.testing.assert_allclose(one(beside(x)), one(alone(x)), atol=1e-6)
    summary = summary_text(beside.image)
    assert (
        'npu0 on npu (experimental): nodes "first_w"' in summary and "layers in the table of npu" in summary
    )
    assert "@npu0_0: copies per call: 2 (447 * N bytes)" in summary


def test_a_step_of_an_accelerator_is_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An element of the result is a step of its scale apart, 0.7 % of the range."""
    path = block(tmp_path / "q.onnx")
    assert cli.main(["run", str(path), "--device", "npu", "--check", "--input-shape", "x=2x3x9x11"]) == 0
    assert "ok, largest difference 0.0071 of the range" in capsys.readouterr().out


def test_arrays_between_parts_stay_on_the_device(tmp_path: Path) -> None:
    """The host reads `a` as well, and `x` is read before and after it: each crosses the link once."""
    nodes = (
        "[p] a = MatMul(x, w) [wide] d = Cast<to = 11>(a) q = Mul(d, d) [back] e = Cast<to = 1>(q)"
        " [s] s = Add(e, a) [y] y = Mul(s, x)"
    )
    path = model(tmp_path, "(float[N, 4] x, float[4, 4] w) => (float[N, 4] y)", nodes)
    compiled = sw.compile(path, target="webgpu", device=INTERPRETER, use_cache=False)
    assert parts_of(compiled) == [("device", name) for name in ("gpu0_copy0", "gpu0_0", "gpu0_1")]
    callees = compiled.image.main.callees
    assert [[bool(value.dtype) for value in callee.inputs] for callee in callees] == [
        [True],
        [False, True],
        [True, False, False],
    ]
    summary = summary_text(compiled.image)
    assert 'gpu0 on gpu-interpreter: nodes "p", "s", "y"; all that it can compute' in summary
    rng = np.random.default_rng(0)
    for rows in (3, 5, 3):  # memory of arrays that are gone is used again
        x, w = rng.standard_normal((rows, 4), np.float32), rng.standard_normal((4, 4), np.float32)
        with timed_launches() as times:
            result = one(compiled(x, w))
        np.testing.assert_allclose(result, ((x @ w) ** 2 + x @ w) * x, rtol=1e-4)
        # x and e to the device, a and y back, and w.
        assert times.copied_bytes == 4 * rows * 16 + 64


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ({"target": "gpu0=cuda,gpu0=npu"}, "bad-target", "two targets are named gpu0"),
        ({"target": "gpu0=cuda,npu"}, "bad-target", "expected NAME=TARGET, found 'npu'"),
        ({"target": "host=cuda"}, "bad-target", "host is the CPU that calls the program"),
        ({"target": {}}, "bad-target", "found none"),
        ({"target": {"gpu0": "cpu"}}, "bad-target", "the only one of a program is @host"),
        ({"target": {"gpu0": "cudo"}}, "unknown-target", "cudo"),
        ({"target": {"gpu0": "cuda"}, "device": {"gpu": INTERPRETER}}, "no-device", "no target is named gpu"),
        ({"place": "rules.mlir"}, "bad-option", "there is only the CPU"),
        ({"place": "missing.mlir", "device": INTERPRETER}, "no-file", "cannot read the patterns"),
        ({"place": 'a"b.mlir', "device": INTERPRETER}, "bad-option", "has a quote in its name"),
    ],
)
def test_wrong_options(chain: Path, options: dict[str, object], code: str, said: str) -> None:
    with pytest.raises(StepwellError) as error:
        sw.compile(chain, use_cache=False, **options)  # pyright: ignore[reportArgumentType]  # wrong on purpose
    assert error.value.code == code and said in error.value.render()
