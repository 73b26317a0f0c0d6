"""The playground of a model: its server, with the kernels that can be edited."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from stepwell.passes.context import PassContext
from stepwell.runtime.model import checked_threads
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.explore.serve.cases import kernel_cases
from stepwell.tools.explore.serve.server import Server, Site
from stepwell.tools.explore.serve.tries import Tries


def playground(
    model: Path,
    options: CompileOptions,
    data: Mapping[str, object],
    page: str,
    feeds: Mapping[str, object],
    *,
    run: bool = True,
    threads: int | None = None,
    port: int = 0,
    trusts_ir: bool = False,
) -> Server:
    """
    A server of the explorer's page of a model, and of tries of its kernels on their inputs in the model.

    Args: `data` is the explorer's; `feeds`, `run` and `threads` as of `collect`; `port` 0 is any free one;
    `trusts_ir` admits text of the levels `loops` and `llvm`.
    Raises: StepwellError of the step that failed; `cannot-serve`.
    """
    cases = kernel_cases(model, options, feeds, run=run, threads=threads)
    kernels = cast("list[Data]", data["kernels"])
    by_id = {str(each["id"]): cases[str(each["symbol"])] for each in kernels if each["symbol"] in cases}
    tries = Tries(
        by_id, options.description(), PassContext.current(), checked_threads(threads), Path.cwd(), trusts_ir
    )
    server = Server(Site(page.encode(), data, tries), port)
    tries.prepare()
    return server
