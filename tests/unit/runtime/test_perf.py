"""Code that profilers and unwinders know: perf's map, and backtraces through compiled functions."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime import meaning
from stepwell.runtime.environment import PERF
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.link.linker import link
from stepwell.runtime.link.memory import MappedCode
from stepwell.runtime.machine.target import host_target
from stepwell.runtime.meaning import evaluate
from tests.onnx_models import onnx_model

NESTED = """
define i32 @outer(ptr %callback) {
  %x = call i32 @inner(ptr %callback)
  %y = add i32 %x, 1
  ret i32 %y
}
define internal i32 @inner(ptr %callback) noinline {
  %x = call i32 %callback()
  %y = mul i32 %x, 2
  ret i32 %y
}
"""
MAP = Path(f"/tmp/perf-{os.getpid()}.map")


@pytest.fixture
def perf(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The variable set, and the map of this process away before and after."""
    monkeypatch.setenv(PERF.name, "1")
    MAP.unlink(missing_ok=True)
    yield
    MAP.unlink(missing_ok=True)


def nested() -> LinkedCode:
    """A function that calls another, which calls back."""
    return link([compile_to_object(NESTED, host_target(), optimize=False)])


def named_rows() -> dict[str, tuple[int, int]]:
    """Address and size of each function in the map."""
    rows = [line.split(" ", 2) for line in MAP.read_text().splitlines()]
    return {name: (int(start, 16), int(size, 16)) for start, size, name in rows}


def backtrace() -> list[int]:
    """The return addresses of the calling functions, as the C library finds them."""
    buffer = (ctypes.c_void_p * 64)()
    count = ctypes.CDLL(None).backtrace(buffer, len(buffer))
    return [address or 0 for address in buffer[:count]]


def functions_of(frames: list[int], code: LinkedCode, start: int) -> list[str]:
    """The functions of mapped code in a backtrace, from the inside."""
    found = [
        name
        for frame in frames
        for name, (offset, size) in code.functions.items()
        if start + offset < frame <= start + offset + size
    ]
    return found


def frames_below(code: LinkedCode) -> tuple[list[str], int]:
    """Our functions in a backtrace from `inner`'s callback, and how many frames of others follow them."""
    mapped = MappedCode(code)
    seen: list[list[int]] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int32)
    callback = kind(lambda: seen.append(backtrace()) or 5)
    outer = ctypes.CFUNCTYPE(ctypes.c_int32, kind)(mapped.address("outer"))
    assert outer(callback) == 11
    start = mapped.address("outer") - code.functions["outer"][0]
    ours = [number for number, frame in enumerate(seen[0]) if start < frame < start + code.memory_bytes]
    return functions_of(seen[0], code, start), len(seen[0]) - 1 - max(ours, default=-1)


@pytest.mark.usefixtures("perf")
def test_unwinding_goes_through_compiled_functions() -> None:
    functions, after = frames_below(nested())
    assert functions == ["inner", "outer"]
    assert after > 5, "Python called it"


def test_without_the_variable_unwinding_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "0"):
        monkeypatch.setenv(PERF.name, value)
        functions, after = frames_below(nested())
        assert "outer" not in functions and after < 5
        assert not MAP.exists()


@pytest.mark.usefixtures("perf", "small_heap")
def test_frames_are_forgotten_with_the_memory() -> None:
    """Code that came and went leaves tables that nobody may read: an unwinder would follow them."""
    code = nested()
    for _ in range(20):
        MappedCode(code)
    gc.collect()
    assert frames_below(code)[0] == ["inner", "outer"]
    kept = MappedCode(code)
    kept.keep()
    start = kept.address("outer")
    del kept
    gc.collect()
    assert ctypes.string_at(start, 16) == code.contents[code.functions["outer"][0] :][:16]


@pytest.mark.usefixtures("perf")
def test_frames_without_an_end_are_not_registered() -> None:
    """Those of an artifact whose description is wrong; the code runs all the same."""
    code = nested()
    start, size = code.frames
    for frames in ((0, 0), (start, size - 4), (start + 8, size - 8), (start + size - 4, 4)):
        functions, _ = frames_below(code._replace(frames=frames))
        assert "outer" not in functions, frames


@pytest.mark.usefixtures("perf")
def test_the_map_has_all_functions() -> None:
    code = nested()
    mapped = MappedCode(code, {"outer": "k0 node\n1", "inner": "other"})
    rows = named_rows()
    outer = mapped.address("outer")
    difference = code.functions["inner"][0] - code.functions["outer"][0]
    assert rows == {
        "k0 node?1": (outer, code.functions["outer"][1]),
        "other": (outer + difference, code.functions["inner"][1]),
    }
    assert MAP.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("perf")
def test_the_map_names_kernels_and_main_of_a_model() -> None:
    model = stepwell.compile(
        onnx_model("""g (float[256, 128] x, float[128, 192] w) => (float[256, 192] y)
        { [product] m = MatMul(x, w) y = Relu(m) }"""),
        profile=True,
        threads=2,
    )
    code = model.image.main.variants[0].code
    assert isinstance(code, LinkedCode)
    rows = named_rows()
    (kernel,) = [name for name in rows if name.startswith("k0 ") and "body" not in name]
    (body,) = [name for name in rows if ".body" in name]
    assert "product" in kernel and body.startswith(f"{kernel}.body")
    (symbol,) = [name for name in code.functions if name.startswith("k_") and "." not in name]
    distance = code.functions[symbol][0] - code.functions["main"][0]
    assert rows[kernel][0] - rows["main"][0] == distance
    assert rows["main"][1] == code.functions["main"][1]
    memory = ctypes.string_at(*rows[body])
    offset, size = code.functions[f"{symbol}.{body.rpartition('.')[2]}"]
    assert memory == code.contents[offset : offset + size]


@pytest.mark.usefixtures("perf")
def test_a_host_call_of_a_model_is_below_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """`main` calls Python, whose backtrace leads through `main`."""
    seen: list[list[int]] = []

    def evaluated(*args: Any) -> Any:
        seen.append(backtrace())
        return evaluate(*args)

    monkeypatch.setattr(meaning, "evaluate", evaluated)
    text = "g (string[N] s) => (string[N] t) { t = StringConcat(s, s) }"
    model = stepwell.compile(onnx_model(text, opset=20))
    found = model(np.array(["a", "bc"], object))
    assert list(np.asarray(found)) == ["aa", "bcbc"]
    start, size = named_rows()["main"]
    inside = [number for number, frame in enumerate(seen[0]) if start < frame <= start + size]
    assert len(inside) == 1 and inside[0] < len(seen[0]) - 5


@pytest.mark.usefixtures("perf")
@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "second name"])
def test_what_another_user_may_have_put_there_is_not_written_to(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("before")
    match kind:
        case "link":
            MAP.symlink_to(target)
        case "folder":
            MAP.mkdir()
        case "pipe":
            os.mkfifo(MAP)
        case _:
            target = MAP.with_suffix(".other")
            target.write_text("before")
            os.link(target, MAP)
    try:
        with pytest.warns(RuntimeWarning, match=f"{PERF.name}: {MAP} is not written"):
            mapped = MappedCode(nested())
        assert mapped.address("outer") and target.read_text() == "before"
    finally:
        if kind == "folder":
            MAP.rmdir()
        if kind == "second name":
            target.unlink()
