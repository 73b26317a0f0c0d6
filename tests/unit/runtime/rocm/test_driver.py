"""Models on the device `rocm` with a driver in memory: calls, results, failures, damaged code."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell as sw
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.rocm.code_object import read_code_object
from stepwell.runtime.devices.rocm.device import Rocm
from stepwell.runtime.devices.rocm.driver import HipDriver
from stepwell.runtime.devices.run_part import PartRunner
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from tests.support.devices.fake_hip import FakeHip
from tests.support.devices.gpu_models import small_model

GOLDEN = Path(__file__).parent
_GIVEN_BACK = (
    "hipGraphDestroy",
    "hipGraphExec",
    "hipFree",
    "hipModuleUnload",
    "hipStreamDestroy",
    "hipHostFree",
)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> tuple[DevicePart, list[Any], list[Any]]:
    """The part of a product for AMD, with inputs and the CPU's outputs."""
    path, inputs = small_model("product", tmp_path_factory.mktemp("models"))
    compiled = sw.compile(path, target="rocm", use_cache=False)
    (callee,) = compiled.image.main.callees
    return DevicePart.from_bytes(callee.code), inputs, [sw.compile(path)(*inputs)]


def run(fake: FakeHip, part: DevicePart, inputs: list[Any], outputs: list[Any], times: int = 1) -> None:
    """Call a part on a device of a driver, and give everything back."""
    device = Rocm(0, HipDriver(fake))
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


def test_the_calls_of_a_model(product: tuple[DevicePart, list[Any], list[Any]]) -> None:
    part, *arrays = product
    fake = FakeHip(part.codes["gpu"])
    run(fake, part, *arrays, times=2)
    assert not fake.held
    assert "\n".join(fake.calls) + "\n" == (GOLDEN / "product.txt").read_text()
    assert sum(call.startswith("hipGraphLaunch") for call in fake.calls) == 2


def test_each_call_fails_in_turn(product: tuple[DevicePart, list[Any], list[Any]]) -> None:
    part, inputs, outputs = product
    run(whole := FakeHip(part.codes["gpu"]), part, inputs, outputs)
    for number, call in enumerate(whole.calls):
        fake = FakeHip(part.codes["gpu"], fails_at=number)
        try:
            run(fake, part, inputs, outputs)
        except StepwellError as error:
            assert error.code == ("no-device" if call.startswith("hipInit") else "driver")
            assert "hipErrorIllegalAddress: illegal address" in error.message
        else:
            assert call.startswith(_GIVEN_BACK)  # no reason to fail
            continue
        assert not fake.held, f"{call} fails, and {fake.held} is left"


def test_code_for_another_gpu(product: tuple[DevicePart, list[Any], list[Any]]) -> None:
    part, inputs, outputs = product
    fake = FakeHip(part.codes["gpu"], gpu="gfx1100")
    with pytest.raises(StepwellError, match="the code is for gfx942, rocm:0 is gfx1100") as error:
        run(fake, part, inputs, outputs)
    assert error.value.code == "wrong-device" and not fake.held


def test_damaged_code_objects_are_refused(product: tuple[DevicePart, list[Any], list[Any]]) -> None:
    """A cut or changed file is read as something, or is `bad-artifact`; nothing else happens."""
    code = product[0].codes["hsaco"]
    rng = np.random.default_rng(3)
    for length in [0, 3, 64, *rng.integers(0, len(code), 20)]:
        with pytest.raises(StepwellError) as error:
            read_code_object(code[: int(length)])
        assert error.value.code == "bad-artifact"
    for _ in range(100):
        damaged = bytearray(code)
        for place in rng.integers(0, len(code), 8):
            damaged[place] = rng.integers(0, 256)
        try:
            read_code_object(bytes(damaged))
        except StepwellError as error:
            assert error.code == "bad-artifact"


def test_without_a_driver(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, _ = small_model("elementwise", tmp_path)
    assert cli.main(["run", str(path), "--target", "rocm"]) == 1
    shown = capsys.readouterr().err
    assert "error[no-device]: no rocm device is here: libamdhip64.so cannot be loaded" in shown
    assert "--device gpu-interpreter" in shown
