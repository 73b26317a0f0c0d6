"""The golden data of the explorer have the keys that this version collects, and make one page."""

from __future__ import annotations

import json
from typing import Any

from stepwell.tools.explore.page_file import explorer_page
from tests.explore.golden import GOLDEN, form, golden_data


def test_the_golden_data_have_the_keys_of_this_version():
    found, golden = golden_data(), json.loads(GOLDEN.read_text())
    assert form(found) == form(golden), "the keys have changed: run python -m tests.explore.golden"
    assert [kernel["rule"] for kernel in found["kernels"]] == [kernel["rule"] for kernel in golden["kernels"]]


def test_forms_differ_where_keys_or_kinds_do():
    data: Any = {"a": [{"b": 1}, {"b": "x", "c": None}]}
    assert form(data) == form({"a": [{"b": "y", "c": None}, {"b": 2.5}, {"b": 3}]})
    assert form(data) != form({"a": [{"b": 1}]})
    assert form(data) != form({"a": [{"b": 1}, {"b": "x", "c": 0}]})


def test_the_page_of_the_golden_data_does_not_depend_on_the_process():
    data = json.loads(GOLDEN.read_text())
    before = json.dumps(data)
    assert explorer_page(data) == explorer_page(json.loads(before))
    assert json.dumps(data) == before, "making a page changes no data"
