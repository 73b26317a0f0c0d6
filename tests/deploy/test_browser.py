"""Packages for WebAssembly in Chromium, with and without the headers that isolate a page. `make deploy`."""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import numpy as np
import pytest

import stepwell
from tests.explore.browser import BROWSER
from tests.support.components import MISSING
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow

SECONDS = 120
DIGITS = ROOT / "examples" / "digits.onnx"
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
_REPORT = """
const report = (facts) => fetch("/result", { method: "POST", body: JSON.stringify(facts) });
onunhandledrejection = ({ reason }) => report({ error: String(reason) });
onerror = (error) => report({ error: String(error) });
"""
_RUN = f"""<!doctype html><script>{_REPORT}
const warnings = [];
console.warn = (text) => warnings.push(text);
</script><script type="module">
import {{ load }} from "./package/index.js";
const pictures = new Float32Array(await (await fetch("./pictures.bin")).arrayBuffer());
const facts = {{ isolated: crossOriginIsolated, threads: [], outputs: [] }};
const simd = "fixed";
for (const options of [{{}}, {{ threads: 2 }}, {{ threads: 2, simd }}, {{ threads: 1, simd }}]) {{
  const model = await load(options);
  const {{ probabilities }} = await model.run({{ pictures }});
  const again = (await model.run({{ pictures }})).probabilities;
  facts.threads.push(model.threads);
  facts.outputs.push(Array.from(probabilities.data));
  if (again.data.join() !== probabilities.data.join()) throw new Error("another call has other bits");
  model.close();
}}
report({{ ...facts, warnings }});
</script>"""
_DEMO = f"""<!doctype html><script>{_REPORT}</script><iframe src="./package/demo/index.html"></iframe><script>
const text = (id) => document.querySelector("iframe").contentDocument?.getElementById(id)?.textContent ?? "";
const timer = setInterval(() => {{
  if (!text("result") && !text("state").includes("Error")) return;
  clearInterval(timer);
  report({{ state: text("state"), result: text("result") }});
}}, 50);
</script>"""


class _Handler(SimpleHTTPRequestHandler):
    """Serves a folder, and puts what a page posts into a queue."""

    answers: Queue[Any]
    headers_sent: dict[str, str]
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}  # noqa: RUF012

    def end_headers(self) -> None:
        for name, value in self.headers_sent.items():
            self.send_header(name, value)
        super().end_headers()

    def do_POST(self) -> None:  # noqa: N802
        self.answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def served(folder: Path, headers: dict[str, str]) -> Generator[tuple[str, Queue[Any]]]:
    """The address of a server of a folder on loopback, and what pages post to it."""
    answers: Queue[Any] = Queue()
    handler = type("Handler", (_Handler,), {"answers": answers, "headers_sent": headers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", answers
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def posted(folder: Path, page: str, headers: dict[str, str]) -> Any:
    """The facts that a page of a folder posts, in a Chromium that ends after it."""
    if BROWSER is None:
        MISSING.add("chromium")
        pytest.skip("chromium is not installed")
    (folder / "page.html").write_text(page)
    with served(folder, headers) as (address, answers):
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        command += [
            f"--user-data-dir={folder / 'profile'}",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ]
        with subprocess.Popen(
            [*command, f"{address}/page.html"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as browser:
            try:
                facts = answers.get(timeout=SECONDS)
            finally:
                browser.terminate()
    assert "error" not in facts, facts
    return facts


def digits(folder: Path) -> np.ndarray:
    """Unpack the package of the digits, with pictures beside it, which are returned."""
    stepwell.export(DIGITS, folder / "digits.tgz", target="wasm32")
    with tarfile.open(folder / "digits.tgz") as archive:
        archive.extractall(folder, filter="data")
    with np.load(ROOT / "examples" / "digits_held_out.npz") as data:
        pictures = data["pictures"][:37].astype(np.float32)
    (folder / "pictures.bin").write_bytes(pictures.tobytes())
    return pictures


def test_a_page_has_threads_where_it_is_isolated_and_the_same_outputs(tmp_path: Path) -> None:
    pictures = digits(tmp_path)
    wanted = stepwell.compile(DIGITS).run({"pictures": pictures})["probabilities"].astype(np.float64)
    isolated = posted(tmp_path, _RUN, ISOLATED)
    plain = posted(tmp_path, _RUN, {})
    assert (isolated["isolated"], isolated["threads"], isolated["warnings"]) == (True, [1, 2, 2, 1], [])
    assert (plain["isolated"], plain["threads"]) == (False, [1, 1, 1, 1])
    (warning,) = plain["warnings"]
    assert all(header in warning for header in ISOLATED)
    relaxed, relaxed_threads, fixed_threads, fixed = isolated["outputs"]
    assert relaxed == relaxed_threads and fixed == fixed_threads
    assert plain["outputs"] == [relaxed, relaxed, fixed, fixed]
    for outputs in (relaxed, fixed):
        np.testing.assert_allclose(np.reshape(outputs, wanted.shape), wanted, atol=1e-5)


def test_the_demo_page_of_a_package_runs_the_model(tmp_path: Path) -> None:
    digits(tmp_path)
    facts = posted(tmp_path, _DEMO, {})
    assert facts["state"].startswith("loaded in ") and facts["state"].endswith("threads: 1")
    assert facts["result"].startswith("probabilities float32[1,10]: ")
    values = [float(text) for text in facts["result"].partition(": ")[2].split()]
    nothing = np.zeros((1, 64), np.float32)
    wanted = stepwell.compile(DIGITS).run({"pictures": nothing})["probabilities"].astype(np.float64)
    np.testing.assert_allclose(values, wanted[0], rtol=2e-3)
