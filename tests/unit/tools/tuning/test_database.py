"""Databases of tuning: lines that are torn, hostile or of another version cost themselves alone."""

from __future__ import annotations

import errno
import json
import os
import resource
import sys
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.tools.records.database import (
    Database,
    TuningWarning,
    best_of,
    live_trials,
    merged,
    parsed,
    pruned,
)
from stepwell.tools.records.record import MAX_LINE_BYTES, TaskRecord, Trial, record_of

TRIAL = Trial(
    "9f" * 16, "c1", "a machine", 1, "{tiles = []}", "ok", ratio=(1.2, 1.1, 1.3), us=10.0, base_us=12.0,
    rounds=21, confirmed=True, number=3, stepwell="0.1.0+src.5e",
)  # fmt: skip


def written(folder: Path, *lines: bytes) -> Path:
    path = folder / "t.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    database = Database(tmp_path / "t.jsonl")
    task = TaskRecord(TRIAL.task, "func.func …", 12, 34, "fc1", {"later": [1]})
    database.append([task, TRIAL])
    content = database.read()
    assert content.tasks == {task.task: task} and content.trials == [TRIAL]
    assert not content.bad and not content.unknown and not content.torn


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"null", "expected an object"),
        (b'{"v":1,"kind":"trial"', "Expecting"),
        (b'{"v":1,"kind":"trial","task":"a","script":"b","status":"best"}', "the status is one of"),
        (b'{"v":1,"kind":"trial","task":"a","script":"b","status":"ok","ratio":[1,2]}', "list of 3"),
        (b'{"v":1,"kind":"trial","task":"a","script":"b","status":"ok","ratio":[5,9,0.9]}', "ratio is"),
        (b'{"v":1,"kind":"trial","task":"a","script":"b","status":"ok","ratio":[1,1,NaN]}', "number"),
        (b'{"v":1,"kind":"task","task":4}', "text"),
        (b'{"v":1,"kind":"task","task":"' + b"a" * MAX_LINE_BYTES + b'"}', "at most"),
        (b"[" * 50_000, "nested too deeply"),
        (b'{"v":1,\xff}', "UTF-8"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(tmp_path: Path, line: bytes, reason: str) -> None:
    path = written(tmp_path, TRIAL.line(), line + b"\n", TRIAL.line())
    content = parsed(path, path.read_bytes())
    assert len(content.trials) == 2
    assert len(content.bad) == 1 and content.bad[0].startswith(f"{path}:2: ") and reason in content.bad[0]


def test_other_versions_and_torn_lines_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"v":99}\n', b'{"v":1,"kind":"other"}\n', TRIAL.line(), TRIAL.line()[:-9])
    with pytest.warns(TuningWarning, match="torn.*2 lines of another version"):
        content = Database(path).read()
    assert content.unknown == 2 and content.torn and content.trials == [TRIAL]


def test_appending_removes_a_torn_line(tmp_path: Path) -> None:
    path = written(tmp_path, TRIAL.line(), TRIAL.line()[:-9])
    Database(path).append([replace(TRIAL, number=4)])
    assert [trial.number for trial in Database(path).read().trials] == [3, 4]


def test_a_file_that_cannot_be_written_is_an_error_before_any_work(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "t.jsonl", tmp_path):
        with pytest.raises(StepwellError) as refused:
            Database(path).check_writable()
        assert refused.value.code == "cannot-write" and refused.value.help is not None


@pytest.mark.skipif(sys.platform != "linux", reason="devices and files of Linux")
def test_files_that_only_open_are_refused_before_any_work(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/full"), Path("/dev/null"), tmp_path / "pipe"):
        with pytest.raises(StepwellError, match="it is no regular file") as refused:
            Database(path).check_writable()
        assert refused.value.code == "cannot-write"
    if os.access("/proc/version", os.W_OK):  # root opens it, and no write succeeds
        with pytest.raises(StepwellError, match="records cannot be appended"):
            Database("/proc/version").check_writable()


def test_a_read_only_file_system_is_an_error_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **keywords: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StepwellError, match="Read-only file system"):
        Database(tmp_path / "t.jsonl").check_writable()


def test_a_check_changes_no_record(tmp_path: Path) -> None:
    torn = TRIAL.line() + b'{"v":1'  # which reading says
    path = written(tmp_path, torn)
    Database(path).check_writable()
    assert path.read_bytes() == torn


def test_a_full_disk_is_an_error_before_any_work(tmp_path: Path) -> None:
    path = written(tmp_path, TRIAL.line())
    assert _in_child(_check_beyond_a_limit, path) == 0
    assert path.read_bytes() == TRIAL.line()


def _check_beyond_a_limit(path: Path) -> None:
    _limit_files(len(TRIAL.line()) + 40)
    try:
        Database(path).check_writable()
    except StepwellError as error:
        os._exit(0 if error.code == "cannot-write" else 3)
    os._exit(4)


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    """A limit of the file's size is what a full disk is: a write that ends in the middle."""
    path = written(tmp_path, TRIAL.line())
    status = _in_child(_append_beyond_a_limit, path)
    assert status == 0 and path.read_bytes() == TRIAL.line()


def _limit_files(limit: int) -> None:
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.dont_write_bytecode = True  # Python would leave half a file of it behind
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def _append_beyond_a_limit(path: Path) -> None:
    _limit_files(len(TRIAL.line()) + 40)
    try:
        Database(path).append([TRIAL])
    except StepwellError as error:
        os._exit(0 if error.code == "cannot-write" else 3)
    os._exit(4)


def _in_child(work: object, path: Path) -> int:
    process = get_context("fork").Process(target=work, args=(path,))  # pyright: ignore[reportArgumentType]
    process.start()
    process.join()
    return process.exitcode or 0


def _append_many(path: Path) -> None:
    for number in range(100):
        Database(path).append([replace(TRIAL, number=number)])


def test_two_tuners_lose_no_line(tmp_path: Path) -> None:
    path, context = tmp_path / "t.jsonl", get_context("fork")
    tuners = [context.Process(target=_append_many, args=(path,)) for _ in range(2)]
    for tuner in tuners:
        tuner.start()
    for tuner in tuners:
        tuner.join()
    assert sorted(trial.number for trial in Database(path).read().trials) == sorted([*range(100)] * 2)


def test_the_order_of_merged_files_changes_nothing(tmp_path: Path) -> None:
    contents = [
        parsed(
            tmp_path,
            b"".join(replace(TRIAL, script=script, ratio=(1.5, low, 2.0)).line() for script, low in rows),
        )
        for rows in ([("a", 1.1), ("b", 1.4)], [("b", 1.4), ("c", 1.3)], [("d", 1.0)])
    ]
    a, b, c = contents
    assert merged([a, b]) == merged([b, a])
    both = parsed(tmp_path, b"".join(record.line() for record in merged([a, b])))
    assert merged([both, c]) == merged([a, c, b])
    best = best_of(both.trials)
    assert best is not None and best.script == "b"
    assert [record for record in pruned(both) if isinstance(record, Trial)] == [best]


def test_a_later_record_of_a_schedule_replaces_the_earlier_one() -> None:
    stale = replace(TRIAL, status="stale", confirmed=False)
    assert live_trials([TRIAL, stale]) == [stale] and best_of(live_trials([TRIAL, stale])) is None


@pytest.mark.parametrize("ratio", [(5.0, 0.9, 9.0), (1.05, 1.02, 1.1)])
def test_a_gain_that_may_be_noise_is_none(ratio: tuple[float, float, float]) -> None:
    assert not replace(TRIAL, ratio=ratio).is_gain and TRIAL.is_gain
    assert not replace(TRIAL, confirmed=False).is_gain


def test_unknown_keys_stay_in_the_line() -> None:
    row = json.loads(TRIAL.line()) | {"later": {"x": 1}}
    record = record_of(json.dumps(row).encode())
    assert json.loads(record.line()) == row
