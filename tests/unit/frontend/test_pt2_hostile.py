"""`.pt2` files that lie: an error or the right answer, nothing is run, nothing is written, little memory."""

from __future__ import annotations

import io
import json
import pickle
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.torch.pt2 import read_pt2
from tests.support.imports import ROOT

SAMPLES = ROOT / "tests" / "models" / "torch"
CODES = set("invalid-model unsupported unsafe-file undefined-value too-large bad-shape no-file".split())

Members = dict[str, bytes]


def members_of(name: str) -> Members:
    with zipfile.ZipFile(SAMPLES / f"{name}.pt2") as archive:
        return {each: archive.read(each) for each in archive.namelist()}


def written(path: Path, members: Members, compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def edited(name: str, member: str, edit: Callable[[Any], object]) -> Members:
    """The members of a sample with one of JSON changed; `edit` changes it in place, or returns another."""
    members = members_of(name)
    (path,) = [each for each in members if each.endswith(member)]
    data = json.loads(members[path])
    changed = edit(data)
    members[path] = json.dumps(data if changed is None else changed).encode()
    return members


def refused(path: Path) -> stepwell.StepwellError:
    with pytest.raises(stepwell.StepwellError) as caught:
        read_pt2(path, StepwellContext())
    assert caught.value.code in CODES
    return caught.value


class Opens:
    """An object whose unpickling writes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.path), "w")


def test_a_pickle_among_example_inputs_is_not_opened(tmp_path: Path) -> None:
    members = members_of("mlp")
    trap = tmp_path / "trap"
    (inputs,) = [name for name in members if "sample_inputs" in name]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Opens(trap)))
    members[inputs] = stream.getvalue()
    model = stepwell.compile(written(tmp_path / "m.pt2", members))
    assert model(np.zeros([2, 6], np.float32))[0].shape == (2, 6)
    assert not trap.exists()


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    def edit(config: Any) -> None:
        config["config"]["first.weight"]["use_pickle"] = True

    trap = tmp_path / "trap"
    members = edited("mlp", "model_weights_config.json", edit)
    for name in members:
        if name.endswith("weight_0"):
            members[name] = pickle.dumps(Opens(trap))
    error = refused(written(tmp_path / "m.pt2", members))
    assert error.code == "unsafe-file" and "first.weight" in error.message
    assert not trap.exists()


def test_compressed_members_are_refused(tmp_path: Path) -> None:
    members = {name: data.ljust(1 << 22, b" ") for name, data in members_of("mlp").items() if "json" in name}
    error = refused(written(tmp_path / "bomb.pt2", members, zipfile.ZIP_DEFLATED))
    assert "compressed" in error.message


def test_a_member_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(144))

    def edit(config: Any) -> None:
        config["config"]["first.weight"]["path_name"] = "../../../secret"

    error = refused(written(tmp_path / "m.pt2", edited("mlp", "model_weights_config.json", edit)))
    assert "no member" in error.message


def _meta(**changes: object) -> Callable[[Any], None]:
    def edit(config: Any) -> None:
        config["config"]["first.weight"]["tensor_meta"] |= changes

    return edit


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": [{"as_int": 1 << 20}, {"as_int": 6}]}, "elements of float32 are not in 144 bytes"),
        ({"sizes": [{"as_int": 1 << 62}, {"as_int": 1 << 62}]}, "cannot be read"),
        ({"sizes": [{"as_int": -1}, {"as_int": 6}]}, "sizes and strides do not fit"),
        ({"strides": [{"as_int": 6}]}, "sizes and strides do not fit"),
        ({"strides": [{"as_int": 1 << 60}, {"as_int": 1}]}, "are not in 144 bytes"),
        ({"storage_offset": {"as_int": 1}}, "are not in 144 bytes"),
        ({"dtype": 99}, "element type 99"),
        ({"layout": 1}, "in layout 1"),
        ({"sizes": "x"}, "sizes must be a list, found str"),
        ({"sizes": [{"as_int": 1 << 70}, {"as_int": 1}]}, "as_int must be a 64-bit integer"),
    ],
)
def test_impossible_weights_are_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    members = edited("mlp", "model_weights_config.json", _meta(**changes))
    assert message in refused(written(tmp_path / "m.pt2", members)).message


def _graph(edit: Callable[[Any], object]) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        edit(model["graph_module"]["graph"])

    return change


def _first_input(graph: Any, name: str) -> None:
    graph["nodes"][0]["inputs"][0]["arg"] = {"as_tensor": {"name": name}}


@pytest.mark.parametrize(
    ("edit", "code", "message"),
    [
        (lambda m: m["schema_version"].update(major=99), "unsupported", "version 99 of torch's schema"),
        (lambda m: [m], "invalid-model", "is no object of JSON"),
        (lambda m: {}, "invalid-model", "schema_version must be an object, found nothing"),
        (_graph(lambda g: g["nodes"][0].update(target=7)), "invalid-model", "target must be text"),
        (_graph(lambda g: _first_input(g, "none")), "undefined-value", "nothing defines the value 'none'"),
        (_graph(lambda g: g["nodes"].reverse()), "undefined-value", "nothing defines"),
        (_graph(lambda g: g["tensor_values"].clear()), "invalid-model", "must be an object, found nothing"),
        (
            _graph(lambda g: g["nodes"][0]["inputs"][0].update(name="other")),
            "invalid-model",
            "has no argument `other`",
        ),
        (
            _graph(lambda g: g["nodes"][0]["inputs"][0].update(arg={"as_graph": {}})),
            "unsupported",
            "arguments of kind as_graph",
        ),
    ],
)
def test_a_damaged_program_is_refused(
    tmp_path: Path, edit: Callable[[Any], object], code: str, message: str
) -> None:
    error = refused(written(tmp_path / "m.pt2", edited("mlp", "models/model.json", edit)))
    assert (error.code, message in error.message) == (code, True), error.render()


def test_deep_json_is_refused(tmp_path: Path) -> None:
    members = members_of("mlp")
    (model,) = [name for name in members if name.endswith("models/model.json")]
    members[model] = b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    assert "is no JSON" in refused(written(tmp_path / "m.pt2", members)).message


def test_an_archive_without_a_program_is_refused(tmp_path: Path) -> None:
    members = {name: data for name, data in members_of("mlp").items() if "models/" not in name}
    assert "expected one program" in refused(written(tmp_path / "m.pt2", members)).message
    (tmp_path / "text.pt2").write_text("no archive at all")
    assert "no archive" in refused(tmp_path / "text.pt2").message
    (tmp_path / "empty.pt2").write_bytes(b"")
    refused(tmp_path / "empty.pt2")
    assert refused(tmp_path / "missing.pt2").code == "no-file"


def test_files_cut_off_are_refused(tmp_path: Path) -> None:
    data = (SAMPLES / "mlp.pt2").read_bytes()
    for size in range(0, len(data), len(data) // 12):
        (tmp_path / "cut.pt2").write_bytes(data[:size])
        refused(tmp_path / "cut.pt2")


@pytest.mark.parametrize(
    "seed", [pytest.param(i, marks=[] if i < 4 else pytest.mark.slow) for i in range(42)]
)
def test_damaged_bytes_give_an_error_or_a_module(tmp_path: Path, seed: int) -> None:
    numbers = random.Random(seed)
    data = (SAMPLES / "cnn.pt2").read_bytes()
    for _ in range(12):
        damaged = bytearray(data)
        for _ in range(numbers.choice((1, 4, 32))):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        (tmp_path / "damaged.pt2").write_bytes(damaged)
        try:
            read_pt2(tmp_path / "damaged.pt2", StepwellContext())
        except stepwell.StepwellError as error:
            assert error.code in CODES, error.render()
