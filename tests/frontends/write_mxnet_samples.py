"""
Writes the samples of `tests/models/mxnet/`: symbols with their parameters, and the results of MXNet. Run
`python -m tests.frontends.write_mxnet_samples` where mxnet 1.9.1 and numpy 1.23 are installed.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.frontends.mxnet_cases import cases, models, written
from tests.frontends.sample_files import arrays

FOLDER = Path(__file__).resolve().parents[1] / "models" / "mxnet"


def main() -> None:
    """Write all samples."""
    FOLDER.mkdir(exist_ok=True)
    with zipfile.ZipFile(FOLDER / "operators.zip", "w", compresslevel=9) as archive:
        for case in cases():
            with TemporaryDirectory() as folder:
                _, results = written(case, Path(folder))
                for file in sorted(Path(folder).iterdir()):
                    info = zipfile.ZipInfo(file.name)
                    archive.writestr(info, file.read_bytes(), zipfile.ZIP_DEFLATED)
            data = arrays(case.inputs, results)
            archive.writestr(zipfile.ZipInfo(f"{case.name}.npz"), data, zipfile.ZIP_DEFLATED)
    for case in models():
        _, results = written(case, FOLDER)
        (FOLDER / f"{case.name}.npz").write_bytes(arrays(case.inputs, results))


if __name__ == "__main__":
    main()
