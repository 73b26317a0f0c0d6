"""`tuning.tune` and `tuning.build` for models and templates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from stepwell.runtime.errors import StepwellError
from stepwell.tools.tuning.report import TuningReport
from stepwell.tools.tuning.templates import Template, TemplateReport, build_template, tune_template
from stepwell.tools.tuning.tune import tune as tune_model

if TYPE_CHECKING:
    from stepwell.runtime.model import CompiledModel
    from stepwell.tools.driver.options import Model


@overload
def tune(what: Template, arguments: Sequence[object] = (), **keywords: Any) -> TemplateReport: ...
@overload
def tune(what: Model, arguments: Sequence[object] = (), **keywords: Any) -> TuningReport: ...
def tune(
    what: Template | Model, arguments: Sequence[object] = (), **keywords: Any
) -> TemplateReport | TuningReport:
    """
    Search the schedules of a model's kernels, or the choices of a template for arguments.

    Keywords are those of `stepwell.tune`; for a template `db`, `trials`, `search`, `seed` and `runner`.
    Raises: StepwellError `bad-option`, `cannot-write`, `bad-space`; as compiling.
    """
    if isinstance(what, Template):
        return tune_template(what, arguments, **keywords)
    if arguments:
        raise StepwellError("bad-option", None, "arguments are for templates, found some for a model")
    return tune_model(what, **keywords)


def build(what: Template, arguments: Sequence[object], *, db: str | Path, **keywords: Any) -> CompiledModel:
    """The compiled formula of a template by the best choice of a database; keywords are compile options."""
    return build_template(what, arguments, db=db, **keywords)
