"""
Keras archives (`.keras`), read by Keras in a separate process: loading an archive can run code.

The process writes level 0 as text with a file of weights, which is read here. An archive is to be trusted as
a program is, although Keras reads it in its safe mode.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.reader_process import ending, reported_error, run_reader
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import expect_exists
from stepwell.tools.driver.ir_files import read_ir

MIN_VERSION = (3, 13, 2)
"""Older versions can be led around the safe mode (CVE-2026-1462)."""
_SECONDS = 600
_BACKENDS = ("torch", "jax", "tensorflow")


def read_archive(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    An archive as a module of level 0, for batches of any size.

    Raises: StepwellError `no-file`, `missing-package`; `unsafe-file` for a Lambda layer; `invalid-model` for
    an archive that Keras cannot load, `unsupported` for an older Keras, and errors of the model in it.
    """
    expect_exists(path, "model")
    if find_spec("keras") is None:
        message = f"reading {path.name} needs keras, which is not installed"
        raise StepwellError("missing-package", None, message, help="pip install 'stepwell[keras]'")
    with TemporaryDirectory() as folder:
        written = Path(folder) / f"{path.stem}.mlir"
        failure = StepwellError("invalid-model", str(path), "Keras did not load the archive")
        command = ["-m", __name__, str(path), str(written)]
        done = run_reader(command, failure, _SECONDS, environment=_environment())
        if done.returncode != 0:
            message = f"Keras ended with {ending(done.returncode)} while it read the archive"
            raise reported_error(done, str(path), StepwellError("invalid-model", str(path), message))
        return read_ir(written, ctx)


def _environment() -> Mapping[str, str]:
    """The environment with a backend that is installed, unless the user chose one."""
    found = next((name for name in _BACKENDS if find_spec(name) is not None), None)
    chosen = {} if found is None else {"KERAS_BACKEND": found}
    return {**chosen, **os.environ}


def _main(path: str, written: str) -> None:
    """Load an archive and write its module, in the process of its own. Raises: StepwellError."""
    keras: Any = import_module("keras")
    version = tuple(int(part) for part in str(keras.__version__).split(".")[:3] if part.isdigit())
    if version < MIN_VERSION:
        message = f"keras {keras.__version__} does not load archives safely"
        raise StepwellError("unsupported", None, message, help="pip install 'stepwell[keras]'")
    try:
        model = keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # keras raises exceptions of many classes
        text = " ".join(str(error).split()) or type(error).__name__
        if "Lambda" in text:
            message, help = "the archive has a Lambda layer, which is code", "write a layer of its own class"
            raise StepwellError("unsafe-file", None, message, help=help) from None
        raise StepwellError("invalid-model", None, f"Keras cannot load the archive: {text[:300]}") from None
    from stepwell.tools.api.reading import read

    read(model).save(written)


if __name__ == "__main__":
    try:
        _main(*sys.argv[1:])
    except StepwellError as error:
        print(json.dumps({"code": error.code, "message": error.message, "help": error.help}))
        sys.exit(1)
