"""The targets of a machine's devices, and `auto` in texts of targets."""

import pytest

import stepwell as sw
from stepwell.runtime.devices import detected, table, webgpu
from stepwell.runtime.devices.arrays import DeviceInfo
from stepwell.tools.driver.options import CompileOptions

CUDA = DeviceInfo("cuda:0", "cuda", "a GPU", 1 << 34, "sm_90")
ORIN = DeviceInfo("cuda:1", "cuda", "a GPU of sm_87", 1 << 34, "sm_87")
VULKAN = DeviceInfo("webgpu:0", "webgpu", "the same GPU by Vulkan")
LAVAPIPE = DeviceInfo("webgpu:1", "webgpu", "Vulkan without a GPU", is_software=True)
POCL = DeviceInfo("opencl:0", "opencl", "OpenCL without a GPU", is_software=True)
INTERPRETER = DeviceInfo("ptx-interpreter:0", "ptx-interpreter", "PTX in numpy", is_software=True)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[DeviceInfo]:
    """The devices of a machine, to be filled."""
    found: list[DeviceInfo] = []
    monkeypatch.setattr(detected, "devices", lambda: (found, {}))
    return found


def targets() -> list[str]:
    return [str(target) for target in sw.Target.detect()]


def test_gpus_come_first_and_drivers_without_one_last(here: list[DeviceInfo]) -> None:
    assert targets() == ["cpu"] and str(sw.Target("auto")) == "cpu"
    here += [POCL, LAVAPIPE, INTERPRETER]
    assert targets() == ["cpu", "webgpu", "opencl"]
    here += [VULKAN, ORIN, CUDA]
    assert targets() == ["cuda{arch=sm_86}", "cuda{arch=sm_90}", "webgpu", "cpu", "opencl"]
    assert str(sw.Target("auto")) == "cuda{arch=sm_86}"


@pytest.mark.parametrize(
    ("kind", "arch", "target"),
    [
        ("cuda", "sm_80", "cuda"),
        ("cuda", "sm_103", "cuda{arch=sm_100}"),
        ("cuda", "sm_61", None),
        ("cuda", "unknown", None),
        ("rocm", "gfx1100", "rocm{arch=gfx1100}"),
        ("rocm", "gfx803", None),
        ("gpu-interpreter", "", None),
    ],
)
def test_targets_of_architectures(kind: str, arch: str, target: str | None) -> None:
    found = DeviceInfo(f"{kind}:0", kind, "", None, arch).target
    assert target == (None if found is None else str(found))


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("auto", "cuda{arch=sm_90}"),
        (" auto on cpu{mcpu=x86-64-v3}", "cuda{arch=sm_90} on cpu{mcpu=x86-64-v3}"),
        ("gpu0=auto, npu0=npu", "gpu0=cuda{arch=sm_90}, npu0=npu"),
        ("auto,cpu", "cuda{arch=sm_90},cpu"),
    ],
)
def test_options_have_the_target_that_was_found(here: list[DeviceInfo], text: str, resolved: str) -> None:
    here.append(CUDA)
    assert str(CompileOptions(target=text).target).strip() == resolved


def test_auto_is_a_name_of_its_own() -> None:
    for text in ("autos", "auto{arch=sm_90}", "auto/h200"):
        with pytest.raises(sw.StepwellError) as caught:
            sw.Target(text)
        assert caught.value.code == "unknown-target"


def test_the_cpu_is_listed_and_needs_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(table, "device_kinds", lambda: ["npu"])  # drivers of GPUs take a second to start
        accelerator, cpu = sw.devices()
    assert (accelerator.name, cpu.name, str(cpu.target)) == ("npu:0", "cpu:0", "cpu")
    with pytest.raises(sw.StepwellError, match="needs no device") as caught:
        sw.device("cpu:0")
    assert caught.value.code == "no-device"


def test_vulkan_without_an_adapter_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`stepwell devices` had no line for it."""
    monkeypatch.setattr(webgpu, "_adapters", list)
    monkeypatch.setattr(table, "device_kinds", lambda: ["webgpu"])
    found, missing = table.devices()
    assert not found and missing["webgpu"].startswith("there is no adapter 0 for WebGPU")
