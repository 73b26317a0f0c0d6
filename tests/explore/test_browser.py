"""The page in Chromium, by its self-test: what is drawn, marked and found, and that nothing else happens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from stepwell.tools.explore.compare import compared
from stepwell.tools.explore.page_file import explorer_page
from tests.commands import written
from tests.explore.browser import ASSETS, BROWSER, difference, dom, pictures, run_script, selftest
from tests.explore.golden import GOLDEN
from tests.onnx_models import onnx_model
from tests.support.components import needs_node_package

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HOSTILE = "</script><img src=x onerror=alert(1)>"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here: the page is not tested in a browser"),
]


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the digits model, without times."""
    data = collect(ROOT / "examples" / "digits.onnx", CompileOptions(profile=True), run=False)
    return written(tmp_path_factory.mktemp("page") / "digits.html", explorer_page(data))


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of data that does not change."""
    return written(
        tmp_path_factory.mktemp("page") / "golden.html", explorer_page(json.loads(GOLDEN.read_text()))
    )


def test_details_name_the_passes_that_changed_a_kernel(golden: Path) -> None:
    data = json.loads(GOLDEN.read_text())
    call = next(call for call in data["calls"] if call["kernel"])
    node = next(node for node in data["nodes"] if node["id"] == call["nodes"][0])
    kernel = next(kernel for kernel in data["kernels"] if kernel["id"] == call["kernel"])
    passes = [step["pass"] for step in kernel["steps"] if not step.get("same")]
    assert 0 < len(passes) < len(kernel["steps"])
    assert f"<dt>changed by</dt><dd>{', '.join(passes)}</dd>" in dom(golden, f"node={quote(node['name'])}")


def test_an_address_with_an_unknown_node_says_so(golden: Path) -> None:
    assert "no node is called &lt;b&gt;; a node without" in dom(golden, "node=%3Cb%3E")


def made_up(folder: Path, count: int) -> Path:
    """A page of a graph of so many nodes, with the kernel of a small model."""
    data: Any = collect(ROOT / "examples" / "digits.onnx", CompileOptions(profile=True), run=False)
    from stepwell.tools.explore.drawing import drawing_of

    first, call = data["nodes"][0], data["calls"][0]
    ops = ("MatMul", "Add", "Relu", "Softmax")
    data["nodes"] = [
        {**first, "id": f"n{i}", "name": f"/layer.{i // 10}/{ops[i % 4]}_{i}", "op": ops[i % 4],
         "module": f"layer.{i // 10}", "kernels": ["c0"] if i % 4 == 0 else []}
        for i in range(count)
    ]  # fmt: skip
    for each in data["calls"]:
        each["nodes"] = [f"n{i}" for i in range(0, count, 4)] if each is call else []
    call["us"] = {"median": 150.0, "low": 140.0, "high": 160.0}
    data["edges"] = [
        {"from": f"n{i}", "to": f"n{j}", "value": "v5", "fused": i % 2 == 0, "why": "another kernel"}
        for i in range(count)
        for j in (i + 1, i + 4)
        if j < count
    ] + [{"from": "n0", "to": "n150", "value": "v5", "fused": False, "why": "far away"}]
    data["drawing"] = drawing_of(data["nodes"], data["edges"], data["calls"])
    return written(folder / "many.html", explorer_page(data))


def test_the_page_shows_the_models_nodes_and_kernels(digits: Path):
    facts = selftest(digits)
    assert (facts["nodes"], facts["kernels"], facts["calls"]) == (4, 3, 3)
    text = dom(digits, "")
    assert text.count("<li><button") == 4
    assert all(f'data-testid="{name}"' in text for name in ("graph", "details", "levels", "tables"))


@pytest.mark.parametrize("node", ["layer0", "relu0", "layer1", "softmax"])
def test_a_node_marks_lines_on_every_level(digits: Path, node: str):
    facts = selftest(digits, f"node={node}&level=graph,tensor,loop,llvm,asm")
    assert facts["view"]["node"] == node
    assert facts["marked"].keys() == {"graph", "tensor", "loop", "llvm", "asm"}
    assert all(facts["marked"].values()), facts["marked"]


def test_the_page_of_the_golden_data(golden: Path):
    data: Any = json.loads(GOLDEN.read_text())
    facts = selftest(golden, f"node={quote('MatMul#0')}&level=graph,tensor,loop,llvm,asm&color=error")
    assert (facts["nodes"], facts["kernels"], facts["calls"]) == (3, 2, 2)
    assert facts["view"]["color"] == "error"
    kernel, sets = data["kernels"][0], data["calls"][0]["sets"]
    lines = {step["level"]: step["lines"] for step in kernel["steps"] if "lines" in step}
    lines["asm"] = [lines["llvm"][line - 1] if line else -1 for line in kernel["asm"]["lines"]]
    marked = {level: sum(i >= 0 and "n0" in sets[i] for i in numbers) for level, numbers in lines.items()}
    assert facts["marked"] == marked and all(marked.values())


def test_the_page_has_no_serious_fault_of_accessibility(golden: Path):
    needs_node_package("axe-core")
    run_script(HERE / "axe.test.js", f"{golden.as_uri()}#node={quote('MatMul#0')}")


def test_the_assembly_says_what_is_in_each_loop(digits: Path):
    text = dom(digits, "node=layer0&level=asm")
    loops = re.findall(r">((?:– )*loop \d+–\d+: \d+ instructions.*?)<", text)
    assert any(re.search(r", \d+ FMA, \d+ loads$", loop) for loop in loops), loops


def test_the_address_is_the_view(digits: Path):
    facts = selftest(digits, "node=layer1&level=tensor,diff&pass=9&color=op&table=passes&search=op:Gemm")
    view = facts["view"]
    assert (view["levels"], view["pass"], view["color"], view["table"]) == (
        ["tensor", "diff"],
        9,
        "op",
        "passes",
    )
    assert view["hits"] == 2
    text = dom(digits, "node=layer0&kernel=k0")
    assert "an elementwise op joins no contraction" in dom(digits, "node=layer1")
    assert "in the same kernel" in text


def test_a_hostile_name_is_text(tmp_path: Path):
    proto = onnx_model("g (float[2,8] x) => (float[2,8] y) { a = Relu(x) y = Softmax <axis=1> (a) }")
    proto.graph.node[0].name = HOSTILE
    model = written(tmp_path / "m.onnx", proto)
    data = collect(model, CompileOptions(profile=True), run=False)
    page = written(tmp_path / "m.html", explorer_page(data))
    text = dom(page, f"node={quote(HOSTILE)}")
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in text
    assert "<img" not in text
    assert selftest(page, f"node={quote(HOSTILE)}")["marked"]["graph"] > 0


def test_another_compilation_is_beside_this_one(tmp_path: Path):
    model = ROOT / "examples" / "digits.onnx"
    options = [CompileOptions(profile=True, mcpu=mcpu) for mcpu in ("x86-64-v4", "x86-64-v3")]
    ours, theirs = (collect(model, each, run=False) for each in options)
    page = written(tmp_path / "m.html", explorer_page({**ours, "compare": compared(ours, theirs)}))
    text = dom(page, "node=layer0&level=asm,other&table=compare")
    assert "%zmm" in text and "%ymm" in text and "other assembly · k0" in text


def test_three_thousand_nodes_open_folded_and_are_found(tmp_path: Path):
    page = made_up(tmp_path, 3000)
    facts = selftest(page, "search=op:MatMul+time>0.1ms")
    assert facts["nodes"] == 3000 and facts["view"]["folded"] is True
    assert facts["view"]["hits"] == 750


def test_groups_open_in_their_place_and_stubs_jump(tmp_path: Path):
    page = made_up(tmp_path, 200)
    run_script(HERE / "graph.test.js", page.as_uri())


def test_pictures_of_the_docs_are_those_of_the_page(tmp_path: Path):
    stale = {p.name: share for p in pictures(tmp_path) if (share := difference(p, ASSETS / p.name)) > 0.004}
    assert not stale, f"run `python -m tests.explore.browser`, and look at them: {stale}"


def test_another_view_is_another_picture():
    assert difference(ASSETS / "explorer.png", ASSETS / "explorer-passes.png") > 0.05
