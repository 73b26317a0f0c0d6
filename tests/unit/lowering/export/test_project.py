"""Projects in a `.tar`: their files, and what CMake makes of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
small (float[N, 4] x, int64[N] i) => (float[N, 3] y, int64[N] j, int64[2, M] z)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> { y = MatMul (x, w) j = Neg (i) z = NonZero (y) }
"""
FIXED = """
<ir_version: 8, opset_import: ["" : 17]>
small (float[2, 4] x, int64[2] i) => (float[2, 3] y, int64[2] j)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> { y = MatMul (x, w) j = Neg (i) }
"""


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        assert [m.name for m in members] == sorted(m.name for m in members)
        assert {(m.mode, m.mtime, m.uid, m.uname) for m in members} == {(0o644, 0, 0, "")}
        return {m.name: archive.extractfile(m).read() for m in members}  # pyright: ignore[reportOptionalMemberAccess]


def write(folder: Path, **options: Any) -> dict[str, bytes]:
    text = FIXED if options.get("target") == "c" else MODEL
    done = stepwell.export(onnx.parser.parse_model(text), folder / "small.tar", **options)
    assert done.files == (folder / "small.tar",)
    return contents(folder / "small.tar")


@pytest.mark.sample(3)
@pytest.mark.parametrize("options", [{}, {"weights": "file"}, {"target": "c"}, {"mcpu": "aarch64"}])
def test_a_project_lists_its_files(tmp_path: Path, options: dict[str, str]) -> None:
    found = write(tmp_path, **options)
    manifest = json.loads(found["small/manifest.json"])
    sums = {f"small/{name}": digest for name, digest in manifest["sha256"].items()}
    assert sums.keys() == found.keys() - {"small/manifest.json"}
    assert all(sha256(found[name]).hexdigest() == digest for name, digest in sums.items())
    assert list(manifest["inputs"]) == ["x", "i"] and manifest["weight_bytes"] >= 48
    assert (
        ("small/src/small.c" in found) == (options.get("target") == "c") != ("small/lib/libsmall.a" in found)
    )
    assert ("small/small.weights" in found) == ("weights" in options)
    assert "aarch64" in manifest["target"] or "mcpu" not in options


def test_a_project_has_the_same_bytes_in_every_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name)
    assert (tmp_path / "a" / "small.tar").read_bytes() == (tmp_path / "b" / "small.tar").read_bytes()


@pytest.mark.parametrize("options", [{"weights": "extern"}, {"host_calls": "callback"}])
def test_what_the_example_cannot_do_is_refused(tmp_path: Path, options: Any) -> None:
    with pytest.raises(StepwellError, match="bad-option"):
        write(tmp_path, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["embed", "file"])
@pytest.mark.parametrize("target", [None, "c"])
def test_cmake_builds_it_and_runs_the_example(tmp_path: Path, target: str | None, weights: str) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    write(tmp_path, target=target, weights=weights)
    with tarfile.open(tmp_path / "small.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    subprocess.run(["cmake", "-B", "b"], cwd=tmp_path / "small", check=True, capture_output=True)
    command = ["cmake", "--build", "b"]
    shown = subprocess.run(command, cwd=tmp_path / "small", check=True, capture_output=True, text=True).stdout
    rows = 2 if target == "c" else 1
    x = (np.arange(4 * rows) % 2).reshape(rows, 4)
    y = x @ np.arange(1, 13).reshape(4, 3)
    assert "y:" + "".join(f" {v}" for v in y.ravel()) in shown
    assert ("j: 0 -1" if rows == 2 else "j: 0") in shown
    source = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", "include"]
    subprocess.run([*source, "example/main.c"], cwd=tmp_path / "small", check=True)


@pytest.mark.sample(3)
@pytest.mark.parametrize("weights", ["embed", "file"])
def test_a_project_of_a_library_has_an_example_for_each_function(tmp_path: Path, weights: Any) -> None:
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[2, 3] x) => (float[2, 3] y) {{ y = {} (x, w) }}'
    parts: dict[str, Any] = {}
    for name, op in (("more", "Add"), ("less", "Sub")):
        proto = onnx.parser.parse_model(text.format(op))
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.full((2, 3), 5, np.float32), "w"))
        parts[name] = stepwell.compile(proto)
    stepwell.export(stepwell.Library(parts), tmp_path / "both.tar", weights=weights)
    found = contents(tmp_path / "both.tar")
    functions = json.loads(found["both/manifest.json"])["functions"]
    assert functions["more"] == functions["less"] and list(functions["more"]["inputs"]) == ["x"]
    assert {"both/example/more.c", "both/example/less.c", "both/lib/libboth.a", "both/include/both.h"} <= set(
        found
    )
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    with tarfile.open(tmp_path / "both.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    subprocess.run(["cmake", "-B", "b"], cwd=tmp_path / "both", check=True, capture_output=True)
    command = ["cmake", "--build", "b"]
    shown = subprocess.run(command, cwd=tmp_path / "both", check=True, capture_output=True, text=True).stdout
    assert "y: 5 6 5 6 5 6" in shown and "y: -5 -4 -5 -4 -5 -4" in shown
