"""Chromium without a window; `python -m tests.explore.browser` takes the pictures of the docs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from stepwell.tools.explore.page_file import explorer_page
from tests.support.components import needs_node_package, needs_program

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits.onnx"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECONDS = 120
ASSETS = ROOT / "docs" / "assets"
PICTURES = {
    "explorer": ("digits", "node=layer0"),
    "explorer-passes": ("digits", "node=softmax&level=tensor,diff&pass=15&table=kernels"),
    "explorer-tiny": ("tiny", "node=product"),
}
"""The pictures of the docs: the model of each, and the address of the view."""
_COMPARE = """<img src="data:image/png;base64,{}"><img src="data:image/png;base64,{}"><pre></pre><script>
const pixels = [...document.images].map((image) => {{
  const canvas = new OffscreenCanvas(image.width / {scale}, image.height / {scale})
  const context = canvas.getContext("2d")
  context.imageSmoothingQuality = "high"
  context.drawImage(image, 0, 0, canvas.width, canvas.height)
  return context.getImageData(0, 0, canvas.width, canvas.height).data
}})
const departs = pixels[0].filter((value, i) => Math.abs(value - pixels[1][i]) > {threshold}).length
document.querySelector("pre").textContent = departs / pixels[0].length
</script>"""


def browser(folder: Path, *options: str) -> str:
    """What Chromium prints, offline and with a profile of its own."""
    command = [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={folder / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True).stdout


def dom(page: Path, address: str) -> str:
    """The document when it has loaded, which is after the page's script ran."""
    return browser(page.parent, "--dump-dom", f"{page.as_uri()}#{address}&selftest")


def selftest(page: Path, address: str = "") -> Any:
    """The facts that the page says about itself; an error in the page is one here."""
    (found,) = re.findall(r'<pre data-testid="selftest">(.*?)</pre>', dom(page, address), re.DOTALL)
    facts = json.loads(unescape(found))
    assert facts["errors"] == [], facts["errors"]
    return facts


def run_script(script: Path, page: str) -> None:
    """Run a test of node in Chromium, with the address of the page; it is skipped without node."""
    environment = os.environ | {"NODE_PATH": needs_node_package("playwright-core")}
    command = [needs_program("node"), str(script), str(BROWSER), page]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr


def _models(folder: Path) -> dict[str, Path]:
    """The models of the pictures: an example, and the one that docs/first-steps.md makes."""
    text = (ROOT / "docs" / "first-steps.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[:1]
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=SECONDS)
    return {"digits": DIGITS, "tiny": folder / "tiny.onnx"}


def pictures(folder: Path) -> list[Path]:
    """Pictures in a folder, of pages without times: they are the same on all machines."""
    pages: dict[str, Path] = {}
    for name, model in _models(folder).items():
        command = f"stepwell explore {model.name} --mcpu x86-64-v3 --no-run"
        data = collect(model, CompileOptions(profile=True, mcpu="x86-64-v3"), command=command, run=False)
        pages[name] = folder / f"{name}.html"
        pages[name].write_text(explorer_page(data), encoding="utf-8")
    made: list[Path] = []
    for name, (model, address) in PICTURES.items():
        made.append(folder / f"{name}.png")
        size, file = "--window-size=1100,850", f"--screenshot={made[-1]}"
        # Without a budget, the picture is of the page before its script has drawn it.
        browser(folder, "--virtual-time-budget=20000", size, file, f"{pages[model].as_uri()}#{address}")
    return made


def difference(first: Path, second: Path, *, scale: int = 4, threshold: int = 40) -> float:
    """The share of the pixels of two pictures, each made smaller by `scale`, that differ by more of 255."""
    encoded = [b64encode(picture.read_bytes()).decode() for picture in (first, second)]
    with TemporaryDirectory() as folder:
        page = Path(folder, "difference.html")
        page.write_text(_COMPARE.format(*encoded, scale=scale, threshold=threshold), encoding="utf-8")
        (found,) = re.findall(r"<pre>(.+?)</pre>", browser(page.parent, "--dump-dom", page.as_uri()))
    return float(found)


def main() -> None:
    """Take the pictures again."""
    with TemporaryDirectory() as folder:
        for picture in pictures(Path(folder)):
            shutil.copyfile(picture, ASSETS / picture.name)


if __name__ == "__main__":
    main()
