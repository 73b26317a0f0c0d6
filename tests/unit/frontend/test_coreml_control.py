"""Control flow and lists of ML programs: the results of torch and numpy, and blocks that do not fit."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.frontend.coreml.read import read_coreml
from tests.unit.frontend.damaged import try_damaged
from tests.unit.frontend.test_coreml import SAMPLES, arrays_of, close, interpreted
from tests.unit.frontend.test_coreml_hostile import field, refused

CONTROL = zipfile.ZipFile(SAMPLES / "control.zip")
PROGRAMS = [name.removesuffix(".npz") for name in CONTROL.namelist() if name.endswith(".npz")]


def extracted(name: str, folder: Path) -> Path:
    """The package of a run: `lists.mlpackage` of `lists-1`."""
    package = f"{name.partition('-')[0]}.mlpackage"
    CONTROL.extractall(folder, [each for each in CONTROL.namelist() if each.startswith(f"{package}/")])
    return folder / package


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_was_expected_of_it(name: str, tmp_path: Path) -> None:
    data = CONTROL.read(f"{name}.npz")
    found = interpreted(extracted(name, tmp_path), arrays_of(io.BytesIO(data), "in"))
    wanted = arrays_of(io.BytesIO(data), "out")
    assert all(close(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_compiled(name: str, tmp_path: Path) -> None:
    data = CONTROL.read(f"{name}.npz")
    made = stepwell.compile(extracted(name, tmp_path))(*arrays_of(io.BytesIO(data), "in"))
    found = [np.asarray(each) for each in (made if isinstance(made, tuple | list) else [made])]
    assert all(close(a, b) for a, b in zip(found, arrays_of(io.BytesIO(data), "out"), strict=True))


@pytest.mark.parametrize(
    "shard", [pytest.param(i, marks=[] if i == 0 else pytest.mark.slow) for i in range(4)]
)
def test_damaged_programs_are_models_or_errors(shard: int, tmp_path: Path) -> None:
    path = extracted("lists" if shard % 2 else "script", tmp_path)
    program = path / "Data" / "com.apple.CoreML" / "model.mlmodel"
    try_damaged(read_coreml, "coreml", path, [program], 20, shard)


@pytest.mark.parametrize(
    ("kind", "blocks", "message"),
    [
        (b"cond", 1, r"cond must have blocks from 0 to 0 values and from 0 to 0 values, found [(0, 0)]"),
        (b"while_loop", 2, r"while_loop must have blocks from 0 to 1 values and from 0 to 0 values"),
    ],
)
def test_blocks_that_do_not_fit(kind: bytes, blocks: int, message: str, tmp_path: Path) -> None:
    operation = field(1, kind) + field(4, b"") * blocks
    block = field(1, b"o") + field(2, field(3, operation))
    function = field(2, b"o") + field(3, block)
    path = tmp_path / "m.mlmodel"
    path.write_bytes(field(502, field(2, field(1, b"main") + field(2, function))))
    assert message in refused(path).message
