"""
Writes the samples of `tests/models/coreml/`: packages by coremltools, with the results of the programs of
torch that they were made from. Run `python -m tests.frontends.write_coreml_samples` where both are installed.
"""

from __future__ import annotations

import shutil
import zipfile
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.frontends.coreml_cases import Case, cases, expected, numbers, write
from tests.frontends.sample_files import arrays
from tests.frontends.small_models import mobile, residual, transformer

FOLDER = Path(__file__).resolve().parents[1] / "models" / "coreml"


def models() -> list[Case]:
    """Small models of three kinds; the first also in 16 bits."""
    image, ids = numbers(1, 3, 16, 16), np.array([[1, 5, 2, 7, 0]], np.int32)
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    return [
        Case("residual", residual(torch), [image], open_batch=True),
        Case("residual_half", residual(torch), [image], half=True),
        Case("mobile", mobile(torch), [image]),
        Case("transformer", transformer(torch), [ids]),
    ]


def fixed(folder: Path) -> None:
    """Give the parts of a package names that do not change from one writing to the next."""
    manifest = folder / "Manifest.json"
    data: Any = import_module("json").loads(manifest.read_text())
    entries = data["itemInfoEntries"]
    names = {key: f"item-{entries[key]['name']}" for key in sorted(entries, key=lambda k: entries[k]["name"])}
    data["itemInfoEntries"] = {names[key]: entries[key] for key in names}
    data["rootModelIdentifier"] = names[data["rootModelIdentifier"]]
    manifest.write_text(import_module("json").dumps(data, indent=1))


def add(archive: zipfile.ZipFile, case: Case) -> None:
    """Add a case to an archive: the files of its package, and its inputs and results."""
    with TemporaryDirectory() as folder:
        package = Path(folder) / f"{case.name}.mlpackage"
        write(case, package)
        fixed(package)
        for file in sorted(path for path in package.rglob("*") if path.is_file()):
            name = zipfile.ZipInfo(str(file.relative_to(folder)))
            archive.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED)
    archive.writestr(
        zipfile.ZipInfo(f"{case.name}.npz"), arrays(case.inputs, expected(case)), zipfile.ZIP_DEFLATED
    )


def main() -> None:
    """Write all samples."""
    FOLDER.mkdir(exist_ok=True)
    with zipfile.ZipFile(FOLDER / "operators.zip", "w", compresslevel=9) as archive:
        for case in cases():
            print(case.name)
            add(archive, case)
    for case in models():
        package = FOLDER / f"{case.name}.mlpackage"
        shutil.rmtree(package, ignore_errors=True)
        write(case, package)
        fixed(package)
        (FOLDER / f"{case.name}.npz").write_bytes(arrays(case.inputs, expected(case)))


if __name__ == "__main__":
    main()
