"""IR in notebooks: coloured HTML, `stepwell.show`, and the extension with its magic."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.tools.coloured_text import MOST_LINES, html_of
from stepwell.tools.notebook.extension import load_ipython_extension, mlir

TEXT = """builtin.module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
    %z = graph.neg %y : tensor<4xf32> -> tensor<4xf32>
    func.return %z : tensor<4xf32>
  }
  func.func private @g(tensor<4xf32>) -> tensor<4xf32>
}
"""


def plain(html: str) -> str:
    """The text of HTML."""
    return unescape(re.sub(r"<[^>]*>", "", re.sub(r"</pre>", "\n", html)))


def test_each_function_can_be_folded():
    html = html_of(TEXT)
    assert plain(html).splitlines() == TEXT.splitlines()
    assert html.count("<details open>") == 1
    summary = re.findall("<summary>(.*?)</summary>", html)
    assert [plain(each).strip() for each in summary] == [TEXT.splitlines()[1].strip()]
    assert "<script" not in html


def test_ops_and_values_have_colours():
    assert re.search(r'<span style="color:#[0-9a-f]{6}">graph\.neg</span>', html_of(TEXT))
    assert re.search(r'<span style="color:#[0-9a-f]{6}">%x</span>', html_of(TEXT))


@given(st.text(alphabet='ab<>&"\'%@#"\\ {}()\n-/.=x4', max_size=60))
def test_text_is_never_markup(text: str):
    html = html_of(text)
    tags = set(re.findall(r"</?([a-z]+)", html))
    assert tags <= {"div", "pre", "span", "details", "summary", "p"}
    assert "".join(plain(html).split()) == "".join(text.split())


def test_long_text_is_cut_and_closed():
    ops = "\n".join(f"    %{i} = arith.constant {i} : index" for i in range(MOST_LINES + 5))
    html = html_of(f"func.func @f() {{\n{ops}\n  func.return\n}}")
    assert "<details>" in html and "8 more lines are not shown" in html
    assert f"constant {MOST_LINES - 2} :" in plain(html) and f"constant {MOST_LINES - 1} :" not in plain(html)


def test_show_takes_modules_of_both_kinds_and_lowers_a_copy():
    module = stepwell.parse(TEXT)
    before = str(module)
    shown = stepwell.show(module)
    assert str(shown) == before and shown._repr_html_() == module._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "graph.neg" in str(stepwell.show(module.op))
    lines = [line for line in TEXT.replace("@f", "@main").splitlines() if "@g" not in line]
    main = stepwell.parse("\n".join(lines))
    assert "linalg" in str(stepwell.show(main, "linalg")) and "linalg" not in str(main)
    assert "linalg" in str(stepwell.show(main.op, "linalg")) and "linalg" not in str(main)
    with pytest.raises(StepwellError, match="type-mismatch"):
        stepwell.show("net.onnx")  # type: ignore[arg-type]


class Formatter:
    """A formatter of IPython's."""

    def __init__(self) -> None:
        self.found: dict[type, Any] = {}

    def for_type(self, kind: type, function: Any) -> None:
        self.found[kind] = function


class Shell:
    """What the extension needs of IPython."""

    def __init__(self) -> None:
        self.html = Formatter()
        self.display_formatter = type("Display", (), {"formatters": {"text/html": self.html}})()
        self.magics: dict[str, Any] = {}

    def register_magic_function(self, func: Any, magic_kind: str, magic_name: str) -> None:
        self.magics[f"{magic_kind} {magic_name}"] = func


def test_the_extension_registers_a_magic_and_how_modules_are_shown():
    shell = Shell()
    load_ipython_extension(shell)
    assert shell.magics == {"cell mlir": mlir}
    assert "graph.neg" in plain(shell.html.found[ModuleOp](stepwell.parse(TEXT).op))
    assert stepwell.load_ipython_extension is load_ipython_extension


def test_the_magic_runs_passes_on_a_cell():
    dead = TEXT.replace("return %z", "return %x")
    assert "graph.neg" in str(mlir("", dead))
    assert "graph.neg" not in str(mlir("-p dead-code-elimination", dead))
    passes = "-p 'simplify-expr,dead-code-elimination' --check"
    assert "graph.neg" not in str(mlir(passes, f"// CHECK-NOT: neg\n{dead}"))


@pytest.mark.parametrize(
    ("line", "cell", "code"),
    [
        ("--check", f"// CHECK: graph.exp\n{TEXT}", "check-failed"),
        ("", "func.func @f(", "syntax"),
        ("-p nope", TEXT, "unknown-pass"),
        ("--nope", TEXT, "bad-usage"),
        ("-p '", TEXT, "bad-usage"),
        ("-p 'print-me", TEXT, "bad-usage"),
    ],
)
def test_mistakes_in_a_cell_are_reported_without_a_traceback(
    line: str, cell: str, code: str, capsys: pytest.CaptureFixture[str]
):
    assert mlir(line, cell) is None
    error = capsys.readouterr().err
    assert error.startswith(f"error[{code}]: ") and "Traceback" not in error


def test_nothing_of_it_is_imported_with_the_package():
    code = "import stepwell, sys; print([m for m in sys.modules if 'notebook' in m or 'IPython' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
