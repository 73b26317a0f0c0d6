"""The page as a file: it holds the data, loads nothing, and no text of a model is HTML in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import decompress

import pytest

from stepwell.tools import cli
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from stepwell.tools.explore.page_file import FOLDER, explorer_page
from stepwell.tools.page import joined_modules
from tests.commands import written
from tests.onnx_models import onnx_model

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x07"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node here: no script is parsed")
CHUNK = re.compile(r'<script type="text/plain" id="chunk-(\w+)">([^<]*)</script>')


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The data of a model with a hostile node name."""
    proto = onnx_model("g (float[2,8] x) => (float[2,8] y) { a = Relu(x) y = Softmax <axis=1> (a) }")
    proto.graph.node[0].name, proto.graph.node[1].name = HOSTILE, "soft"
    path = written(tmp_path_factory.mktemp("model") / "m.onnx", proto)
    return json.loads(json.dumps(collect(path, CompileOptions(profile=True), run=False)))


def chunks(page: str) -> dict[str, Any]:
    """The data of a page, as its script reads it."""
    found = {id: json.loads(decompress(b64decode(text))) for id, text in CHUNK.findall(page)}
    for chunk in found.values():
        for step in chunk.get("steps", ()):
            if "text" in step:
                step["text"] = numbered(step["text"])
    return found


def numbered(text: str) -> str:
    """The text of a step with the numbers of its values, as `numbered` of `data.js` makes it."""
    lines: list[str] = []
    last = 0
    for line in text.split("\n"):
        own = re.match(r" *%(-?\d+)", line) if lines else None
        shift, last = last, last + int(own[1]) if own else last
        parts = re.split(r"%(-?[1-9]\d{0,7}|0)(?!\d)", line)
        for at in range(1, len(parts), 2):
            parts[at] = f"%{int(parts[at]) + (shift if own and at == 1 else last)}"
        lines.append("".join(parts))
    return "\n".join(lines)


def test_the_page_holds_the_data(data: Any):
    found = chunks(explorer_page(data))
    assert [found[kernel["id"]] for kernel in data["kernels"]] == data["kernels"]
    index = found["index"]
    assert index["nodes"] == data["nodes"] and index["left_out"] == ""
    assert not any({"steps", "asm"} & kernel.keys() for kernel in index["kernels"])


@needs_node
def test_numbers_of_values_in_a_chunk_are_relative_to_their_line(tmp_path: Path, data: Any):
    texts = [step["text"] for kernel in data["kernels"] for step in kernel["steps"] if "text" in step]
    texts.append('a %3 %03 "%9"\n  %12 = x(%11, %11#1, %-0)\n^bb1(%13: i32)\n%14, %15 = y %12345678901\n')
    kernel = {**data["kernels"][0], "steps": [{"level": "loop", "pass": "p", "text": text} for text in texts]}
    page = explorer_page({**data, "kernels": [kernel]})
    raw = json.loads(decompress(b64decode(dict(CHUNK.findall(page))[kernel["id"]])))
    assert "  %12 = x(%-1, %-1#1, %-0)\n" in raw["steps"][-1]["text"]
    read = "import {numbered} from './data.mjs'; import {readFileSync} from 'fs';"
    show = "console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(numbered)))"
    written(tmp_path / "data.mjs", (FOLDER / "data.js").read_text())
    script = written(tmp_path / "read.mjs", read + show)
    given = json.dumps([step["text"] for step in raw["steps"]])
    found = subprocess.run(["node", script], input=given, check=True, capture_output=True, text=True)
    assert json.loads(found.stdout) == texts


def test_the_page_is_a_function_of_the_data(data: Any):
    assert explorer_page(data) == explorer_page(json.loads(json.dumps(data)))


@needs_node
def test_the_script_parses_and_so_do_its_modules(tmp_path: Path):
    modules = [*FOLDER.glob("*.js"), written(tmp_path / "joined.mjs", joined_modules(FOLDER, "main.js"))]
    for module in modules:
        subprocess.run(["node", "--check", str(module)], check=True)
    assert len(modules) > 5


def test_the_policy_allows_the_pages_own_script_and_style_alone(data: Any):
    page = explorer_page(data)
    (script,) = re.findall(r'<script type="module">(.*)</script>\n</body>', page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    hashes = [f"'sha256-{b64encode(sha256(t.encode()).digest()).decode()}'" for t in (script, style)]
    allowed = policy.replace("&#x27;", "'")
    assert allowed == (f"default-src 'none'; script-src {hashes[0]}; style-src {hashes[1]}; img-src data:")


def test_a_hostile_name_is_in_the_data_alone(data: Any):
    page = explorer_page(data)
    assert chunks(page)["index"]["nodes"][0]["name"] == HOSTILE
    assert "<img" not in page and "onerror" not in page
    assert page.count("<script") == page.count("</script>") == 2 + len(data["kernels"])


def test_the_page_names_no_address_but_a_namespace(data: Any):
    text = CHUNK.sub("", explorer_page(data))
    assert set(re.findall(r"https?://[\w./]*", text)) == {"http://www.w3.org/2000/svg"}


def test_a_page_that_is_too_large_leaves_out_middle_passes_and_says_so(data: Any):
    small = explorer_page(data, len(explorer_page(data)) - 1000)
    whole, left = chunks(explorer_page(data)), chunks(small)
    assert len(small) < len(explorer_page(data))
    assert left["index"]["left_out"].startswith("left out to keep the page small: the middle passes of k")
    for kernel in data["kernels"]:
        pairs = zip(whole[kernel["id"]]["steps"], left[kernel["id"]]["steps"], strict=True)
        last = {step["level"]: step for step in whole[kernel["id"]]["steps"] if "text" in step}
        assert all(a == b for a, b in pairs if a in last.values())


def test_modules_are_joined_once_each_after_what_they_import():
    script = joined_modules(FOLDER, "main.js")
    assert "import " not in script.replace("// ", "") and "\nexport " not in script
    assert script.index("function shown(") < script.index("function details(") < script.index("class Page")
    assert script.count("function element(") == 1


def test_no_text_is_put_in_as_html():
    for file in FOLDER.glob("*.js"):
        text = file.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), file
        assert text.count("\n") <= 400


def test_the_command_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path / "m.onnx", onnx_model("g (float[4] x) => (float[4] y) { y = Relu(x) }"))
    assert cli.main(["explore", path.name, "--no-run"]) == 0
    assert chunks(Path("m.html").read_text())["index"]["command"] == "stepwell explore m.onnx --no-run"
