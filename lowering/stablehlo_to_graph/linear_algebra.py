"""Linear algebra of JAX's runtime for CPUs, which calls LAPACK: numpy computes it on the host."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute

from stepwell.dialects.graph.host import numpy_call
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.stablehlo_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value

Letters = Mapping[str, str]
"""The options of a routine of LAPACK, a letter each: `{"uplo": "L"}`."""
Attributes = Mapping[str, bool]
_TARGET = re.compile(r"(?:lapack|blas)_(?P<kind>[sdcz])(?P<routine>[a-z]+\d?)_ffi")


class _Routine(NamedTuple):
    """A routine of LAPACK: the function of the host that computes it."""

    function: str
    operands: int
    results: int
    """The most results that are values; workspaces follow."""
    least: int
    """The least results: newer versions of JAX leave out the state of routines that do not fail."""
    attributes: Callable[[Call, Letters], Attributes] = lambda call, letters: {}


def lapack_call(call: Call) -> list[Value | None] | None:
    """
    The results of a call of LAPACK; None for a call of something else.

    Raises: StepwellError `unsupported` for another routine, complex numbers, operands that are no matrices.
    """
    target = str(call.value("call_target_name"))
    if (found := _TARGET.fullmatch(target)) is None:
        return None
    if found["kind"] in "cz":
        raise call.unsupported(f"{target} computes complex numbers")
    if (routine := _ROUTINES.get(found["routine"])) is None:
        help = f"these routines are: {', '.join(sorted(_ROUTINES))}"
        raise call.unsupported(f"the routine {target} of LAPACK is not supported", help=help)
    operands = call.tensors()[: routine.operands]
    if len(operands) < routine.operands or operands[0].rank < 2 or len(call.op.results) < routine.least:
        message = f"{target} takes {routine.operands} operands, the first a matrix"
        raise call.unsupported(f"{message}, and has {routine.least} results")
    types = [result.type for result in call.op.results[: routine.results]]
    made = _on_host(call, routine.function, routine.attributes(call, _letters(call)), operands, types)
    return [*made, *([None] * (len(call.op.results) - len(made)))]


def _letters(call: Call) -> Letters:
    pairs = (each.partition("=") for each in str(call.value("config")).split(",") if each)
    return {name: letter for name, _, letter in pairs}


def _on_host(
    call: Call, function: str, attributes: Attributes, operands: Sequence[Value], types: Sequence[Attribute]
) -> list[Value]:
    """The results of a function of the host. Raises: StepwellError `unsupported`."""
    if operands[0].element not in (f32, f64):
        raise call.unsupported(f"linear algebra of {operands[0].element}")
    made = numpy_call(f"host.{function}", attributes, [each.ssa for each in operands], types)
    return call.insert(made)


def _letter(call: Call, letters: Letters, name: str, legal: str) -> str:
    """An option of a routine. Raises: StepwellError `unsupported` where it is missing or unknown."""
    if (letter := letters.get(name, "")) and letter in legal:
        return letter
    raise call.unsupported(f"its option {name} must be one of {', '.join(legal)}, found {letter or 'none'}")


def _triangle(call: Call, letters: Letters) -> Attributes:
    return {"lower": _letter(call, letters, "uplo", "LU") == "L"}


def _solve(call: Call, letters: Letters) -> Attributes:
    return {
        "left": _letter(call, letters, "side", "LR") == "L",
        "lower": _letter(call, letters, "uplo", "LU") == "L",
        "transposed": _letter(call, letters, "trans_x", "NTC") != "N",
        "unit": _letter(call, letters, "diag", "NU") == "U",
    }


def _svd(call: Call, letters: Letters) -> Attributes:
    """Whether all vectors are wanted, as the types of the results have it, or any."""
    rows, columns = call.tensors()[0].dims[-2:]
    left, right = (dims_of(call.op.results[number].type)[-2:] for number in (2, 3))
    return {"full": (*left, *right) == (rows, rows, columns, columns), "vectors": letters.get("mode") != "N"}


_ROUTINES: Mapping[str, _Routine] = {
    "geqrf": _Routine("qr", 1, 3, 2),
    "gesdd": _Routine("svd", 1, 5, 5, _svd),
    "gesvd": _Routine("svd", 1, 5, 5, _svd),
    "getrf": _Routine("lu", 1, 3, 3),
    "orgqr": _Routine("householder_product", 2, 2, 1),
    "potrf": _Routine("cholesky", 1, 2, 2, _triangle),
    "syevd": _Routine("eigh", 1, 3, 3, _triangle),
    "trsm": _Routine("triangular_solve", 2, 1, 1, _solve),
}


@converts("cholesky")
def cholesky(call: Call) -> Value:
    """The Cholesky factor; the program does not read the other triangle."""
    x = call.tensor()
    types = [x.ssa.type, tensor_type(i32, x.dims[:-2])]
    return _on_host(call, "cholesky", {"lower": call.flag("lower")}, [x], types)[0]


@converts("triangular_solve")
def triangular_solve(call: Call) -> Value:
    """The solution of equations with a triangular matrix."""
    x, y = call.tensor(), call.tensor("y")
    given = {"left": call.flag("left_side"), "lower": call.flag("lower")}
    given |= {"transposed": call.value("transpose_a") != "NO_TRANSPOSE", "unit": call.flag("unit_diagonal")}
    return _on_host(call, "triangular_solve", given, [x, y], [y.ssa.type])[0]
