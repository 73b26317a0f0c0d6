"""The conversion of a model to level 1, judged against a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter

from stepwell.dialects.foreign.model_dialect import model_dialect
from stepwell.passes import PassContext
from stepwell.passes.base import Numerics
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array
from stepwell.tools.check.judgement import judged
from stepwell.tools.check.model_values import ModelValues
from stepwell.tools.check.rows import Row, Status
from stepwell.tools.check.validation import Known, judged_row, refused_row, roundings_of
from stepwell.tools.driver.compilation import Compilation, conversion_of, main_of
from stepwell.tools.driver.levels import to_graph
from stepwell.tools.driver.model_interface import read_interface

_SIZES = "shape-mismatch"
"""The error of a model that asserts sizes which its inputs do not have."""


def judged_conversion(
    compilation: Compilation, values: ModelValues, inputs: Sequence[Array], wanted: Mapping[str, Array] | None
) -> tuple[Row | None, Known | None]:
    """
    Convert a model to level 1, and run it there.

    Args: `wanted` has a reference's values by name; None without a reference.
    Returns: the row of the conversion, None for a program that is at level 1 already; the inputs and results
    of `@main`, None where the interpreter does not run it.
    Raises: StepwellError of the conversion.
    """
    begin = perf_counter()
    has_nodes = model_dialect(compilation.module) is not None
    conversion = conversion_of(compilation.module)
    with PassContext.current().watched_by([values.origins]):
        to_graph(compilation)
    row = Row("graph", conversion, None, Status.UNJUDGED)
    names = [spec.name for spec in read_interface(main_of(compilation.module)).outputs]
    try:
        known = Known(inputs, *values.start(compilation.module, compilation.ctx, inputs))
        row = _against(wanted, values, known, row, names, roundings_of(compilation.module))
    except StepwellError as error:
        row, known = refused_row(row, error), None
        if error.code == _SIZES or not {*names} <= (wanted or {}).keys():
            row = replace(row, status=Status.UNJUDGED)  # the inputs are at fault, or may be
    return replace(row, seconds=perf_counter() - begin) if has_nodes else None, known


def _against(
    wanted: Mapping[str, Array] | None,
    values: ModelValues,
    known: Known,
    row: Row,
    names: Sequence[str],
    numerics: Numerics,
) -> Row:
    """The row of a program by a reference's values, or why these do not judge it."""
    if wanted is None:
        return replace(row, note="a program as text has no reference")
    if (departing := values.departing_from(wanted, numerics)) is not None:
        return judged_row(row, departing)
    if unknown := [name for name in names if name not in wanted]:
        return replace(row, note=f"the reference cannot compute output {unknown[0]!r}")
    outputs = [wanted[name] for name in names]
    return judged_row(row, judged(outputs, known.results, numerics, of_model=True, slack=known.slack))
