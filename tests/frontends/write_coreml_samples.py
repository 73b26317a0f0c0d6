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

from tests.frontends.coreml_cases import Case, cases, converted, expected, numbers, write
from tests.frontends.coreml_programs import programs
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
    add_package(archive, case.name, converted(case))
    data = arrays(case.inputs, expected(case))
    archive.writestr(zipfile.ZipInfo(f"{case.name}.npz"), data, zipfile.ZIP_DEFLATED)


def add_package(archive: zipfile.ZipFile, name: str, model: Any) -> None:
    """Add the files of a package."""
    with TemporaryDirectory() as folder:
        package = Path(folder) / f"{name}.mlpackage"
        model.save(str(package))
        fixed(package)
        for file in sorted(path for path in package.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(str(file.relative_to(folder)))
            archive.writestr(info, file.read_bytes(), zipfile.ZIP_DEFLATED)


def write_compressed(archive: zipfile.ZipFile) -> None:
    """
    Write a model with weights as integers with scales, in tables, and in blocks; each also as the numbers
    that these weights stand for.
    """
    optimize: Any = import_module("coremltools.optimize.coreml")
    case = models()[2]
    scaled = optimize.OpLinearQuantizerConfig(weight_threshold=0)
    tables = optimize.OpPalettizerConfig(mode="uniform", nbits=2, weight_threshold=0)
    blocks = optimize.OpLinearQuantizerConfig(
        weight_threshold=0, dtype="int4", granularity="per_block", block_size=2
    )
    grouped = optimize.OpPalettizerConfig(
        mode="uniform", nbits=2, weight_threshold=0, granularity="per_grouped_channel", group_size=2
    )
    kinds = {
        "scaled": ("iOS16", optimize.linear_quantize_weights, scaled),
        "tables": ("iOS16", optimize.palettize_weights, tables),
        "blocks": ("iOS18", optimize.linear_quantize_weights, blocks),
        "grouped": ("iOS18", optimize.palettize_weights, grouped),
    }
    for name, (target, compress, config) in kinds.items():
        dense = converted(case._replace(target=target))
        made = compress(dense, config=optimize.OptimizationConfig(global_config=config))
        add_package(archive, name, made)
        add_package(archive, f"{name}_dense", optimize.decompress_weights(made))


def main() -> None:
    """Write all samples."""
    FOLDER.mkdir(exist_ok=True)
    with zipfile.ZipFile(FOLDER / "operators.zip", "w", compresslevel=9) as archive:
        for case in cases():
            print(case.name)
            add(archive, case)
    with zipfile.ZipFile(FOLDER / "compressed.zip", "w", compresslevel=9) as archive:
        write_compressed(archive)
    with zipfile.ZipFile(FOLDER / "control.zip", "w", compresslevel=9) as archive:
        for program in programs():
            add_package(archive, program.package, program.make())
            for i, (inputs, results) in enumerate(program.runs):
                name = zipfile.ZipInfo(f"{program.package}-{i}.npz")
                archive.writestr(name, arrays(inputs, results), zipfile.ZIP_DEFLATED)
    for case in models():
        package = FOLDER / f"{case.name}.mlpackage"
        shutil.rmtree(package, ignore_errors=True)
        write(case, package)
        fixed(package)
        (FOLDER / f"{case.name}.npz").write_bytes(arrays(case.inputs, expected(case)))


if __name__ == "__main__":
    main()
