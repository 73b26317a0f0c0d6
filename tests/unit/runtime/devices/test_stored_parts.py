"""Device parts in artifacts: sections of their own, mapped, and refused where they do not fit."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell.runtime.devices.moved import device_parts
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import image_bytes, image_of_bytes, load_image, save
from stepwell.runtime.files.container import Section, read_sections, write_sections
from stepwell.runtime.host import DEVICE, Callee
from stepwell.runtime.image import Entry, ModelImage
from stepwell.runtime.interface import Interface

EMPTY = DevicePart("p", "cuda", "cuda", (), (), {}, None, Dim.of(0), (), {"ptx": b"text"}, b"")
WEIGHTS = np.random.default_rng(0).bytes(3 * 4096 + 5)
CODES = [replace(EMPTY, weights=WEIGHTS).to_bytes(), b"of a backend", replace(EMPTY, name="q").to_bytes()]


def image() -> ModelImage:
    """An image with two device parts, and a function of a backend between them."""
    kinds = (DEVICE, "mine", DEVICE)
    callees = tuple(Callee(kind, "f", code, (), (), "n") for kind, code in zip(kinds, CODES, strict=True))
    return ModelImage({"main": Entry(Interface((), (), (), Dim.of(0)), callees=callees)}, ())


def sections_of(image: ModelImage) -> dict[str, bytes]:
    found = read_sections(np.frombuffer(image_bytes(image), np.uint8), lambda name: True)
    return {name: view.tobytes() for name, view in found.items()}


def written(sections: dict[str, bytes], change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """An artifact of sections, after a change of the descriptions of callees."""
    described = json.loads(sections["model"])
    change(described["functions"]["main"]["callees"])
    sections = {**sections, "model": json.dumps(described).encode()}
    write_sections([Section(name, [data]) for name, data in sections.items()], buffer := BytesIO())
    return buffer.getvalue()


def test_parts_are_views_of_the_file(tmp_path: Path) -> None:
    save(image(), path := tmp_path / "m.stepwell")
    found = load_image(path)
    codes = [callee.code for callee in found.main.callees]
    assert codes == CODES and [type(code) for code in codes] == [memoryview, bytes, memoryview]
    first, second = device_parts(found)
    assert first.weights == WEIGHTS and second.name == "q"
    mapped = np.frombuffer(codes[0], np.uint8)
    assert np.shares_memory(np.frombuffer(first.weights, np.uint8), mapped)
    assert image_bytes(found) == path.read_bytes()


def test_parts_between_other_callees_are_read_from_older_files() -> None:
    sections = sections_of(image())
    parts = [sections.pop(f"part.{number}") for number in (0, 1)]
    sections["callees"] = parts[0] + sections["callees"] + parts[1]
    older = {name: sections[name] for name in ("model", "callees", "weights")}
    found = image_of_bytes(written(older, lambda callees: [each.pop("part", None) for each in callees]), "m")
    assert [callee.code for callee in found.main.callees] == CODES


def test_a_change_of_any_byte_of_a_part_is_found() -> None:
    good = image_bytes(image())
    start = good.index(CODES[0])
    for position in range(start, start + len(CODES[0]), 97):
        damaged = good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :]
        with pytest.raises(StepwellError, match=r"the checksum of section 'part.0' is wrong"):
            image_of_bytes(damaged, "m")


@pytest.mark.parametrize(
    "change",
    [
        lambda callees: callees[0].__setitem__("part", 1),
        lambda callees: callees[0].__setitem__("part", 2),
        lambda callees: callees[0].__setitem__("part", -1),
        lambda callees: callees[0].__setitem__("part", "0"),
        lambda callees: callees[0].__setitem__("bytes", len(CODES[0]) - 1),
        lambda callees: callees[0].__setitem__("kind", "mine"),
        lambda callees: callees[0].pop("part"),
        lambda callees: callees[1].__setitem__("part", 0),
        lambda callees: callees[1].__setitem__("bytes", 11),
        lambda callees: callees.pop(),
    ],
)
def test_descriptions_that_do_not_fit(change: Callable[[list[dict[str, Any]]], object]) -> None:
    with pytest.raises(StepwellError, match="no whole Stepwell artifact") as caught:
        image_of_bytes(written(sections_of(image()), change), "m")
    assert caught.value.code == "bad-artifact"
