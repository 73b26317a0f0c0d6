"""Models as C source, built by the system's compiler and run on arrays."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import stepwell
from stepwell.lowering.export import Exported
from stepwell.lowering.export.entry_object import is_allocated
from stepwell.lowering.export.names import caller_symbols, identifiers
from stepwell.runtime.image import Entry
from stepwell.runtime.interface import Array, TensorSpec
from tests.support.c_programs import C99

SANITIZED = ("-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")

_DRIVER = """
#include "{name}.h"
#include <stdio.h>
#include <stdlib.h>
static void *slots[256];
static void *allocate(void *user, int64_t slot, int64_t bytes) {{
  (void)user;
  free(slots[slot]);
  return slots[slot] = aligned_alloc(64, (size_t)(bytes + 64) / 64 * 64);
}}
static void *input(const char *path, size_t bytes) {{
  void *data = malloc(bytes + 1);
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(data, 1, bytes, file) != bytes) exit(3);
  fclose(file);
  return data;
}}
static void output(const char *path, const void *data, size_t bytes) {{
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, bytes, file) != bytes) exit(4);
  fclose(file);
}}
int main(void) {{
{body}
}}
"""


def run_source(
    model: object, feeds: Sequence[Array], folder: Path, *flags: str, **options: object
) -> list[Array]:
    """
    The outputs of a model that is exported as C, built with warnings as errors, and run.

    Args: `flags` are further ones of the compiler; `options` those of the export.
    Raises: subprocess.CalledProcessError with the compiler's or the program's own words.
    """
    done = stepwell.export(model, folder / "m.c", **options)  # pyright: ignore
    return run_files(done, entry_of(done), feeds, folder, flags or ("-O1",))


def entry_of(done: Exported) -> Entry:
    """The function of an export, which its description has."""
    import json
    import re

    text = next(file for file in done.files if file.name == "m.c").read_text()
    if (found := re.search(r'_json\(void\) \{\n  return "(.*)";', text)) is not None:
        data = re.sub(r"\\([0-7]{3}|.)", _unescaped, found[1]).encode("latin-1").decode()
    else:
        numbers = re.findall(r"\d+", text[text.index("static const unsigned char text[] = {") :])
        data = bytes(map(int, numbers[:-1])).decode()
    return Entry.from_json(json.loads(data)["function"], (), ())


def _unescaped(match: object) -> str:
    code = match[1]  # pyright: ignore
    return chr(int(code, 8)) if len(code) == 3 else code


def run_files(
    done: Exported, entry: Entry, feeds: Sequence[Array], folder: Path, flags: Sequence[str]
) -> list[Array]:
    """The outputs of an export as C."""
    for number, array in enumerate(feeds):
        np.ascontiguousarray(array).tofile(folder / f"in{number}.bin")
    (folder / "driver.c").write_text(_DRIVER.format(name="m", body=_body(entry, feeds)))
    sources = [file.name for file in done.files if file.suffix == ".c"]
    compiler = C99[0]
    for source in sources:
        _run([compiler, *STRICT, *flags, "-c", source], folder)
    objects = [Path(source).with_suffix(".o").name for source in sources]
    _run([compiler, *flags, "driver.c", *objects, "-o", "driver"], folder)
    _run(["./driver"], folder)
    sizes = _values(entry, feeds) | _published(entry, folder)
    return [_read(folder / f"out{n}.bin", spec, sizes) for n, spec in enumerate(entry.interface.outputs)]


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"


def _values(entry: Entry, feeds: Sequence[Array]) -> dict[str, int]:
    """The sizes that the inputs have."""
    found: dict[str, int] = {}
    for spec, array in zip(entry.interface.inputs, feeds, strict=True):
        for dim, size in zip(spec.dims, array.shape, strict=True):
            if str(dim) in dim.symbols():
                found[str(dim)] = size
    return found


def _published(entry: Entry, folder: Path) -> dict[str, int]:
    if not entry.interface.published:
        return {}
    numbers = np.fromfile(folder / "shapes.bin", np.int64).tolist()
    return dict(zip(entry.interface.published, numbers, strict=True))


def _read(path: Path, spec: TensorSpec, sizes: Mapping[str, int]) -> Array:
    shape = [dim.evaluate(sizes) for dim in spec.dims]
    return np.fromfile(path, spec.dtype).reshape(shape)


def _body(entry: Entry, feeds: Sequence[Array]) -> str:
    """The statements of `main`."""
    interface, symbols = entry.interface, caller_symbols(entry)
    values = _values(entry, feeds)
    names = identifiers([spec.name for spec in interface.inputs])
    outs = identifiers([spec.name for spec in interface.outputs])
    lines = ["m_inputs in;", "m_outputs out;", "m_call call = {0};", "int32_t status;"]
    lines += [f"m_dims dims = {{{', '.join(str(values[s]) for s in symbols)}}};"] if symbols else []
    lines += ["m_shapes shapes;"] if interface.published else []
    for number, (name, array) in enumerate(zip(names, feeds, strict=True)):
        lines.append(f'in.{name} = input("in{number}.bin", {array.nbytes});')
    sizes: list[str] = []
    for number, (spec, name) in enumerate(zip(interface.outputs, outs, strict=True)):
        if is_allocated(spec, interface):
            lines += [f"void *found{number};", f"out.{name} = (void *)&found{number};"]
            published = dict(zip(interface.published, identifiers(interface.published), strict=True))
            parts = [
                f"(size_t)shapes.{published[str(d)]}" if str(d) in published else str(d.evaluate(values))
                for d in spec.dims
            ]
            sizes.append(" * ".join([str(spec.dtype.itemsize), *parts]))
        else:
            count = spec.dtype.itemsize
            for dim in spec.dims:
                count *= dim.evaluate(values)
            sizes.append(str(count))
            lines.append(f"out.{name} = malloc({count} + 1);")
    dims = "&dims" if symbols else ""
    lines += [
        f"call.workspace_bytes = (size_t)m_workspace_bytes({dims});",
        "call.workspace = allocate(0, 255, (int64_t)call.workspace_bytes);",
        "call.allocate = allocate;",
    ]
    arguments = ["&in", "&out", *(["&dims"] if symbols else [])]
    arguments += ["&shapes"] if interface.published else []
    lines.append(f"status = m_run({', '.join([*arguments, '&call'])});")
    lines.append("if (status != 0) { puts(m_message(status)); return 1; }")
    for number, (spec, name, size) in enumerate(zip(interface.outputs, outs, sizes, strict=True)):
        place = f"found{number}" if is_allocated(spec, interface) else f"out.{name}"
        lines += [f'output("out{number}.bin", {place}, {size});']
        lines += [] if is_allocated(spec, interface) else [f"free({place});"]
    lines += [f"free((void *)in.{name});" for name in names]
    lines += ['output("shapes.bin", &shapes, sizeof shapes);'] if interface.published else []
    lines += ["for (int i = 0; i < 256; i++) free(slots[i]);", "return 0;"]
    return "\n".join(f"  {line}" for line in lines)
