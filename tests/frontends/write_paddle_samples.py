"""
Writes the samples of `tests/models/paddle/`: programs with their parameters, and the results of Paddle. Run
`python -m tests.frontends.write_paddle_samples` with paddlepaddle of version 3, then with version 2.
"""

from __future__ import annotations

import zipfile
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.frontends.paddle_cases import Case, cases, expected, models, write
from tests.frontends.paddle_control import control_cases
from tests.frontends.sample_files import arrays

FOLDER = Path(__file__).resolve().parents[1] / "models" / "paddle"


def add_control(archive: zipfile.ZipFile) -> None:
    """Add the cases with control flow: each program once, and the inputs and results of its runs."""
    for case in control_cases():
        if case.name.endswith("0"):
            add_program(archive, case._replace(name=case.name[:-1]))
        add_run(archive, case)


def add(archive: zipfile.ZipFile, case: Case) -> None:
    """Add a case to an archive: its program, its parameters, its inputs and results."""
    add_program(archive, case)
    add_run(archive, case)


def add_program(archive: zipfile.ZipFile, case: Case) -> None:
    """Add the program of a case, and its parameters."""
    with TemporaryDirectory() as folder:
        program = write(case, Path(folder))
        archive.writestr(
            zipfile.ZipInfo(f"{case.name}{program.suffix}"), program.read_bytes(), zipfile.ZIP_DEFLATED
        )
        parameters = program.with_suffix(".pdiparams")
        if parameters.exists():
            info = zipfile.ZipInfo(f"{case.name}.pdiparams")
            archive.writestr(info, parameters.read_bytes(), zipfile.ZIP_DEFLATED)


def add_run(archive: zipfile.ZipFile, case: Case) -> None:
    """Add the inputs and results of a case."""
    data = arrays(case.inputs, expected(case))
    archive.writestr(zipfile.ZipInfo(f"{case.name}.npz"), data, zipfile.ZIP_DEFLATED)


def main() -> None:
    """Write all samples: those of version 2 where that version is installed, else the others."""
    FOLDER.mkdir(exist_ok=True)
    if str(import_module("paddle").__version__).startswith("2."):
        with zipfile.ZipFile(FOLDER / "version_2.zip", "w", compresslevel=9) as archive:
            for case in [*cases(), *models()]:
                add(archive, case)
            add_control(archive)
        return
    with zipfile.ZipFile(FOLDER / "operators.zip", "w", compresslevel=9) as archive:
        for case in cases():
            add(archive, case)
    with zipfile.ZipFile(FOLDER / "control.zip", "w", compresslevel=9) as archive:
        add_control(archive)
    for case in models():
        write(case, FOLDER)
        (FOLDER / f"{case.name}.npz").write_bytes(arrays(case.inputs, expected(case)))


if __name__ == "__main__":
    main()
