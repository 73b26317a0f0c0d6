"""Chromium without a window; `python -m tests.explore.browser` takes the pictures of docs/explorer.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
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
PICTURES = {
    "explorer": "node=layer0",
    "explorer-passes": "node=softmax&level=tensor,diff&pass=16&table=kernels",
}
"""The pictures of the docs, and the addresses of their views."""


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


def pictures(page: Path, folder: Path) -> list[Path]:
    """Pictures of a page in a folder."""
    made: list[Path] = []
    for name, address in PICTURES.items():
        made.append(folder / f"{name}.png")
        size, file = "--window-size=1100,850", f"--screenshot={made[-1]}"
        # Without a budget, the picture is of the page before its script has drawn it.
        browser(page.parent, "--virtual-time-budget=20000", size, file, f"{page.as_uri()}#{address}")
    return made


def main() -> None:
    """Take the pictures again, of a page with times."""
    with TemporaryDirectory() as folder:
        page = Path(folder, "digits.html")
        command = "stepwell explore examples/digits.onnx"
        page.write_text(explorer_page(collect(DIGITS, CompileOptions(profile=True), command=command)))
        pictures(page, ROOT / "docs" / "assets")


if __name__ == "__main__":
    main()
