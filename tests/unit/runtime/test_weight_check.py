"""Checksums of an artifact's weights: the damage that they find, before any use of the weights."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files import weight_check
from stepwell.runtime.files.weight_check import WeightCheck, checksum

RNG = np.random.default_rng(0)
LARGE = [RNG.integers(0, 256, size, np.uint8) for size in (3 << 20, 1 << 20, 100_003, 0, 1)]
SMALL = [RNG.standard_normal((7, 3)).astype(np.float32), np.empty((0, 4), np.int8)]


@pytest.mark.parametrize("size", [1, 7, 8, 4095, 4096, 4097, 12345])
def test_each_byte_counts(size: int) -> None:
    data = RNG.integers(0, 256, size, np.uint8)
    before = checksum(data)
    for at in {0, size // 2, size - 1}:
        for bit in (1, 128):
            damaged = data.copy()
            damaged[at] ^= bit
            assert checksum(damaged) != before


def test_pages_that_are_exchanged_or_empty_are_found() -> None:
    data = RNG.integers(0, 256, 5 * 4096 + 100, np.uint8)
    before = checksum(data)
    exchanged, empty, repeated = data.copy(), data.copy(), data.copy()
    exchanged[:4096], exchanged[8192:12288] = data[8192:12288], data[:4096]
    empty[4096:8192] = 0
    repeated[4096:8192] = data[:4096]
    assert before not in {checksum(exchanged), checksum(empty), checksum(repeated)}


def test_zeros_that_are_cut_off_are_found() -> None:
    assert len({checksum(np.zeros(size, np.uint8)) for size in (0, 1, 8, 4096, 8192)}) == 5


def test_the_sum_is_of_bytes_whatever_their_type() -> None:
    values = RNG.standard_normal((64, 33)).astype(np.float32)
    assert checksum(values) == checksum(values.view(np.uint8)) == checksum(np.asfortranarray(values))


def test_whole_weights_pass() -> None:
    for arrays in (LARGE, SMALL, []):
        check = WeightCheck(arrays, [checksum(array) for array in arrays], "m.stepwell")
        check.wait()
        check.wait()
        assert "stepwell-weights" not in [thread.name for thread in threading.enumerate()]


def test_damage_in_small_weights_is_found_at_once() -> None:
    with pytest.raises(StepwellError, match="bad-artifact.*weight 1"):
        WeightCheck(SMALL, [checksum(SMALL[0]), 1], "m.stepwell")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("wrong", [[0], [2], [4], [4, 1]])
def test_damage_in_large_weights_is_found_by_every_use(
    wrong: list[int], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_check, "_BYTES_A_THREAD", (8 << 20) // threads)
    sums = [checksum(array) + (index in wrong) for index, array in enumerate(LARGE)]
    check = WeightCheck(LARGE, sums, "m.stepwell")
    for _ in range(2):
        with pytest.raises(StepwellError, match=f"bad-artifact.*weight {min(wrong)} is wrong") as caught:
            check.wait()
        assert caught.value.where == "m.stepwell"


def test_uses_on_several_threads_wait_all() -> None:
    gate = threading.Event()
    failures: list[str] = []

    class Slow(WeightCheck):
        def _check(self, share: object) -> None:
            gate.wait()
            self._damaged.append(3)

    check = Slow(LARGE, [0] * len(LARGE), "m.stepwell")

    def use() -> None:
        try:
            check.wait()
        except StepwellError as error:
            failures.append(error.code)

    users = [threading.Thread(target=use) for _ in range(4)]
    for user in users:
        user.start()
    assert not failures
    gate.set()
    for user in users:
        user.join()
    assert failures == ["bad-artifact"] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("damage", [0, 1])
def test_the_child_of_a_fork_checks_by_itself(damage: int) -> None:
    check = WeightCheck(LARGE, [checksum(array) + damage for array in LARGE], "m.stepwell")
    child = os.fork()
    if child == 0:
        try:
            check.wait()
        except StepwellError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 * damage


def test_shares_are_of_about_equal_size() -> None:
    sizes = [10, 1, 7, 3, 9, 2, 0]
    shares = weight_check._shares(sizes, 2)  # pyright: ignore[reportPrivateUsage]
    assert sorted(index for share in shares for index in share) == list(range(len(sizes)))
    assert [sum(sizes[i] for i in share) for share in shares] == [16, 16]
