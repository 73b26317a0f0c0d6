"""Programs of the accelerator in files: run from text and bytes, shown, refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell.dialects.npu import ProgramOp
from stepwell.lowering.backends.npu import encoded
from stepwell.runtime.errors import StepwellError
from stepwell.tools.cli import main
from stepwell.tools.devices.run_npu import read_program

PROGRAM = """
npu.program @p(%x: memref<1x1x16xi8>, %w: memref<1x16x16xi8>, %y: memref<2x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<1x1x16xi8>
  %b = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<1x16x16xi8>
  %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%b)
  %s = npu.store %y[1] from 0 size [1, 1] stride 1 after(%g) : memref<2x1x16xi8>
  %f = npu.finish after(%s)
}
"""


def written(folder: Path) -> tuple[Path, Path]:
    """A program as text and as bytes."""
    (text := folder / "p.mlir").write_text(PROGRAM)
    (data := folder / "p.npu").write_bytes(encoded(read_program(text)).to_bytes())
    return text, data


@pytest.mark.parametrize("kind", [0, 1])
def test_runs(kind: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path)[kind]
    x, w = np.arange(16, dtype=np.int8), np.eye(16, dtype=np.int8)
    names = (("x", "w"), ("arg0", "arg1"))[kind]
    given: dict[str, Any] = {names[0]: x.reshape(1, 1, 16), names[1]: w[None]}
    np.savez(tmp_path / "in.npz", **given)
    options = ["--device", "npu", "--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "o.npz")]
    assert main(["run", str(file), *options, "--profile"]) == 0
    found = np.load(tmp_path / "o.npz")[("y", "arg2")[kind]]
    np.testing.assert_array_equal(found, np.stack([0 * x, x])[:, None])  # the first element is not stored
    assert "cycles: load 74, compute" in capsys.readouterr().out


def test_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, data = written(tmp_path)
    assert main(["inspect", str(data)]) == 0
    (tmp_path / "again.mlir").write_text(shown := capsys.readouterr().out)
    assert "npu.store %2[1] from 0 size [1, 1] stride 1 tokens [pop-prev, push-prev]" in shown
    assert encoded(read_program(tmp_path / "again.mlir")) == encoded(read_program(text))
    assert isinstance(read_program(data), ProgramOp)


def test_refuses(tmp_path: Path) -> None:
    text, data = written(tmp_path)
    (tmp_path / "cut.npu").write_bytes(data.read_bytes()[:50])
    text.write_text(PROGRAM + PROGRAM.replace("@p", "@q"))
    for name, code, said in (
        ("cut.npu", "bad-npu-program", "a cut one: 50 bytes"),
        ("none.npu", "no-file", "cannot read the program"),
        ("p.mlir", "unknown-function", "expected one program of the accelerator, found @p, @q"),
    ):
        with pytest.raises(StepwellError, match=said) as error:
            read_program(tmp_path / name)
        assert error.value.code == code


def test_bytes_that_no_text_could_say(tmp_path: Path) -> None:
    """A load beyond its array is found as in text, before a run."""
    _, data = written(tmp_path)
    found = encoded(read_program(data))
    whole = found.to_bytes().replace(b"[[1,1,16]", b"[[1,1,17]")
    (tmp_path / "wrong.npu").write_bytes(whole)
    with pytest.raises(StepwellError, match="the last dimensions must be an element, 1x16"):
        read_program(tmp_path / "wrong.npu")
