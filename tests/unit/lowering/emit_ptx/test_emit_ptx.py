"""PTX of kernels: its text, and NVIDIA's assembler where it is installed."""

import re
import subprocess
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell import Target
from stepwell.lowering.device_code import kernels
from stepwell.lowering.emit_ptx import emit_ptx
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from stepwell.tools.devices.emit import kernels_of
from stepwell.tools.driver.options import CompileOptions
from tests.support.components import needs_program
from tests.support.devices.gpu_kernels import WideCase, kernel_module
from tests.support.devices.gpu_models import MODELS, small_model
from tests.support.imports import ROOT


def kernel(body: str, arguments: str = "%x: memref<64xf32>", memory: str = "") -> ModuleOp:
    """A module with a kernel of 64 threads."""
    return kernel_module(body, arguments, memory, threads=64)


def emitted(path: Path, target: str, level: str) -> str:
    """The text of a level, by the command."""
    output = path.with_suffix(f".{level}")
    assert cli.main(["compile", str(path), "--target", target, "--emit", level, "-o", str(output)]) == 0
    return output.read_text()


def assembled(text: str, arch: str, folder: Path) -> str:
    """What NVIDIA's assembler says about a text."""
    program = needs_program("ptxas")
    (source := folder / "kernels.ptx").write_text(text)
    line = [program, "-v", f"-arch={arch}", str(source), "-o", str(folder / "kernels.cubin")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_versions_are_the_lowest_of_an_architecture() -> None:
    module = kernel("%t = gpu.thread_id x")
    for arch, version in (("sm_75", "6.3"), ("sm_80", "7.0"), ("sm_90a", "8.0"), ("sm_120", "8.7")):
        text = emit_ptx(module, Target(f"cuda{{arch={arch}}}")).text
        assert f".version {version}\n.target {arch}\n" in text


def test_the_module_stays_as_it_is() -> None:
    module = kernel("%t = gpu.thread_id x")
    before = str(module)
    emit_ptx(module, Target("cuda"))
    assert str(module) == before


def test_nodes_are_above_their_kernels(tmp_path: Path) -> None:
    path, _ = small_model("product", tmp_path)
    text = emitted(path, "cuda{arch=sm_90}", "asm")
    # The nodes have no names: operators stand for them.
    nodes = "".join(rf'// product.onnx: node "{name}"\n' for name in ("MatMul#0", "Add#1", "Relu#2"))
    comments = rf"^// @k0_kernel\n{nodes}// parameters: ptr 0, ptr 1, ptr 2, ptr 3\n"
    assert re.search(comments + r"\.visible \.entry k0_kernel\($", text, re.MULTILINE)
    assert ".reqntid 64, 1, 1" in text and "bar.sync" in text
    assert "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" in text


def test_levels_between(tmp_path: Path) -> None:
    path, _ = small_model("sum", tmp_path)
    llvm, text = (emitted(path, "cuda", level) for level in ("llvm", "ll"))
    assert 'llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"' in llvm and "nvvm.kernel" in llvm
    assert "define ptx_kernel void @k0_kernel(" in text and '"nvvm.reqntid"="32,1,1"' in text


def test_memory_of_a_block_is_in_its_address_space() -> None:
    space = "#gpu.address_space<workgroup>"
    body = f"""%t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<64xf32>
    memref.store %a, %s[%t] : memref<64xf32, {space}>
    gpu.barrier
    %last = arith.constant 63 : index
    %r = arith.subi %last, %t : index
    %b = memref.load %s[%r] : memref<64xf32, {space}>
    memref.store %b, %x[%t] : memref<64xf32>"""
    text = emit_ptx(kernel(body, memory=f" workgroup(%s: memref<64xf32, {space}>)"), Target("cuda")).text
    assert ".shared .align 16 .b8 k_s_0[256];" in text
    assert "ld.shared" in text and "st.shared" in text and "bar.sync" in text
    assert not re.search(r"\b(ld|st)\.b32", text), "a generic access"


def test_functions_that_a_gpu_lacks_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MATH_FUNCTIONS", frozenset[str]())  # all that are called are ours
    body = """%t = gpu.thread_id x
    %0 = memref.load %x[%t] : memref<64xf64>
    %1 = math.exp %0 : f64
    memref.store %1, %x[%t] : memref<64xf64>"""
    message = "exp is a function of the C library, which a GPU does not have"
    with pytest.raises(StepwellError, match=message) as caught:
        emit_ptx(kernel(body, arguments="%x: memref<64xf64>"), Target("cuda"))
    assert caught.value.code == "unsupported-op" and caught.value.where


def test_all_that_a_gpu_lacks_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MATH_FUNCTIONS", frozenset({"pow"}))
    refused: list[StepwellError] = []
    body = """%t = gpu.thread_id x
    %0 = memref.load %x[%t] : memref<64xf64>
    %1 = math.exp %0 : f64
    %2 = math.sin %1 : f64
    memref.store %2, %x[%t] : memref<64xf64>"""
    emit_ptx(kernel(body, arguments="%x: memref<64xf64>"), Target("cuda"), refuse=refused.append)
    assert [error.message.partition(" ")[0] for error in refused] == ["exp", "sin"]


def test_other_targets_have_no_ptx() -> None:
    with pytest.raises(StepwellError, match="there is no PTX for webgpu"):
        emit_ptx(kernel("%t = gpu.thread_id x"), Target("webgpu"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", MODELS)
def test_small_models_are_assembled_without_spills(name: str, arch: str, tmp_path: Path) -> None:
    needs_program("ptxas")
    path, _ = small_model(name, tmp_path)
    target = f"cuda{{arch={arch}}}"
    module, _ = kernels_of(path, CompileOptions(target=target))
    said = assembled(emit_ptx(module, Target(target)).text, arch, tmp_path)
    assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"}


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_trained_model_is_assembled_without_spills(arch: str, tmp_path: Path) -> None:
    target = f"cuda{{arch={arch}}}"
    module, _ = kernels_of(ROOT / "examples/digits.onnx", CompileOptions(target=target))
    said = assembled(emit_ptx(module, Target(target)).text, arch, tmp_path)
    assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"}


@pytest.mark.parametrize(("element", "lanes"), [("f32", 4), ("f16", 8)])
def test_neighbours_are_one_instruction(element: str, lanes: int, tmp_path: Path) -> None:
    text = emit_ptx(WideCase((64, 64), lanes, 32, element).module(), Target("cuda")).text
    wide = [line.split()[0] for line in text.splitlines() if ".v4." in line or ".v8." in line]
    assert [name for name in wide if name.startswith("st.global")] == ["st.global.v4.b32"]
    assert "ld.global.v4.b32" in wide
    assert not re.search(r"(ld|st)\.global\.b(16|8)\b", text)
