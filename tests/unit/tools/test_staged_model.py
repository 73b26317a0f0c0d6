"""Models of `start="now"`: two stages, exchanged between calls, and all that may happen to the second one."""

from __future__ import annotations

import copy
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools import cli
from stepwell.tools.commands import bench
from stepwell.tools.driver import background, kept_models, staged_model
from stepwell.tools.driver.first_stage import FirstStage
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.staged_model import StagedModel
from tests.onnx_models import onnx_model
from tests.support.forks import forked
from tests.support.samples import whole

X = np.arange(8, dtype=np.float32)
TEXT = "g (float[N] x) => (float[N] y) { a = Exp(x) b = Add(a, a) y = Tanh(b) }"


_STARTED: list[CompiledModel] = []


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """An empty cache and an empty folder of temporary files for every test; no process lives longer."""
    for name in ("cache", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield
    while _STARTED:
        _STARTED.pop().close()


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Background processes compile nothing before this function was called."""
    monkeypatch.setattr(background, "PROGRAM", "tests.support.children:held_background")
    return (tmp_path / "cache" / "go").touch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model's file."""
    return written(tmp_path / "m.onnx")


def written(path: Path, text: str = TEXT) -> Path:
    onnx.save(onnx_model(text), path)  # pyright: ignore[reportUnknownMemberType]
    return path


def now(model: Path | bytes, **options: Any) -> StagedModel:
    """A model that is on its first stage."""
    compiled = stepwell.compile(model, start="now", **options)
    _STARTED.append(compiled)
    assert isinstance(compiled, StagedModel) and compiled.stage == "first" and compiled.failure is None
    return compiled


def answer(model: CompiledModel) -> npt.NDArray[np.float32]:
    """The model's output for `X`."""
    return cast("npt.NDArray[np.float32]", model(X))


def processes(folder: Path) -> list[int]:
    """The processes, but this one, whose cache is in a folder."""
    mark, found = f"STEPWELL_CACHE={folder}".encode(), list[int]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and entry.name != str(os.getpid()):
            try:
                environment = (entry / "environ").read_bytes()
                is_dead = ") Z " in (entry / "stat").read_text()
            except OSError:
                continue
            if mark in environment and not is_dead:
                found.append(int(entry.name))
    return found


def started(folder: Path, count: int = 1) -> list[int]:
    """The processes whose cache is in a folder, when they are that many."""
    end = time.monotonic() + 20
    while len(found := processes(folder)) != count:
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


def expect_nothing_left(tmp_path: Path) -> None:
    """Require that no process and no temporary file is left after two seconds."""
    end = time.monotonic() + 2
    while (left := processes(tmp_path)) or list((tmp_path / "tmp").iterdir()):
        assert time.monotonic() < end, (left, list((tmp_path / "tmp").iterdir()))
        time.sleep(0.02)
    assert not [file for file in (tmp_path / "cache").iterdir() if file.name.startswith(".")]


def test_the_code_comes_between_two_calls(
    path: Path, held: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that call the model all the time get whole results, each of one of the stages."""
    model = now(path)
    first = answer(model)
    results: list[Any] = []
    stop = threading.Event()

    def call() -> None:
        while not stop.is_set():
            results.append(answer(model))
            time.sleep(0.005)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        assert not model.wait(0) and not model.wait(timeout=0.01)
        held()
        assert model.wait(60) and model.stage == "full" and model.failure is None
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert type(model) is CompiledModel
    full = answer(model)
    of_first, of_full = (sum(np.array_equal(each, stage) for each in results) for stage in (first, full))
    assert (
        of_first
        and of_full
        and all(np.array_equal(each, first) or np.array_equal(each, full) for each in results)
    )
    np.testing.assert_allclose(first, full, rtol=1e-6)
    assert model.wait() and model.wait(0)
    model.close()
    monkeypatch.setattr(staged_model, "Background", None)  # nothing is compiled any more
    again = stepwell.compile(path, start="now")
    assert type(again) is CompiledModel and again.stage == "full" and again.wait(0) and again.failure is None


def test_the_first_answer_reads_no_digest(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither this process nor a compilation that knows the digest already reads all bytes of the model."""
    monkeypatch.setattr(kept_models, "digest_of", None)
    model = now(path)
    # Our sources may be edited meanwhile: this process takes the code by the key of the one that compiled it.
    monkeypatch.setattr(kept_models, "compiler_fingerprint", lambda folders: "0")
    assert answer(model).shape == (8,) and model.wait(60) and model.stage == "full"


@pytest.mark.parametrize("begin", ["answer", "failed call", "wait", "time"])
def test_a_compilation_is_delayed_for_the_first_answer(
    begin: str, path: Path, held: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "HEAD_START_SECONDS", 0.5 if begin == "time" else 60)
    model = now(path)
    assert not processes(tmp_path)
    if begin == "answer":
        assert answer(model).shape == (8,)
    elif begin == "failed call":
        with pytest.raises(StepwellError):
            model(X[None])
    elif begin == "wait":
        assert not model.wait(0.01)
    assert len(started(tmp_path)) == 1
    assert answer(model).shape == (8,) and len(processes(tmp_path)) == 1


def test_a_compilation_that_is_closed_in_its_delay(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "HEAD_START_SECONDS", 0.05)
    model = now(path)
    model.close()
    time.sleep(0.2)
    assert not processes(tmp_path) and answer(model).shape == (8,)
    with pytest.raises(StepwellError, match="not coming: the model was closed"):
        model.wait()
    assert not processes(tmp_path)


@pytest.mark.parametrize("kind", ["no cache", "cache is no folder"])
@whole
def test_models_that_no_cache_takes(kind: str, path: Path, tmp_path: Path) -> None:
    if kind == "cache is no folder":
        (tmp_path / "cache").rmdir()
        (tmp_path / "cache").touch()
    model = now(path, use_cache=kind != "no cache")
    first = answer(model)
    assert model.wait()
    np.testing.assert_allclose(answer(model), first, rtol=1e-6)
    assert not list(tmp_path.glob("cache/*.model"))
    if kind == "cache is no folder":
        (tmp_path / "cache").unlink()
        (tmp_path / "cache").mkdir()
    expect_nothing_left(tmp_path)


def test_what_needs_code_waits_for_it(held: Callable[[], None]) -> None:
    gather = "g (float[N,4] x, int64[M] i) => (float[M,4] y) { y = Gather(x, i) }"
    model = now(onnx_model(gather).SerializeToString(), threads=1)
    assert "x: float32[N, 4]" in repr(model) and [str(info) for info in model.outputs] == ["y: float32[M, 4]"]
    model.threads = 2
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = model.no_such_name  # pyright: ignore[reportAttributeAccessIssue]
    x = X.reshape(2, 4)
    with pytest.raises(StepwellError) as caught:
        model(x, np.array([2]))
    assert model.stage == "first"
    threading.Timer(0.1, held).start()
    other = pickle.loads(pickle.dumps(model))
    assert model.stage == other.stage == "full" and model.threads == other.threads == 2
    for full in (model, other):
        np.testing.assert_array_equal(full(x, np.array([1])), x[1:])
        with pytest.raises(StepwellError) as again:
            full(x, np.array([2]))
        assert str(again.value) == str(caught.value) and "found 2 and 2" in str(caught.value)


def test_a_process_that_is_killed(path: Path, held: Callable[[], None], tmp_path: Path) -> None:
    model = now(path)
    (process,) = started(tmp_path)
    with pytest.warns(RuntimeWarning) as warned:
        os.kill(process, signal.SIGKILL)
        with pytest.raises(StepwellError) as caught:
            model.wait()
    text = "the full code is not coming: its process ended (status -9)"
    assert [str(each.message) for each in warned] == [f"{text}; the model goes on as it is"]
    assert caught.value.code == "background-failed" and caught.value.message == text
    assert model.failure is caught.value and model.stage == "first"
    assert answer(model).shape == (8,)
    needs_code: list[Callable[[], object]] = [
        lambda: model.save(tmp_path / "m.stepwell"),
        lambda: copy.copy(model),
        lambda: copy.deepcopy(model),
        lambda: pickle.dumps(model),
        model.summary,
        lambda: model.target,
    ]
    for use in needs_code:
        with pytest.raises(StepwellError, match="background-failed"):
            use()
    expect_nothing_left(tmp_path)


def test_a_process_that_cannot_start(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.warns(RuntimeWarning, match="its process cannot be started: .*No such file"):
        _STARTED.append(model := stepwell.compile(path, start="now"))  # which may know already
        with pytest.raises(StepwellError, match=r"background-failed"):
            model.wait()
    assert answer(model).shape == (8,)


@pytest.mark.parametrize("level", ["onnx", "graph"])
@whole
def test_a_program(level: str, path: Path, tmp_path: Path) -> None:
    """A module starts on its first stage too; nodes of errors are those of the model on both stages."""
    gather = "g (float[N,64] x, int64[M] i) => (float[M,64] y) { a = Add(x, w) y = Gather(a, i) }"
    proto = onnx_model(gather)
    weight = np.arange(64, dtype=np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    program = stepwell.import_onnx(proto)
    if level == "graph":
        program.run("convert-onnx-to-graph")
    model = program.compile(start="now")
    _STARTED.append(model)
    x, texts = np.zeros((2, 64), np.float32), set[str]()
    for stage in ("first", "full"):
        assert model.stage == stage
        np.testing.assert_array_equal(cast(Any, model(x, np.array([1]))), weight[None])
        with pytest.raises(StepwellError) as caught:
            model(x, np.array([2]))
        texts.add(str(caught.value))
        assert model.wait()
    assert len(texts) == 1 and 'node "Gather#1"' in texts.pop()
    assert program.level == level
    expect_nothing_left(tmp_path)


_PLUGIN = """
import stepwell.plugin as sw
from stepwell.plugin import graph


@sw.onnx_op("com.acme", "Swing")
@sw.op("acme.swing")
class SwingOp(sw.Op):
    x = sw.operand_def(sw.TensorType)
    result = sw.result_def(sw.TensorType)
    angle = sw.prop_def(sw.FloatAttr.constr(sw.f32))


@sw.lower(SwingOp, to="graph")
def lower_swing(op: SwingOp, rewriter: sw.PatternRewriter) -> graph.SinOp:
    return graph.SinOp(graph.AddOp(op.x, sw.constant(rewriter, op.angle.value.data, like=op.x)).result)
"""


@whole
def test_both_stages_have_the_plugin(tmp_path: Path) -> None:
    from stepwell.tools.driver.plugins import load_plugin

    (plugin := tmp_path / "acme_swing.py").write_text(_PLUGIN)
    load_plugin(str(plugin))
    text = "g (float[N] x) => (float[N] y) { y = com.acme.Swing<angle = 0.5>(x) }"
    model = now(onnx_model(text, header=', "com.acme" : 1').SerializeToString())
    np.testing.assert_allclose(answer(model), np.sin(X + 0.5), atol=1e-6)
    assert model.wait() and model.stage == "full"
    np.testing.assert_allclose(answer(model), np.sin(X + 0.5), atol=1e-6)


def test_a_model_that_does_not_compile(path: Path, tmp_path: Path) -> None:
    """The first stage has answered; who waits learns the error of the compilation."""
    from stepwell.tools.driver.plugins import load_plugin

    plugin = tmp_path / "full_backend.py"
    plugin.write_text(
        "from stepwell.lowering.backends import Backend\n\n\n"
        "class FullBackend(Backend):\n"
        '    name = "full"\n\n'
        '    def supports(self, op):\n        return op.name == "graph.tanh"\n\n'
        '    def compile(self, func, constants, target):\n        raise RuntimeError("no room left")\n\n'
        "    def load(self, code): ...\n"
    )
    load_plugin(str(plugin))
    with pytest.warns(
        RuntimeWarning, match="the full code is not coming: .*no room left.*; the model goes on"
    ):
        model = now(path, backends="full")
        assert answer(model).shape == (8,)
        with pytest.raises(StepwellError) as caught:
            model.wait()
    assert caught.value.code == "backend-failed" and 'node "' in caught.value.where
    assert model.failure is caught.value and answer(model).shape == (8,)


@whole
def test_a_file_that_changes_before_the_process_has_read_it(
    path: Path, held: Callable[[], None], tmp_path: Path
) -> None:
    model, deleted = now(path), now(other := written(tmp_path / "other.onnx"))
    written(path, TEXT.replace("Tanh", "Relu"))
    other.unlink()
    held()
    for each, code, message in (
        (model, "file-changed", "the model's file changed after it was read"),
        (deleted, "no-file", "cannot read the model: No such file"),
    ):
        with pytest.warns(RuntimeWarning, match=f"{message}.*; the model goes on as it is"):
            with pytest.raises(StepwellError, match=code):
                each.wait()
        assert answer(each).max() <= 1 and each.stage == "first"
    assert not list((tmp_path / "cache").glob("*.model"))


def test_a_file_that_changes_after_the_process_has_read_it(path: Path) -> None:
    """A changed file may be what the process has read; a deleted one is not."""
    image = stepwell.compile(path, use_cache=False).image
    (ended := background.Background(None)).close()
    changed, deleted = (StagedModel(FirstStage(path, CompileOptions()), ended, None, 1) for _ in range(2))
    written(path, TEXT.replace("Tanh", "Relu"))
    with pytest.warns(RuntimeWarning, match="the model's file changed after it was read; the model goes on"):
        changed.finish(image)
    with pytest.raises(StepwellError, match="file-changed"):
        changed.wait()
    path.unlink()
    deleted.finish(image)
    assert deleted.wait() and deleted.stage == "full"


@whole
def test_a_full_disk(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the cache nor the folder of temporary files has space for the code."""
    monkeypatch.setattr(background, "PROGRAM", "tests.support.children:background_without_space")
    with pytest.warns(
        RuntimeWarning, match="not coming: the file could not be written: File too large; the m"
    ):
        model = now(path)
        with pytest.raises(StepwellError, match="cannot-write"):
            model.wait()
    assert answer(model).shape == (8,)
    expect_nothing_left(tmp_path)


def test_code_that_cannot_be_loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in the thread that takes the code is told too, and nobody waits for ever."""
    model = now(path)
    monkeypatch.setattr(staged_model, "model_of", None)
    with pytest.warns(
        RuntimeWarning, match="TypeError: 'NoneType' object is not callable; the model goes on"
    ):
        with pytest.raises(StepwellError, match="internal"):
            model.wait()
    assert answer(model).shape == (8,)


def test_closing(path: Path, held: Callable[[], None], tmp_path: Path) -> None:
    model = now(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.close()
        model.close()
        with pytest.raises(StepwellError, match="not coming: the model was closed"):
            model.wait()
        assert answer(model).shape == (8,) and model.stage == "first"
        expect_nothing_left(tmp_path)


@whole
def test_models_wait_for_their_turn(
    tmp_path: Path, held: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [written(tmp_path / f"{i}.onnx") for i in range(2)]
    models = [now(path) for path in [*paths, paths[0]]]
    assert len(started(tmp_path)) == 1 and [model.stage for model in models] == ["first"] * 3
    models[1].close()
    monkeypatch.setenv("STEPWELL_BACKGROUND", "2")
    more = now(written(tmp_path / "more.onnx"))
    assert len(started(tmp_path, 2)) == 2
    held()
    for model in (models[0], *models[2:], more):
        assert model.wait(60) and model.stage == "full"
    assert models[1].stage == "first"
    assert len(list(tmp_path.glob("cache/*.model"))) == 2
    expect_nothing_left(tmp_path)


def test_a_bad_number_of_compilations(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("many", "0", "-1"):
        monkeypatch.setenv("STEPWELL_BACKGROUND", value)
        with pytest.raises(StepwellError) as caught:
            now(path)
        assert caught.value.code == "bad-option"
        message = f"STEPWELL_BACKGROUND must be a number of compilations, found {value!r}"
        assert caught.value.message == message


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.sample])])
def test_many_models(count: int, held: Callable[[], None], tmp_path: Path) -> None:
    model = onnx_model(TEXT).SerializeToString()
    models = [now(model) for _ in range(count)]
    for model in models:
        assert answer(model).shape == (8,)
    assert len(started(tmp_path)) == 1
    for model in reversed(models):
        model.close()
    expect_nothing_left(tmp_path)


@whole
def test_a_fork(path: Path, held: Callable[[], None], tmp_path: Path) -> None:
    """
    A forked process stays on its stage until the code is in the cache, and ends nobody's process; models that
    have their code change nothing.
    """
    others = [now(written(tmp_path / f"before{number}.onnx")) for number in range(3)]
    held()
    assert all(other.wait(60) for other in others)
    (tmp_path / "cache" / "go").unlink()
    model = now(path)

    def in_child() -> tuple[int, str, str]:
        assert model.stage == "first" and answer(model).shape == (8,) and not model.wait(0.1)
        held()
        assert model.wait(60) and model.stage == "full"
        other = now(written(tmp_path / "other.onnx"))
        other.close()
        return 0, "", ""

    assert forked(in_child) == (0, "", "")
    assert model.wait(60) and model.stage == "full"


_PARENT = """
import os, sys, time, stepwell
from stepwell.tools.driver import background
background.PROGRAM = "tests.support.children:held_background"
model = stepwell.compile(sys.argv[1], start="now", use_cache=False)
print(model.stage, flush=True)
if sys.argv[2] == "killed":
    time.sleep(60)
"""


@pytest.mark.parametrize("end", ["ends", "killed"])
def test_the_end_of_the_parent(end: str, path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PARENT, path, end]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == b"first\n"
        if end == "killed":
            parent.kill()
        else:
            assert parent.wait(10) == 0
    expect_nothing_left(tmp_path)


def test_bad_options(path: Path, held: Callable[[], None]) -> None:
    with pytest.raises(StepwellError) as caught:
        stepwell.compile(path, start="later")  # pyright: ignore[reportArgumentType]
    assert str(caught.value) == "error[bad-option]: start must be one of full, now, found 'later'"
    for model in (now(path), stepwell.compile(path)):
        for timeout, found in ((-1, "-1"), ("1", "'1'"), (float("nan"), "nan")):
            with pytest.raises(StepwellError) as caught:
                model.wait(timeout)  # pyright: ignore[reportArgumentType]
            assert (
                str(caught.value) == f"error[bad-option]: timeout must be at least 0 seconds, found {found}"
            )


@whole
def test_the_log_of_the_background(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("STEPWELL_LOG", "fuse-ops=1")
    now(path).wait()
    assert [record.getMessage() for record in caplog.records] == ["1 kernels: 1 elementwise"]


@whole
def test_commands(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run` ends with its answer, and `bench` measures the full code."""
    assert cli.main(["run", str(path), "--start", "now", "--input-shape", "x=4", "--fill", "zeros"]) == 0
    assert capsys.readouterr().out == "y: float32[4]  min 0.964028  mean 0.964028  max 0.964028\n"
    results = tmp_path / "results.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "installed_peers", list[str])
        assert cli.main(["bench", str(path), "--start", "now", "--rounds", "1", "--json", str(results)]) == 0
    assert re.search(r"m: the first answer took \d+\.\d\d s\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["compile", "-o", "m.stepwell"], "-o"),
        (["compile", "--emit", "linalg"], "--emit"),
        (["compile"], "`stepwell compile`"),
        (["run", "--profile"], "--profile"),
        (["run", "--remarks"], "--remarks"),
    ],
)
def test_options_that_need_code(
    command: list[str], option: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command[0], str(path), "--start", "now", *command[1:]]) == 2
    message = f"--start now answers before there is code; {option} needs it"
    assert capsys.readouterr().err.startswith(f"error[bad-usage]: {message}\n")
