"""The bounds of a fuzz case: its own peak of memory counts, after a case that took more as well."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

from stepwell.runtime.errors import StepwellError
from tests.fuzz.mutate import bounded

MEBIBYTE = 1 << 20


def _take(mebibytes: int) -> None:
    np.ones(mebibytes * MEBIBYTE, np.uint8)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is reset on Linux alone")
def test_the_peak_of_each_case_counts() -> None:
    for mebibytes, status in ((128, "wrong"), (96, "wrong"), (8, "native")):
        assert bounded(partial(_take, mebibytes), limit_bytes=64 * MEBIBYTE)[0] == status


def test_an_error_that_takes_too_much_is_no_good_end() -> None:
    def refused() -> None:
        _take(96)
        raise StepwellError("invalid-model", None, "no model")

    assert bounded(refused, limit_bytes=64 * MEBIBYTE)[0] == "wrong"
    assert bounded(refused) == ("error", "invalid-model")
