"""`stepwell calibrate`: the order of register tiles is measured, kept, used, and part of every key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter

import pytest

from stepwell.dialects.tensor_ir.register_file import RegisterFile
from stepwell.lowering.kernels.fingerprint import kernel_key
from stepwell.passes.tensor.schedule.register_tile import choose_register_tile
from stepwell.runtime import rpc
from stepwell.runtime.machine import tile_rates
from stepwell.runtime.machine.target import TargetDescription, host_target
from stepwell.runtime.machine.tile_shares import (
    CalibrationWarning,
    keep_shares,
    shares_file,
    with_kept_shares,
)
from stepwell.tools import cli
from stepwell.tools.driver.kept_models import kept_model
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.measure import tile_order

SHARES = (("f32 long", ((4, 2, 1.0), (6, 2, 0.5), (5, 2, 0.0))),)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))


def test_a_measured_order_decides_and_a_spilling_tile_is_none() -> None:
    rules = RegisterFile(16, 8, 32)
    assert choose_register_tile(120, 1, 16, 1024, rules).rows == 6
    measured = replace(rules, shares={"long": {(6, 2): 0.5, (4, 2): 1.0, (5, 2): 0.0}})
    assert choose_register_tile(120, 1, 16, 1024, measured).rows == 4
    assert choose_register_tile(5, 1, 16, 1024, measured).rows != 5
    # Sums whose panel stays in the level-1 cache are another class, of which nothing is known here.
    assert choose_register_tile(120, 1, 16, 64, measured).rows == 6


def test_what_was_measured_is_kept_for_its_target_only() -> None:
    host = host_target()
    assert with_kept_shares(host) == host
    keep_shares(host, SHARES)
    kept = with_kept_shares(host)
    assert kept.tile_shares == SHARES and with_kept_shares(kept) == kept
    assert TargetDescription.from_json(kept.to_json()) == kept
    other = replace(host, features=host.features[1:])
    assert with_kept_shares(other) == other


def test_another_order_is_another_kernel_and_another_model(tmp_path: Path) -> None:
    host = host_target()
    (tmp_path / "m.onnx").write_bytes(b"a model")
    before = kept_model(tmp_path / "m.onnx", CompileOptions())
    keep_shares(host, SHARES)
    after = kept_model(tmp_path / "m.onnx", CompileOptions())
    assert before is not None and after is not None and before.key != after.key
    options = [str(sorted(target.to_json().items())) for target in (host, with_kept_shares(host))]
    assert kernel_key("kernel", options[0]) != kernel_key("kernel", options[1])


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"tiles": {"f32 long": [[4, 2]]}}', '{"tiles": {"a": [[0, 1, 1]]}}']
)
def test_a_damaged_file_is_named_and_not_used(text: str) -> None:
    host = host_target()
    shares_file(host).write_text(text)
    with pytest.warns(CalibrationWarning, match=shares_file(host).name):
        assert with_kept_shares(host) == host


def test_tiles_are_measured_and_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With three tiles and one short round: only that it measures something of the right kind."""
    monkeypatch.setattr(tile_rates, "_ROUND_SECONDS", 1e-5)
    monkeypatch.setattr(tile_order, "measured_tiles", lambda _: [(2, 2), (4, 1), (4, 2)])
    host = host_target()
    shares = tile_order.measure_tiles(host, perf_counter() + 5)
    assert shares, "some kind of sums has been measured"
    for _, rows in shares:
        assert {(m, v) for m, v, _ in rows} == {(2, 2), (4, 1), (4, 2)}
        assert [share for _, _, share in rows] == sorted((share for _, _, share in rows), reverse=True)
        assert rows[0][2] == 1
    keep_shares(host, shares)
    assert cli.main(["calibrate", "--show"]) == 0
    assert shares[0][0] in capsys.readouterr().out


def test_a_tile_that_spills_is_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_rates, "_ROUND_SECONDS", 1e-5)
    monkeypatch.setattr(tile_order, "measured_tiles", lambda _: [(4, 2), (14, 14)])
    shares = dict(tile_order.measure_tiles(host_target(), perf_counter() + 5))
    assert all(rows[-1] == (14, 14, 0.0) for rows in shares.values())


def test_tiles_of_a_machine_are_measured_there_and_kept_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a process of this machine, as `--on` does on another one."""
    monkeypatch.setattr(tile_order, "measured_tiles", lambda _: [(2, 2), (4, 1), (14, 14)])
    monkeypatch.setattr(rpc, "connect", lambda url: rpc.local())
    assert cli.main(["calibrate", "--on", "rpc://a:1"]) == 0
    assert "register tiles" in capsys.readouterr().out
    with rpc.local() as session:
        target = session.target()
    shares = with_kept_shares(CompileOptions(target=str(target)).description()).tile_shares
    assert shares and all({row[:2] for row in rows} == {(2, 2), (4, 1), (14, 14)} for _, rows in shares)
    assert all(rows[0][2] == 1 and rows[-1] == (14, 14, 0.0) for _, rows in shares)
    assert cli.main(["calibrate", "--on", "rpc://a:1", "--show"]) == 1
    assert "bad-option" in capsys.readouterr().err
