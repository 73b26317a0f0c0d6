"""The process that runs fuzz cases: `python -m tests.fuzz.process` reads names and writes outcomes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from time import perf_counter

from tests.conformance.outcome import Outcome

SERVER = "tests.fuzz.process"
KEPT = ("text", "weights", "external")
"""Kinds of files that Stepwell writes, or that stand beside a model."""
FOREIGN = ("tflite", "pt2", "stablehlo", "mxnet", "paddle", "coreml", "safetensors")
"""Kinds of files that other frameworks write."""


def run_case(name: str) -> Outcome:
    """
    The outcome of a case by its name: `model:SEED`, `pass:PASS:SEED`, `zoo:PASS:MODEL`, `file:SEED`, …

    Raises: KeyError for a kind there is none of.
    """
    start = perf_counter()
    kind, _, rest = name.partition(":")
    try:
        status, reason = _CASES[kind](rest)
    except Exception as error:  # whatever it is, it is to be reported
        at = traceback.extract_tb(error.__traceback__)[-1]
        status, reason = "internal", f"{type(error).__name__} at {at.name}:{at.lineno}: {error}"[:300]
    return Outcome(name, status, reason, round(perf_counter() - start, 2))


def _model(seed: str) -> tuple[str, str]:
    from tests.fuzz.generate import random_program
    from tests.fuzz.models import check_model, opt_level_of

    return check_model(random_program(int(seed)), opt_level_of(int(seed)))


def _groups(seed: str) -> tuple[str, str]:
    from tests.fuzz.generate import random_groups
    from tests.fuzz.models import check_model, opt_level_of

    return check_model(random_groups(int(seed)), opt_level_of(int(seed)))


def _pass(rest: str) -> tuple[str, str]:
    from tests.fuzz.passes import check_pass

    pipeline, _, seed = rest.rpartition(":")
    return check_pass(pipeline, int(seed))


def _zoo(rest: str) -> tuple[str, str]:
    from tests.fuzz.passes import check_zoo

    pipeline, _, name = rest.rpartition(":")
    try:
        return check_zoo(pipeline, name)
    except FileNotFoundError as error:
        return "error", str(error)


def _file(seed: str) -> tuple[str, str]:
    from tests.fuzz.mutate import check_file

    return check_file(int(seed))


def _artifact(seed: str) -> tuple[str, str]:
    from tests.fuzz.mutate_artifacts import check_artifact

    return check_artifact(int(seed))


def _object(seed: str) -> tuple[str, str]:
    from tests.fuzz.mutate_artifacts import check_object

    return check_object(int(seed))


def _bytecode(seed: str) -> tuple[str, str]:
    from tests.fuzz.mutate_bytecode import check_bytecode

    return check_bytecode(int(seed))


def _formula(seed: str) -> tuple[str, str]:
    from tests.fuzz.formulas import check_formula

    return check_formula(int(seed))


def _kept(kind: str) -> Callable[[str], tuple[str, str]]:
    def check(seed: str) -> tuple[str, str]:
        from tests.fuzz.mutate_kept import check_kept

        return check_kept(kind, int(seed))

    return check


def _foreign(kind: str) -> Callable[[str], tuple[str, str]]:
    def check(seed: str) -> tuple[str, str]:
        from tests.fuzz.mutate_foreign import check_foreign

        return check_foreign(kind, int(seed))

    return check


_CASES: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "model": _model,
    "groups": _groups,
    "pass": _pass,
    "zoo": _zoo,
    "file": _file,
    "artifact": _artifact,
    "object": _object,
    "bytecode": _bytecode,
    "formula": _formula,
    **{kind: _kept(kind) for kind in KEPT},
    **{kind: _foreign(kind) for kind in FOREIGN},
}


def _serve() -> None:
    # Results go where the parent reads; whatever else prints goes to the terminal.
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from tests.support.kernel_workers import compile_kernels_here

    compile_kernels_here()
    for line in sys.stdin:
        results.write(run_case(line.strip()).to_line() + "\n")
        results.flush()


if __name__ == "__main__":
    _serve()
