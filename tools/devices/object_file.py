"""`stepwell compile --emit obj` for a GPU: a cubin, by NVIDIA's assembler, or AMD's code object."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import write_bytes
from stepwell.runtime.machine.named_target import Target
from stepwell.tools.devices.emit import kernels_of
from stepwell.tools.driver.options import CompileOptions

_ASSEMBLER = "ptxas"
_SECONDS = 600


def emit_device_object(model: Path, options: CompileOptions, target: Target, output: Path) -> None:
    """
    Write the kernels of a model as the file that the driver of a GPU loads.

    Raises: StepwellError `missing-package` without `ptxas`, `driver` with what it said; `bad-option` for a
    target whose driver takes source text.
    """
    from stepwell.lowering.emit_amdgcn import code_object
    from stepwell.lowering.emit_ptx import emit_ptx

    if target.kind not in ("cuda", "rocm"):
        message = f"--emit obj is for a CPU, cuda or rocm: the driver of {target.kind} takes text"
        raise StepwellError("bad-option", None, message, help="--emit source writes it")
    if target.kind == "cuda" and shutil.which(_ASSEMBLER) is None:
        message = f"--emit obj for cuda needs NVIDIA's {_ASSEMBLER}, which is not on PATH"
        help = "pip install nvidia-cuda-nvcc-cu12 has it; --emit asm writes PTX, which drivers take"
        raise StepwellError("missing-package", None, message, help=help)
    module, _ = kernels_of(model, options)
    if target.kind == "rocm":
        write_bytes(output, code_object(module, target))
    else:
        write_bytes(output, _assembled(emit_ptx(module, target).text, str(target["arch"])))


def _assembled(ptx: str, arch: str) -> bytes:
    """The cubin of PTX. Raises: StepwellError `driver` with what the assembler said."""
    with TemporaryDirectory() as folder:
        (source := Path(folder) / "kernels.ptx").write_text(ptx)
        made = source.with_suffix(".cubin")
        command = [_ASSEMBLER, f"-arch={arch}", "-o", str(made), str(source)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        if ran.returncode:
            raise StepwellError("driver", None, f"{_ASSEMBLER} refuses the code: {ran.stderr.strip()}")
        return made.read_bytes()
