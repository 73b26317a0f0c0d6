"""The program of the worker processes of the language server, which parse and run passes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from io import StringIO
from typing import IO

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Head, read_frame, write_frame
from stepwell.tools.driver.plugins import load_plugin
from stepwell.tools.failure import user_error
from stepwell.tools.lsp import catalogue
from stepwell.tools.lsp.reading import in_other_form, read
from stepwell.tools.lsp.transform import lowered, run_pass, run_test

ON_TEXTS: Mapping[str, Callable[..., object]] = {
    "read": read,
    "form": in_other_form,
    "pass": run_pass,
    "lower": lowered,
    "test": run_test,
}
"""What can be asked about a text: functions of it and of the other values of the request."""


def command(argv: Sequence[str]) -> tuple[int, str]:
    """Run a command of `stepwell`; returns its exit status, and what it prints."""
    from stepwell.tools.cli import main

    shown = StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        status = main(argv)
    return status, shown.getvalue()


OTHERS: Mapping[str, Callable[..., object]] = {
    "command": command,
    "load": load_plugin,
    "dialects": catalogue.dialects,
    "ops": catalogue.ops_of,
    "attributes": catalogue.attributes_of,
    "op": catalogue.op_page,
    "attribute": catalogue.attribute_page,
    "words": catalogue.words_of,
    "passes": catalogue.passes,
    "pass-page": catalogue.pass_page,
    "options": catalogue.options_of,
    "weight": catalogue.weight_page,
}


def answer(head: Head, text: str) -> object:
    """The answer to a request. Raises: StepwellError, KeyError for an unknown one."""
    values = dict(head)
    what = str(values.pop("do"))
    return ON_TEXTS[what](text, **values) if what in ON_TEXTS else OTHERS[what](**values)


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until they end."""
    while (frame := read_frame(requests)) is not None:
        failed: StepwellError | None = None
        found: object = None
        try:
            found = answer(frame.head, frame.body.decode())
        except Exception as error:
            failed = user_error(error)
        facts = {"error": None if failed is None else failed.render()}
        write_frame(replies, facts, json.dumps(found, default=asdict).encode())
