"""Code for GPUs of AMD: assembly, and code objects as their drivers and LLVM's tools read them."""

import re
import struct
import subprocess
from pathlib import Path

import pytest

from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.device_code import machine_for, module_for
from stepwell.lowering.emit_amdgcn import code_object, emit_amdgcn
from stepwell.lowering.emit_amdgcn.objects import linked
from stepwell.runtime.devices.rocm.code_object import read_code_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.elf import AMDGCN, ELF64, read_object, section_contents
from stepwell.tools import cli
from stepwell.tools.devices.emit import kernels_of
from stepwell.tools.driver.options import CompileOptions
from tests.support.components import needs_program
from tests.support.devices.gpu_models import MODELS, small_model

ARCHS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
SHARED = "memref<64xf32, #gpu.address_space<workgroup>>"
KERNELS = f"""
gpu.module @m {{
  gpu.func @reverse(%n: index, %x: memref<?x64xf32>) workgroup(%s: {SHARED}) kernel
      attributes {{gpu.known_block_size = array<i32: 64, 1, 1>}} {{
    %t = gpu.thread_id x
    %a = memref.load %x[%n, %t] : memref<?x64xf32>
    memref.store %a, %s[%t] : {SHARED}
    gpu.barrier
    %last = arith.constant 63 : index
    %r = arith.subi %last, %t : index
    %b = memref.load %s[%r] : {SHARED}
    memref.store %b, %x[%n, %t] : memref<?x64xf32>
    gpu.return
  }}
  gpu.func @blocks(%x: memref<?xindex>) kernel attributes {{gpu.known_block_size = array<i32: 1, 1, 1>}} {{
    %b = gpu.block_id x
    %g = gpu.grid_dim x
    memref.store %g, %x[%b] : memref<?xindex>
    gpu.return
  }}
}}"""


@pytest.mark.parametrize("arch", ARCHS)
def test_kernels_as_the_driver_knows_them(arch: str) -> None:
    target = Target(f"rocm{{arch={arch}}}")
    found = read_code_object(code_object(parse_module(StepwellContext(), KERNELS), target))
    reverse, blocks = found.kernels["reverse"], found.kernels["blocks"]
    assert (found.arch, reverse.warp, reverse.symbol) == (arch, target["warp"], "reverse.kd")
    assert (reverse.shared_bytes, reverse.private_bytes, reverse.spills) == (256, 0, 0)
    arguments = [(each.name, each.offset, each.nbytes, each.kind) for each in reverse.arguments]
    assert arguments == [("n.0", 0, 8, "by_value"), ("x.1", 8, 8, "global_buffer")]
    assert reverse.argument_bytes == 16  # the driver adds nothing, since nothing more is read
    assert [each.kind for each in blocks.arguments[1:4]] == [f"hidden_block_count_{axis}" for axis in "xyz"]
    assert {name: [str(each) for each in line] for name, line in found.parameters.items()} == {
        "reverse": ["i64 0", "ptr 1"],
        "blocks": ["ptr 0"],
    }


def test_memory_is_accessed_in_its_address_space() -> None:
    """A generic access would test at run time whether an address is that of the block's memory."""
    text = emit_amdgcn(parse_module(StepwellContext(), KERNELS), Target("rocm{arch=gfx1100}"))
    assert not re.search(r"\bflat_(load|store)", text)
    words = ("global_load_b32", "ds_store_b32", "s_barrier", "ds_load_b32", "global_store_b32")
    assert [word for word in words if word not in text] == []
    assert "; @reverse\n; parameters: i64 0, ptr 1\n" in text
    assert ".reqd_workgroup_size:\n      - 64\n      - 1\n      - 1\n" in text


def test_distances_between_sections_are_carried_out(tmp_path: Path) -> None:
    """The descriptor of each kernel has the distance to its code."""
    data = code_object(parse_module(StepwellContext(), KERNELS), Target("rocm"))
    header = ELF64.header.unpack_from(data)
    rows = [ELF64.section.unpack_from(data, header[6] + 64 * number) for number in range(header[12])]
    sections = section_contents(data, AMDGCN)
    names = sections[".dynstr"]
    symbols = {
        names[name : names.index(b"\0", name)].decode(): (section, value)
        for name, _, _, section, value, _ in ELF64.symbol.iter_unpack(sections[".dynsym"])
    }
    for kernel in ("reverse", "blocks"):
        section, place = symbols[f"{kernel}.kd"]
        offset = place - rows[section][3] + rows[section][4]
        (distance,) = struct.unpack_from("<q", data, offset + 16)
        assert place + distance == symbols[kernel][1]
        assert symbols[kernel][1] % 256 == 0 and place % 64 == 0


TABLE = """
@table = internal addrspace(4) constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
define amdgpu_kernel void @k(ptr addrspace(1) %x, i32 %i) {
  %p = getelementptr float, ptr addrspace(4) @table, i32 %i
  %v = load float, ptr addrspace(4) %p
  store float %v, ptr addrspace(1) %x
  ret void
}"""


def test_code_reads_a_table_where_it_is() -> None:
    """Two instructions have the lower and the upper half of a distance, each with a relocation of its own."""
    machine = machine_for("amdgcn-amd-amdhsa", "gfx942")
    made = machine.emit_object(module_for(machine, TABLE))
    (code,) = [each for each in read_object(made).sections if each.is_code]
    low, high = sorted(code.relocations, key=lambda each: each.offset)
    data = linked(made, [])
    header = ELF64.header.unpack_from(data)
    rows = [ELF64.section.unpack_from(data, header[6] + 64 * number) for number in range(header[12])]
    (text,) = [row for row in rows if row[2] & 4]
    words = [struct.unpack_from("<I", data, text[4] + each.offset)[0] for each in (low, high)]
    (distance,) = struct.unpack("<q", struct.pack("<II", *words))
    place = text[3] + low.offset + distance
    (section,) = [row for row in rows if row[3] <= place < row[3] + row[5] and row[3]]
    begin = place - section[3] + section[4]
    # The distance is from the program counter that was read, four bytes before the lower half.
    assert data[begin - 4 : begin + 12] == struct.pack("<4f", 1, 2, 3, 4)


def test_tools_of_llvm_read_a_code_object(tmp_path: Path) -> None:
    program = needs_program("llvm-readelf")
    data = code_object(parse_module(StepwellContext(), KERNELS), Target("rocm"))
    (file := tmp_path / "kernels.hsaco").write_bytes(data)
    done = subprocess.run([program, "-a", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "warning" not in done.stderr
    assert "DYN (Shared object file)" in done.stdout and "EM_AMDGPU" in done.stdout
    assert "amdhsa.target:   amdgcn-amd-amdhsa--gfx942" in done.stdout and "Invalid" not in done.stdout
    assert re.search(r"OBJECT\s+GLOBAL DEFAULT\s+5 reverse\.kd", done.stdout)


@pytest.mark.sample(3)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", MODELS)
def test_small_models_have_code_without_spills(name: str, arch: str, tmp_path: Path) -> None:
    path, _ = small_model(name, tmp_path)
    target = Target(f"rocm{{arch={arch}}}")
    module, _ = kernels_of(path, CompileOptions(target=str(target)))
    found = read_code_object(code_object(module, target))
    assert found.kernels and {each.spills for each in found.kernels.values()} == {0}


def test_levels_by_the_command(tmp_path: Path) -> None:
    path, _ = small_model("sum", tmp_path)
    texts: dict[str, str] = {}
    for level in ("llvm", "ll", "asm"):
        output = path.with_suffix(f".{level}")
        assert cli.main(["compile", str(path), "--target", "rocm", "--emit", level, "-o", str(output)]) == 0
        texts[level] = output.read_text()
    assert "rocdl.kernel" in texts["llvm"] and "llvm.amdgcn.workitem.id.x" in texts["llvm"]
    assert "define amdgpu_kernel void @k0_kernel(" in texts["ll"]
    assert '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"' in texts["asm"] and "; sum.onnx: node" in texts["asm"]


def test_other_targets_have_no_amdgcn() -> None:
    with pytest.raises(StepwellError, match="there is no AMDGCN for cuda"):
        emit_amdgcn(parse_module(StepwellContext(), KERNELS), Target("cuda"))
