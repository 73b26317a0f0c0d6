"""A package that is missing skips the tests that want it, and is listed."""

from __future__ import annotations

import sys

import pytest

from tests.support import components
from tests.support.components import needs


def test_a_missing_package_is_skipped_and_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "MISSING", set[str]())
    assert needs("sys") is sys
    with pytest.raises(pytest.skip.Exception, match="no_such_package is not installed"):
        needs("no_such_package")
    assert {"no_such_package"} == components.MISSING
