"""
`.pt2` files, as `torch.export.save` writes them, without torch: JSON, and weights where they are in the file.

Pickles in the file, such as its example inputs, are never opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.torch.archive import Archive
from stepwell.frontend.torch.build import build_module
from stepwell.frontend.torch.fields import Fields
from stepwell.frontend.torch.json_graph import GraphReader
from stepwell.frontend.torch.records import Array, TorchProgram
from stepwell.runtime.errors import StepwellError

MAJORS: Mapping[int, str] = {8: "torch 2.7 to 2.13"}
"""The major versions of the schema that are read, with the versions of torch that write them."""


def read_pt2(path: Path, ctx: StepwellContext, check_guards: bool = True) -> ModuleOp:
    """
    A file as a module of level 0.

    Args: calls with sizes that torch did not export the program for are errors with `check_guards`.
    Raises: StepwellError `no-file`, `invalid-model`, `unsafe-file`, `unsupported` for another version.
    """
    archive = Archive(Path(path))
    program = _program(archive)
    ctx.weights.rest_on([archive.state])
    if not check_guards:
        program.guards = ()
    return build_module(program, ctx)


def _program(archive: Archive) -> TorchProgram:
    from stepwell.frontend.torch.stored_weights import stored_arrays

    models = archive.members("models/", ".json")
    if len(models) != 1:
        names = ", ".join(models) or "none"
        help = "torch.export.save writes files with one program"
        raise archive.invalid(f"expected one program in the file, found {names}", help=help)
    (member,) = models
    title = member.removeprefix("models/").removesuffix(".json")
    fields = Fields(archive.json(member), archive.name, member)
    _expect_version(fields)
    weights: dict[str, Array] = {}
    for kind in ("weights", "constants"):
        weights |= stored_arrays(archive, f"data/{kind}/", f"{title}_{kind}_config.json")
    return GraphReader(fields, weights).program()


def _expect_version(fields: Fields) -> None:
    """Require a version of the schema that this reader knows. Raises: StepwellError `unsupported`."""
    major = fields.child("schema_version").integer("major")
    if major in MAJORS:
        return
    version = fields.string("torch_version") if "torch_version" in fields else "an unknown version"
    known = " or ".join(f"{number} ({versions})" for number, versions in MAJORS.items())
    raise StepwellError(
        "unsupported",
        fields.file,
        f"the file has version {major} of torch's schema, written by torch {version}; expected {known}",
        help="give the program itself to stepwell.compile: torch.export.load(file), where torch is installed",
    )
