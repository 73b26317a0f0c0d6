"""Models on the device `cuda` with a driver in memory: calls, results, failures."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import stepwell as sw
from stepwell.runtime.devices.cuda.device import Cuda
from stepwell.runtime.devices.cuda.driver import CudaDriver
from stepwell.runtime.devices.driver.staging import STAGING_BYTES
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.run_part import PartRunner
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from tests.support.devices.fake_cuda import FakeCuda
from tests.support.devices.gpu_models import small_model
from tests.support.imports import ROOT

Parts: TypeAlias = dict[str, tuple[DevicePart, list[Any], list[Any]]]
"""Parts by the name of their model, with inputs and the CPU's outputs."""
_GIVEN_BACK = (
    *("cuGraphDestroy", "cuGraphExec", "cuMemFree", "cuModuleUnload", "cuStreamDestroy"),
    "cuDevicePrimaryCtxRelease",
)
GOLDEN = Path(__file__).parent
DIGITS = ROOT / "examples/digits.onnx"


def part_of(path: Path, target: str = "cuda") -> DevicePart:
    """The only device part of a model."""
    compiled = sw.compile(path, target=target, use_cache=False)
    (callee,) = compiled.image.main.callees
    return DevicePart.from_bytes(callee.code)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """Parts of three models, with inputs and the CPU's outputs."""
    folder = tmp_path_factory.mktemp("models")
    digits = [np.random.default_rng(1).standard_normal((2, 64), np.float32)]
    models = {name: small_model(name, folder) for name in ("product", "softmax")} | {
        "digits": (DIGITS, digits)
    }
    return {
        name: (part_of(path), inputs, [sw.compile(path)(*inputs)]) for name, (path, inputs) in models.items()
    }


def run(fake: FakeCuda, part: DevicePart, inputs: list[Any], outputs: list[Any], times: int = 1) -> None:
    """Call a part on a device of a driver, and give everything back."""
    device = Cuda(0, CudaDriver(fake))
    runner = PartRunner(part, device)
    try:
        for _ in range(times):
            found = [np.full_like(each, np.nan) for each in outputs]
            runner(inputs, found)
            for a, b in zip(found, outputs, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    finally:
        runner.release()
        device.close()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["product", "softmax", "digits"])
def test_the_calls_of_models(name: str, parts: Parts) -> None:
    fake = FakeCuda()
    run(fake, *parts[name], times=2)
    assert not fake.held
    golden = (GOLDEN / f"{name}.txt").read_text()
    assert "\n".join(fake.calls) + "\n" == golden
    # The second call replays what the first one recorded.
    assert sum(call.startswith("cuGraphLaunch") for call in fake.calls) == 2
    assert sum(call.startswith("cuStreamBeginCapture") for call in fake.calls) == 1


@pytest.mark.parametrize("is_gone", [False, True])
def test_each_call_fails_in_turn(is_gone: bool, parts: Parts) -> None:
    part, inputs, outputs = parts["product"]
    run(whole := FakeCuda(), part, inputs, outputs)
    for number, call in enumerate(whole.calls):
        fake = FakeCuda(fails_at=number, is_gone=is_gone)
        try:
            run(fake, part, inputs, outputs)
        except StepwellError as error:
            assert error.code == ("no-device" if call.startswith("cuInit") else "driver")
            assert "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered" in error.message
        else:
            # Memory that cannot be given back is no reason to fail.
            assert call.startswith(_GIVEN_BACK)
            continue
        assert is_gone or not fake.held, f"{call} fails, and {fake.held} is left"


def test_a_call_after_a_failure_begins_again(parts: Parts) -> None:
    part, inputs, (expected,) = parts["product"]
    run(whole := FakeCuda(), *parts["product"])
    launch = next(n for n, call in enumerate(whole.calls) if call.startswith("cuGraphLaunch"))
    fake = FakeCuda(fails_at=launch)
    runner = PartRunner(part, Cuda(0, CudaDriver(fake)))
    found = np.zeros_like(expected)
    with pytest.raises(StepwellError, match="cuGraphLaunch: CUDA_ERROR_ILLEGAL_ADDRESS"):
        runner(inputs, [found])
    runner(inputs, [found])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_missing_memory_is_named_with_its_sizes(parts: Parts) -> None:
    fake = FakeCuda()
    fake.memory_bytes = STAGING_BYTES + 64
    with pytest.raises(StepwellError, match="cuda:0 has 2.0 MiB of 4.0 MiB free, and 0.1 MiB are") as error:
        run(fake, *parts["digits"])
    assert error.value.code == "device-memory" and "CUDA_ERROR_OUT_OF_MEMORY" in error.value.render()
    assert not fake.held


def test_ptx_that_the_driver_refuses(parts: Parts) -> None:
    fake = FakeCuda()
    fake.log = "ptxas application ptx input, line 5; error   : Unsupported .version 7.0"
    with pytest.raises(StepwellError, match="cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX") as error:
        run(fake, *parts["product"])
    assert "line 5; error : Unsupported .version 7.0" in error.value.render()
    assert "line 5: .version 7.0" in error.value.render()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("target", "arch", "said"),
    [
        ("cuda{arch=sm_90a}", (8, 9), "the code is for sm_90a, cuda:0 is sm_89"),
        ("cuda{arch=sm_90a}", (10, 0), "the code is for sm_90a, cuda:0 is sm_100"),
        ("cuda{arch=sm_90}", (8, 0), "the code is for sm_90, cuda:0 is sm_80"),
        ("cuda{arch=sm_80}", (12, 0), None),
        ("cuda{arch=sm_90a}", (9, 0), None),
    ],
)
def test_code_for_another_gpu(target: str, arch: tuple[int, int], said: str | None, tmp_path: Path) -> None:
    path, inputs = small_model("elementwise", tmp_path)
    part, expected = part_of(path, target), [sw.compile(path)(*inputs)]
    fake = FakeCuda(arch)
    if said is None:
        run(fake, part, inputs, expected)
        return
    with pytest.raises(StepwellError, match=said) as error:
        run(fake, part, inputs, expected)
    assert error.value.code == "wrong-device" and not fake.held


def test_copies_larger_than_the_pinned_memory_go_in_pieces() -> None:
    fake = FakeCuda()
    device = Cuda(0, CudaDriver(fake))
    array = np.random.default_rng(1).integers(0, 256, 2 * STAGING_BYTES + 777, dtype=np.uint8)
    memory = device.allocate(array.size)
    device.copy_in(memory, 0, array)
    device.copy_out(memory, 0, found := np.zeros_like(array))
    np.testing.assert_array_equal(found, array)
    device.copy(memory, 100, memory, STAGING_BYTES, 50)
    device.copy_out(memory, STAGING_BYTES, found[:50])
    np.testing.assert_array_equal(found[:50], array[100:150])
    device.free(memory)
    device.close()
    assert not fake.held


def test_without_a_driver(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A model compiles without one, and says what is missing when it is called."""
    from stepwell.runtime.devices.cuda.driver import driver

    try:
        driver()
    except StepwellError:
        pass
    else:
        pytest.skip("this machine has a driver")
    path, _ = small_model("elementwise", tmp_path)
    assert cli.main(["run", str(path), "--target", "cuda"]) == 1
    shown = capsys.readouterr().err
    assert "error[no-device]: no cuda device is here: libcuda.so.1 cannot be loaded" in shown
    assert "--device ptx-interpreter" in shown


def test_an_artifact_keeps_what_it_is_for(tmp_path: Path) -> None:
    path, inputs = small_model("elementwise", tmp_path)
    sw.compile(path, target="cuda{arch=sm_90a}", use_cache=False).save(file := tmp_path / "m.stepwell")
    (callee,) = sw.load(file).image.main.callees
    part = DevicePart.from_bytes(callee.code)
    assert part.target == "cuda{arch=sm_90a}" and part.device == "cuda"
    run(FakeCuda(), part, inputs, [sw.compile(path)(*inputs)])
