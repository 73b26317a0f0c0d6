"""
Models compiled for devices, `python -m tests.devices.zoo --shard 1/8`: each compiles, or is refused by name.

The models are those of STEPWELL_MODELS and its folder `skeletons`, whose weights are drawn first, and the
example, the smallest files first. Results are a line of JSON for each model and kind in a file, so that a
run that was ended goes on. Where `ptxas` is installed, it assembles the code for GPUs of NVIDIA, and the
bytes that registers spill on each architecture are reported; where wgpu is, its compiler reads the shaders.
Code for GPUs of AMD, which is experimental, says itself how many registers it spills.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import stepwell as sw
from stepwell.runtime.devices.moved import device_parts
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.rocm.code_object import read_code_object
from stepwell.runtime.environment import MODELS
from stepwell.runtime.errors import StepwellError
from tests.support.imports import ROOT

KINDS = ("webgpu", "opencl", "cuda", "rocm")
ARCHS = ("sm_80", "sm_90")
AMD = "amdgcn"
CHECKS = (*ARCHS, "naga", AMD)
_SPILLS = re.compile(r"(\d+) bytes spill stores")


def models(folder: Path | None, drawn: Path, only: str = "") -> list[Path]:
    """
    The models by name; skeletons get their weights in a folder of their own.

    Args: `only` is a part of the names of skeletons.
    """
    found = [ROOT / "examples/digits.onnx"]
    if folder is not None:
        found += sorted(folder.glob("*.onnx"))
        fill = folder / "fill_weights.py"
        for skeleton in sorted(each for each in (folder / "skeletons").glob("*.onnx") if only in each.stem):
            if not (made := drawn / skeleton.name).exists():
                subprocess.run([sys.executable, str(fill), str(drawn), skeleton.stem], check=True)
            found.append(made)
    return found


def compiled(path: Path, kind: str) -> dict[str, object]:
    """Facts of a compilation, or its error."""
    begin = perf_counter()
    try:
        image = sw.compile(path, target=kind, use_cache=False).image
    except StepwellError as error:
        return {"code": error.code, "message": error.message, "seconds": round(perf_counter() - begin, 1)}
    seconds = round(perf_counter() - begin, 1)
    parts = device_parts(image)
    on_host = image.summary.get("on the host", [])
    return {
        "parts": len(parts),
        "commands": sum(len(part.commands) for part in parts),
        "on the host": on_host,
        "seconds": seconds,
        **checked(parts),
    }


def checked(parts: Sequence[DevicePart]) -> dict[str, object]:
    """What the tools that are here say about code of parts."""
    codes = [part.codes for part in parts]
    facts: dict[str, object] = {}
    if any("hsaco" in each for each in codes):
        facts[AMD] = [spilled(each["hsaco"]) for each in codes if "hsaco" in each]
    if (program := shutil.which("ptxas")) is not None and any("ptx" in each for each in codes):
        for arch in ARCHS:
            facts[arch] = [assembled(program, each["ptx"], arch) for each in codes if "ptx" in each]
    shaders = [each["wgsl"] for each in codes if "wgsl" in each]
    if shaders and "webgpu" in {info.kind for info in sw.devices()}:
        facts["naga"] = [refused_shader(code) for code in shaders]
    return facts


def spilled(code: bytes) -> int:
    """The registers that kernels for a GPU of AMD spill. Raises: StepwellError for unreadable code."""
    return sum(kernel.spills for kernel in read_code_object(code).kernels.values())


def refused_shader(code: bytes) -> str:
    """Why the compiler of wgpu refuses the kernels of a part; nothing where it takes them."""
    try:
        sw.device("webgpu:0").load(code, "wgsl")
    except StepwellError as error:
        return error.message[:400]
    return ""


def assembled(program: str, code: bytes, arch: str) -> str | int:
    """The bytes that kernels spill, or why the assembler refuses their code."""
    with tempfile.TemporaryDirectory() as folder:
        (source := Path(folder) / "kernels.ptx").write_bytes(code)
        line = [program, "-v", f"-arch={arch}", str(source), "-o", str(Path(folder) / "kernels.cubin")]
        done = subprocess.run(line, capture_output=True, text=True)
    return sum(map(int, _SPILLS.findall(done.stderr))) if done.returncode == 0 else done.stderr[:400]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile a shard; returns 1 for an internal error, an unreadable part, code refused or spilling."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shard", default="1/1", help="the part of the models: 1/8")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--results", type=Path, default=ROOT / "build/models-devices.jsonl")
    args = parser.parse_args(arguments)
    number, count = map(int, args.shard.split("/"))
    args.results.parent.mkdir(parents=True, exist_ok=True)
    drawn = args.results.parent / "drawn"
    drawn.mkdir(exist_ok=True)
    folder = MODELS.value()
    lines = args.results.read_text().splitlines() if args.results.exists() else []
    done = {(entry["model"], entry["kind"]) for entry in map(json.loads, lines)}
    wrong = 0
    found = sorted(models(Path(folder) if folder else None, drawn), key=lambda path: path.stat().st_size)
    for path in found[number - 1 :: count]:
        for kind in args.kinds.split(","):
            if (path.name, kind) in done:
                continue
            facts = {"model": path.name, "kind": kind, **compiled(path, kind)}
            is_refused = any(any(facts.get(check, ())) for check in CHECKS)
            wrong += facts.get("code") in ("internal", "bad-artifact") or is_refused
            print(facts, flush=True)
            with args.results.open("a") as file:
                file.write(json.dumps(facts) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
