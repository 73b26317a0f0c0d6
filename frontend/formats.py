"""
The table of the kinds of models that are read: by the suffix of a file, or by the class of an object.

Nothing of a framework is imported to find a kind: classes are compared by name. Other packages add kinds by
entry points of group `stepwell.frontends`, each the place of a `Format` (`module:NAME`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from glob import escape
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import entry_points

ENTRY_POINTS = "stepwell.frontends"


class Content(NamedTuple):
    """A file by which a folder is a model."""

    pattern: str
    """The name of the file, or a pattern of it (`*.pdmodel`)."""
    beside: str = ""
    """The suffix of another file of the same name that the folder must contain."""
    takes_folder: bool = False
    """Whether the reader takes the folder, not the file."""

    def files(self, folder: Path) -> Sequence[Path]:
        """The files of a folder that match, sorted by name."""
        found = sorted(each for each in folder.glob(self.pattern) if each.is_file())
        return [each for each in found if not self.beside or each.with_suffix(self.beside).is_file()]

    def __str__(self) -> str:
        return self.pattern + (f" with {self.beside} beside it" if self.beside else "")


class Format(NamedTuple):
    """A kind of model."""

    name: str
    """The kind for a reader (`a PyTorch module`)."""
    reader: str
    """The function (`module:name`) that makes a module of level 0 of the model, a context, and keywords."""
    suffixes: Sequence[str] = ()
    classes: Sequence[str] = ()
    """The classes of objects of the kind, or of bases of these, by module and name."""
    keywords: Sequence[str] = ()
    """The keywords of `compile` and `read` that the reader takes."""
    required: Sequence[str] = ()
    """The keywords without which there is no model yet."""
    contents: Sequence[Content] = ()
    """The files by which a folder is a model of the kind; the first that it contains counts."""
    beside: str = ""
    """A pattern of the files beside `{name}`, the model's file without its suffix, of which one is read."""
    is_program: bool = False
    """Whether a framework reads the file, which may run code: it is to be trusted as a program is."""


@dataclass(frozen=True)
class PythonModel:
    """A model that is a program of Python, with what its reader needs to know besides."""

    model: object
    keywords: Mapping[str, object]


READ_KEYWORDS = ("example_inputs", "dynamic_shapes")
"""The keywords of `compile` and `read` for models that are programs of Python."""
TORCH_KEYWORDS = ("check_guards",)
MODULE_KEYWORDS = (*READ_KEYWORDS, *TORCH_KEYWORDS, "weights_from")
"""Those for programs of PyTorch, and for its modules."""
FORMATS: Sequence[Format] = (
    Format(
        "an ONNX model",
        "stepwell.frontend.importer:import_onnx",
        (".onnx",),
        ("onnx.onnx_ml_pb2.ModelProto", "onnx.ModelProto", "builtins.bytes"),
    ),
    Format(
        "a StableHLO program", "stepwell.frontend.stablehlo.read:read_stablehlo", (".stablehlo", ".mlirbc")
    ),
    Format(
        "an exported JAX function",
        "stepwell.frontend.stablehlo.jax_functions:read_exported",
        classes=("jax._src.export._export.Exported",),
    ),
    Format(
        "a jitted JAX function",
        "stepwell.frontend.stablehlo.jax_functions:read_jitted",
        classes=("jaxlib._jax.PjitFunction", "jaxlib.xla_extension.PjitFunction"),
        keywords=READ_KEYWORDS,
        required=("example_inputs",),
    ),
    Format(
        "a fitted estimator",
        "stepwell.frontend.estimators:read_estimator",
        classes=("sklearn.base.BaseEstimator", "xgboost.core.Booster", "lightgbm.basic.Booster"),
    ),
    Format(
        "a Core ML model",
        "stepwell.frontend.coreml.read:read_coreml",
        (".mlpackage", ".mlmodel"),
        contents=(Content("Manifest.json", takes_folder=True),),
    ),
    Format(
        "an MXNet symbol",
        "stepwell.frontend.mxnet.read:read_mxnet",
        ("-symbol.json",),
        contents=(Content("*-symbol.json"),),
        beside="{name}-*.params",
    ),
    Format(
        "a Paddle program",
        "stepwell.frontend.paddle.read:read_paddle",
        (".json", ".pdmodel"),
        contents=(Content("inference.json"), Content("*.json", ".pdiparams"), Content("*.pdmodel")),
    ),
    Format("a TFLite model", "stepwell.frontend.tflite.read:read_tflite", (".tflite",)),
    Format(
        "an exported PyTorch program",
        "stepwell.frontend.torch.pt2:read_pt2",
        (".pt2",),
        keywords=(*TORCH_KEYWORDS, "weights_from"),
    ),
    Format(
        "an exported PyTorch program",
        "stepwell.frontend.torch.exported:read_torch",
        classes=("torch.export.exported_program.ExportedProgram",),
        keywords=TORCH_KEYWORDS,
    ),
    Format("a Keras archive", "stepwell.tools.keras_archive:read_archive", (".keras",), is_program=True),
    Format(
        "a Keras model",
        "stepwell.frontend.keras:read_keras",
        classes=("keras.src.models.model.Model",),
        keywords=("example_inputs",),
    ),
    Format(
        "a model of Keras 2",
        "stepwell.frontend.tensorflow.read:read_keras_model",
        classes=("tf_keras.src.engine.training.Model", "keras.src.engine.training.Model"),
        keywords=("example_inputs",),
    ),
    Format(
        "a model of TensorFlow",
        "stepwell.frontend.tensorflow.read:read_saved_model",
        (".pb",),
        contents=(Content("saved_model.pb", takes_folder=True),),
        is_program=True,
    ),
    Format(
        "a function of TensorFlow",
        "stepwell.frontend.tensorflow.read:read_function",
        classes=tuple(
            f"tensorflow.python.eager.polymorphic_function.{each}"
            for each in ("polymorphic_function.Function", "concrete_function.ConcreteFunction")
        ),
        keywords=("example_inputs",),
    ),
    Format(
        "a PyTorch module",
        "stepwell.frontend.torch.exported:read_module",
        classes=("torch.nn.modules.module.Module",),
        keywords=MODULE_KEYWORDS,
        required=("example_inputs",),
    ),
)
_PICKLED = (
    "a pickle of weights or TorchScript, neither of which is read",
    'write `torch.export.save(torch.export.export(module, args), "m.pt2")`',
)
_CAFFE = "a model of Caffe", "convert it to ONNX"
_DARKNET = (
    "a network of Darknet, or weights: its own, or those beside a program as text (.mlir)",
    "give the program as text itself; build a network of Darknet in PyTorch, and export it: torch.export",
)
_WEIGHTS = (
    "weights without a graph",
    "give the program too: compile(module, example_inputs=…, weights_from=FILE) takes safetensors",
)
NOT_READ: Mapping[str, tuple[str, str]] = {
    ".pt": _PICKLED,
    ".pth": _PICKLED,
    ".ckpt": _PICKLED,
    ".torchscript": _PICKLED,
    ".ptl": _PICKLED,
    ".caffemodel": _CAFFE,
    ".prototxt": _CAFFE,
    ".weights": _DARKNET,
    ".cfg": _DARKNET,
    ".gguf": _WEIGHTS,
    ".safetensors": _WEIGHTS,
    ".h5": ("an archive of Keras in HDF5", "load it, `keras.saving.load_model`, and save it as .keras"),
}
"""Kinds of files that are recognized and not read: a description, and the help."""


@cache
def formats() -> tuple[Format, ...]:
    """All kinds, ours first."""
    return (*FORMATS, *(cast(Format, point.load()) for point in entry_points(ENTRY_POINTS)))


def model_suffixes() -> tuple[str, ...]:
    """The suffixes of the files of models."""
    return tuple(dict.fromkeys(suffix for each in formats() for suffix in each.suffixes))


def format_of(model: object) -> Format:
    """
    The kind of a model: by its suffix if it is a path, else by its class.

    Raises: StepwellError `unknown-file-type`, `bad-model`.
    """
    if isinstance(model, str | os.PathLike):
        path = Path(cast("str | os.PathLike[str]", model))
        expect_not_refused(path)
        return _format_of_file(path) or FORMATS[0]  # its reader reports what is wrong with the file
    names = {f"{base.__module__}.{base.__qualname__}" for base in type(model).__mro__}
    for each in formats():
        if not names.isdisjoint(each.classes):
            return each
    kinds = ", ".join(dict.fromkeys(each.name for each in formats()))
    message = f"a model is a path, the bytes of an ONNX file, {kinds}; found {type(model).__name__}"
    raise StepwellError("bad-model", None, message)


def _format_of_file(path: Path) -> Format | None:
    """
    The kind of a file, or of a folder, by its content or its name; None for an unknown one.

    Raises: StepwellError `bad-model` for a folder with models of several kinds.
    """
    if found := _content_of(path):
        return found[0]
    return next((each for each in formats() if path.name.endswith(tuple(each.suffixes))), None)


def _content_of(path: Path) -> tuple[Format, Content] | None:
    """
    The kind of model that a folder is, with the files of which it contains some.

    Raises: StepwellError `bad-model` for models of several kinds, unless the name of the folder says which.
    """
    found = list(_contents_of(path))
    named = [(kind, content) for kind, content in found if path.name.endswith(tuple(kind.suffixes))]
    if len(found) > 1 and not named:
        models = [(kind, content.files(path)[0]) for kind, content in found]
        message = f"the folder has {len(found)} kinds of models: "
        message += ", ".join(f"{kind.name} ({file.name})" for kind, file in models)
        help = "name the file of one of them, or move each into a folder of its own"
        raise StepwellError("bad-model", str(path), message, help=help)
    return next(iter(named or found), None)


def _contents_of(path: Path) -> Iterator[tuple[Format, Content]]:
    """The formats of a folder's files, each with the first of its contents that the folder has."""
    for kind in formats() if path.is_dir() else ():
        if content := next((each for each in kind.contents if each.files(path)), None):
            yield kind, content


def _source_of(path: Path) -> Path:
    """
    The path for a reader: the file in a folder that is the model, or the folder itself.

    Raises: StepwellError `bad-model` for a folder with several models.
    """
    found = _content_of(path)
    if found is None or found[1].takes_folder:
        return path
    first, *others = found[1].files(path)
    if others:
        names = ", ".join([first.name, *(each.name for each in others[:3])] + ["…"] * (len(others) > 3))
        message = f"the folder has {1 + len(others)} models: {names}"
        raise StepwellError("bad-model", str(path), message, help=f"name one of them, as {first}")
    return first


def is_model_path(path: Path) -> bool:
    """Whether a path is a model's: by its suffix, or by the content of a folder."""
    return path.name.endswith(model_suffixes()) or any(_contents_of(path))


def choices_beside(path: Path) -> Sequence[str]:
    """Names of the files beside a model of which the reader takes one: a new file may change the model."""
    for kind in FORMATS:
        for suffix in kind.suffixes if kind.beside else ():
            if path.name.endswith(suffix):
                pattern = kind.beside.format(name=escape(path.name.removesuffix(suffix)))
                return sorted(each.name for each in path.parent.glob(pattern))
    return ()


def with_keywords(model: object, keywords: Mapping[str, object]) -> object:
    """A model with the keywords of its reader that are given; the model itself where none are."""
    given = {name: value for name, value in keywords.items() if value is not None}
    return PythonModel(model, given) if given else model


def is_onnx(model: object) -> bool:
    """Whether a model is one of ONNX. Raises: StepwellError as `format_of`."""
    return not isinstance(model, PythonModel) and format_of(model) is FORMATS[0]


def expect_not_refused(path: Path) -> None:
    """
    Refuse a file of a kind that is recognized and not read, and a folder with no model or several kinds.

    Raises: StepwellError `unknown-file-type`, `bad-model`.
    """
    if path.is_dir() and _format_of_file(path) is None:
        known = [f"{each} ({kind.name})" for kind in formats() for each in kind.contents]
        note = f"a folder is a model by one of these files: {', '.join(known)}"
        raise StepwellError("unknown-file-type", str(path), "the folder has no model", note=note)
    if (refused := NOT_READ.get(path.suffix)) is None:
        return
    note, help = refused
    message = f"a file that ends in {path.suffix} cannot be compiled"
    raise StepwellError("unknown-file-type", str(path), message, note=f"it is {note}", help=help)


def read_model(model: object, ctx: object, keywords: Mapping[str, object] | None = None) -> Any:
    """
    A model of any kind as a module of level 0, with its weights in the context's store.

    Args: `ctx` is a `StepwellContext`; `keywords` are those for readers that were given.
    Raises: StepwellError of the reader; `bad-model` for a keyword that the kind does not take, or needs;
    `missing-package`.
    """
    kind = format_of(model)
    given = {name: value for name, value in (keywords or {}).items() if value is not None}
    if wrong := [name for name in given if name not in kind.keywords]:
        of = "Python" if wrong[0] in READ_KEYWORDS else "PyTorch"
        message = f"{wrong[0]} is for programs of {of}, and the model is {kind.name}"
        raise StepwellError("bad-model", None, message, help=f"leave {wrong[0]} out")
    if missing := [name for name in kind.required if name not in given]:
        message = f"{kind.name} is compiled for inputs like examples of them, and {missing[0]} is missing"
        help = f"stepwell.compile(model, {missing[0]}=(x,)), a tuple with one value for each argument"
        raise StepwellError("bad-model", None, message, help=help)
    module, _, function = kind.reader.partition(":")
    source = _source_of(Path(cast(str, model))) if isinstance(model, str | os.PathLike) else model
    return getattr(import_module(module), function)(source, ctx, **given)
