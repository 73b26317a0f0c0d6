"""Tokens of files, and addresses that are refused without protection."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.server.protection import LOOPBACK_HOSTS, expect_protected, read_token


def test_a_token_is_read_without_the_line_end(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("a" * 16 + "\n")
    assert read_token(path) == "a" * 16


@pytest.mark.parametrize("text", ["", "a" * 15, "a" * 4097, "ä" * 20, "a" * 20 + "\x00"])
def test_what_is_no_token(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(StepwellError, match=r"error\[bad-token\]"):
        read_token(path)
    with pytest.raises(StepwellError, match=r"error\[no-file\]"):
        read_token(tmp_path / "other")


@pytest.mark.parametrize(
    ("has_token", "has_tls", "missing"),
    [(False, False, "a token"), (False, True, "a token"), (True, False, "TLS")],
)
def test_others_reach_what_is_protected_only(has_token: bool, has_tls: bool, missing: str) -> None:
    with pytest.raises(StepwellError, match=rf"insecure-address.*has not {missing}"):
        expect_protected("0.0.0.0", has_token=has_token, has_tls=has_tls, tls_help="--tls")
    expect_protected("0.0.0.0", has_token=True, has_tls=True, tls_help="--tls")
    for host in LOOPBACK_HOSTS:
        expect_protected(host, has_token=has_token, has_tls=has_tls, tls_help="--tls")
