"""
A project in a `.tar` file: library or C source, header, example, and `CMakeLists.txt`.

Its files have neither a time nor an owner, so a model gives the same bytes everywhere.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from stepwell.lowering.export import c_source, files
from stepwell.lowering.export.c_source import CProgram
from stepwell.lowering.export.example import example_program
from stepwell.lowering.export.files import Exported, ExportOptions, write_files
from stepwell.lowering.export.library_files import export_library
from stepwell.lowering.export.names import checked_name, default_name, joined_name
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.suffixes import PROJECT_SUFFIX
from stepwell.runtime.files.whole_files import check_place
from stepwell.runtime.image import Entry, ModelImage

SCHEMA = "stepwell-project/1"
_MODE = 0o644
_CMAKE = """\
cmake_minimum_required(VERSION 3.11)
project(@NAME@ C)
set(CMAKE_C_STANDARD 99)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

@LIBRARY@
"""
_EXAMPLE = """
add_executable(@EXAMPLE@_example @SOURCE@)
target_link_libraries(@EXAMPLE@_example @NAME@)
if(NOT CMAKE_CROSSCOMPILING)
  add_custom_command(TARGET @EXAMPLE@_example POST_BUILD
    COMMAND @EXAMPLE@_example ${CMAKE_CURRENT_SOURCE_DIR}/@NAME@.weights)
endif()
"""
_FROM_SOURCE = """\
add_library(@NAME@ STATIC @SOURCES@)
target_include_directories(@NAME@ PUBLIC include)"""
_FROM_ARCHIVE = """\
add_library(@NAME@ STATIC IMPORTED)
set_target_properties(@NAME@ PROPERTIES
  IMPORTED_LOCATION ${CMAKE_CURRENT_SOURCE_DIR}/lib/lib@NAME@.a
  INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_SOURCE_DIR}/include)"""


def export_image(
    image: ModelImage, path: str | Path, options: ExportOptions, relaxed: ModelImage | None = None
) -> Exported:
    """
    Write a compiled model to a file of a known suffix, with its header.

    Args: `relaxed` is the same model for WebAssembly with relaxed SIMD, which a package of npm contains too.
    Raises: StepwellError; nothing is left half written.
    """
    is_project = Path(path).suffix == PROJECT_SUFFIX
    if image.is_library and not (is_project and image.functions):
        return export_library(image, path, options, relaxed)
    if not is_project:
        return files.export_image(image, path, options, relaxed)

    def write(inner: Path, chosen: ExportOptions) -> Exported:
        export = export_library if image.is_library else files.export_image
        return export(image, inner, chosen)

    entries = image.functions if image.is_library else {"": image.main}
    triple = next(iter(entries.values())).variants[0].triple
    return _export(Path(path), triple, entries, options, write, ".a")


def export_source(program: CProgram, path: str | Path, options: ExportOptions) -> Exported:
    """Write the C of a program, or a project with it. Raises: StepwellError; nothing is left half written."""
    if Path(path).suffix != PROJECT_SUFFIX:
        return c_source.export_source(program, path, options)

    def write(inner: Path, chosen: ExportOptions) -> Exported:
        return c_source.export_source(program, inner, chosen)

    return _export(Path(path), program.triple, program.functions, options, write, ".c")


def _export(
    path: Path,
    triple: str,
    entries: Mapping[str, Entry],
    options: ExportOptions,
    write: Callable[[Path, ExportOptions], Exported],
    suffix: str,
) -> Exported:
    """
    Write a project.

    Args: `entries` by the name of the function, empty for a model that is no library; `write` exports them to
    a file of the suffix.
    Raises: StepwellError.
    """
    check_place(path)
    if options.weights == "extern" or options.host_calls != "refuse":
        message = "the example of a project has no memory for weights, and no function for host calls"
        raise StepwellError("bad-option", str(path), message, help="leave them out, or write FILE.a")
    name = checked_name(default_name(path.stem) if options.name is None else options.name)
    with TemporaryDirectory() as folder:
        done = write(Path(folder) / f"{name}{suffix}", options._replace(name=name))
        contents = {_place(file, name): file.read_bytes() for file in done.files}
    sources = sorted(each for each in contents if each.endswith(".c"))
    contents["CMakeLists.txt"] = _cmake(name, sources, list(entries)).encode()
    for function, entry in entries.items():
        text = example_program(joined_name(name, function), entry, options.weights, name)
        contents[_example(function)] = text.encode()
    contents["manifest.json"] = _manifest(name, triple, entries, done, contents).encode()
    write_files({path: [_archive({f"{name}/{each}": data for each, data in contents.items()})]})
    return done._replace(files=(path,))


def _place(file: Path, name: str) -> str:
    """The place of an exported file in the project."""
    places = {".h": f"include/{file.name}", ".a": f"lib/lib{name}.a", ".c": f"src/{file.name}"}
    return places.get(file.suffix, file.name)


def _example(function: str) -> str:
    """The place of the example of a function."""
    return f"example/{function or 'main'}.c"


def _cmake(name: str, sources: Sequence[str], functions: Sequence[str]) -> str:
    text = _CMAKE.replace("@LIBRARY@", _FROM_SOURCE if sources else _FROM_ARCHIVE)
    for function in functions:
        example = _EXAMPLE.replace("@EXAMPLE@", joined_name(name, function))
        text += example.replace("@SOURCE@", _example(function))
    return text.replace("@SOURCES@", " ".join(sources)).replace("@NAME@", name)


def _sides(entry: Entry) -> dict[str, object]:
    """The inputs and outputs of a function by name, with their types."""
    sides = {"inputs": entry.interface.inputs, "outputs": entry.interface.outputs}
    return {side: {spec.name: str(spec) for spec in specs} for side, specs in sides.items()}


def _manifest(
    name: str, triple: str, entries: Mapping[str, Entry], done: Exported, contents: Mapping[str, bytes]
) -> str:
    sides = {function: _sides(entry) for function, entry in entries.items()}
    about = {
        "schema": SCHEMA,
        "name": name,
        "target": triple,
        **(sides[""] if "" in sides else {"functions": sides}),
        "workspace_bytes": done.workspace,
        "stack_bytes": done.stack_bytes,
        "code_bytes": done.code_bytes,
        "weight_bytes": done.weight_bytes,
        "sha256": {each: sha256(data).hexdigest() for each, data in sorted(contents.items())},
    }
    return json.dumps(about, indent=1) + "\n"


def _archive(contents: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(contents.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), _MODE
            archive.addfile(info, io.BytesIO(data))
    return raw.getvalue()
