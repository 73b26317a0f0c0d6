"""Calibration files and plans: written, read again, and refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stepwell.dialects.quantization.plan import PlanEntry, read_plan, write_plan
from stepwell.dialects.quantization.ranges import Statistics
from stepwell.dialects.quantization.table import CalibrationTable, read_table
from stepwell.runtime.errors import StepwellError


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    statistics = {'a "1":0': Statistics(-1.5, 2.25, 0.1, (1, 0, 7)), "b:0": Statistics(0.0, 1e-30)}
    table = CalibrationTable(statistics, "abc", 3)
    table.write(tmp_path / "c.json")
    assert read_table(tmp_path / "c.json") == table


_HEAD = {"format": "stepwell-calibration", "version": 1}


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ([], "expected an object"),
        ({}, '"format" must be'),
        (_HEAD | {"version": 2}, '"version" 1'),
        (_HEAD, "expected an object"),
        (_HEAD | {"values": {"a": {"min": 1}}}, "expected a number"),
        (_HEAD | {"values": {"a": {"min": 2, "max": 1}}}, "above the maximum"),
        (_HEAD | {"values": {"a": {"min": float("nan"), "max": 1}}}, "expected a finite number"),
        (_HEAD | {"values": {"a": {"min": 0, "max": True}}}, "expected a number"),
        (_HEAD | {"values": {"a": {"min": 0, "max": 1, "counts": [-1]}}}, "negative"),
        (_HEAD | {"values": {"a": {"min": 0, "max": 1, "counts": [0] * 70_000}}}, "more than 65536"),
        (_HEAD | {"values": {}, "samples": -1}, "expected a size"),
    ],
)
def test_hostile_tables(about: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(about))
    with pytest.raises(StepwellError, match=message) as caught:
        read_table(path)
    assert caught.value.code == "bad-data"


@pytest.mark.parametrize("text", ["", "[" * 100_000, "\x80", '{"format"'])
def test_what_is_no_json(text: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(text.encode("latin-1"))
    for read in (read_table, read_plan):
        with pytest.raises(StepwellError) as caught:
            read(path)
        assert caught.value.code == "bad-data"
        with pytest.raises(StepwellError) as caught:
            read(tmp_path / "none.json")
        assert caught.value.code == "no-file"


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    entries = [
        PlanEntry("a", "0", "activation", "u8", [0.5], [3]),
        PlanEntry("a", "1", "weight", "u4", [0.5, 0.25], [3, 15], 0, 32, "matmulnbits"),
    ]
    write_plan(tmp_path / "p.json", entries)
    assert read_plan(tmp_path / "p.json") == entries


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"to": "u9"}, "no type 'u9'"),
        ({"operand": "x"}, "a number or `result`"),
        ({"scale": [float("inf")]}, "a finite number"),
        ({"zero_point": [256]}, "from 0 to 255"),
        ({"axis": -1}, "expected a size"),
        ({"node": 3}, "expected a text"),
    ],
)
def test_hostile_plans(change: dict[str, object], message: str, tmp_path: Path) -> None:
    entry = {"node": "a", "operand": "0", "to": "u8", "scale": [0.5]} | change
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"format": "stepwell-quantization-plan", "version": 1, "entries": [entry]}))
    with pytest.raises(StepwellError, match=message) as caught:
        read_plan(path)
    assert caught.value.code == "bad-data"


def test_scales_that_do_not_fit() -> None:
    entry = PlanEntry("a", "1", "weight", "s8", [0.5, 0.5], (), 1)
    assert entry.scales((3, 2)).shape == (2,)
    for shape, wanted in (((2, 3), "3 scales"), ((2,), "axis 1 is none")):
        with pytest.raises(StepwellError, match=wanted):
            entry.scales(shape)
    assert entry.spread(np.array([1, 2]), (3, 2)).shape == (1, 2)
