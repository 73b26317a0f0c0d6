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

MAJORS: Mapping[int, str] = {8: "torch 2.7 to 2.15"}
"""The major versions of the schema that are read, with the versions of torch that write them."""


def read_pt2(
    path: Path, ctx: StepwellContext, check_guards: bool = True, weights_from: Path | None = None
) -> ModuleOp:
    """
    A file as a module of level 0.

    Args: with `check_guards`, calls with sizes for which torch did not export the program are errors;
    `weights_from` is a safetensors file, or an index of several, whose tensors replace the weights of their
    names.
    Raises: StepwellError `no-file`, `invalid-model`, `unsafe-file`, `unsupported` for another version,
    `invalid-weights`, `bad-model` for tensors that do not fit.
    """
    archive = Archive(Path(path))
    program = _program(archive)
    ctx.weights.rest_on([archive.state])
    if not check_guards:
        program.guards = ()
    if weights_from is not None:
        _replace_weights(program, weights_from, ctx)
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


def _replace_weights(program: TorchProgram, path: Path, ctx: StepwellContext) -> None:
    """
    Replace the weights of a program by views of the tensors in a file; weights without a tensor stay.

    Raises: StepwellError `bad-model` that lists tensors of another shape or type, and for a file with none.
    """
    from stepwell.frontend.safetensors import stored_tensors

    stored, files = stored_tensors(path)
    ctx.weights.rest_on(files.states)
    given = {value: (own, stored[own]) for value, (own, _) in program.weights.items() if own in stored}
    if not given:
        wanted = next((own for own, _ in program.weights.values()), "none")
        message = f"no tensor of {path} is a weight of the program"
        raise StepwellError("bad-model", program.name, message, note=f"one of its weights is {wanted}")
    wrong = [
        f"{own}: expected {old.dtype.name} {list(old.shape)}, found {new.dtype.name} {list(new.shape)}"
        for own, new, old in ((own, new, program.weights[value][1]) for value, (own, new) in given.items())
        if (old.dtype, old.shape) != (new.dtype, new.shape)
    ]
    if wrong:
        message = f"{len(wrong)} tensors of {path} do not fit the program"
        raise StepwellError("bad-model", program.name, message, note=wrong)
    program.weights |= given


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
