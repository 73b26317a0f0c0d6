"""The engines that Stepwell is compared with, through a common interface; each is optional."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from stepwell.runtime.model import CompiledModel
    from stepwell.tools.driver.options import Start

Runner: TypeAlias = Callable[[], Sequence[Array]]
"""Runs the model once on inputs given before, returns its outputs in the model's order."""


class Engine(ABC):
    """An engine that runs ONNX models in f32 on a number of threads."""

    name: ClassVar[str]
    module: ClassVar[str]
    distribution: ClassVar[str]
    """The engine's name in the package index."""

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the engine's package is installed; without importing it."""
        return find_spec(cls.module) is not None

    @abstractmethod
    def load(self, path: Path, threads: int, feeds: Mapping[str, Array]) -> Runner:
        """Compile or load a model for `threads` threads, ready to run on `feeds`."""


class Stepwell(Engine):
    """Stepwell itself, through the public interface; `shapes` fixes inputs that the model leaves open."""

    name = "stepwell"
    module = "stepwell"
    distribution = "stepwell"

    def __init__(
        self,
        shapes: Mapping[str, Sequence[int]] | None = None,
        start: Start = "full",
        tuning_db: Sequence[str] = (),
        target: str | None = None,
        device: str | None = None,
    ):
        self._shapes: Mapping[str, Sequence[int]] = dict(shapes or {})
        self._start: Start = start
        self._tuning_db = tuple(tuning_db)
        self._target, self._device = target, device
        self.model: CompiledModel | None = None
        """The model that was loaded last."""

    def load(self, path: Path, threads: int, feeds: Mapping[str, Array]) -> Runner:
        from stepwell.tools.driver.compile import compile

        shapes, tuned = self._shapes, self._tuning_db
        model = compile(
            path, threads=threads, input_shapes=shapes, start=self._start, tuning_db=tuned,
            target=self._target, device=self._device,
        )  # fmt: skip
        self.model = model
        arrays = [feeds[spec.name] for spec in model.interface.inputs]

        def run() -> Sequence[Array]:
            outputs = model(*arrays)
            return outputs if isinstance(outputs, tuple) else (outputs,)

        return run


class OnnxRuntime(Engine):
    """ONNX Runtime's CPU provider, all optimizations on."""

    name = "onnxruntime"
    module = "onnxruntime"
    distribution = "onnxruntime"

    def load(self, path: Path, threads: int, feeds: Mapping[str, Array]) -> Runner:
        session = onnxruntime_session(path, threads)
        return lambda: session.run(None, feeds)


def onnxruntime_session(model: Path | bytes, threads: int, *, optimize: bool = True) -> Any:
    """An ONNX Runtime session of a file or its bytes; without `optimize` it is the reference for numbers."""
    ort = _package("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what it prints of an error, the exception says too
    # Its threads otherwise spin on after a run, and occupy a core while the next engine is measured.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if not optimize:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(
        model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
    )


class OpenVino(Engine):
    """OpenVINO on the CPU, restricted to f32 (by default it computes in bf16 where the CPU has AMX)."""

    name = "openvino"
    module = "openvino"
    distribution = "openvino"

    def load(self, path: Path, threads: int, feeds: Mapping[str, Array]) -> Runner:
        core = _package("openvino").Core()
        model = core.read_model(str(path))
        model.reshape({name: list(array.shape) for name, array in feeds.items()})
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
        }
        request = core.compile_model(model, "CPU", settings).create_infer_request()
        inputs = dict(feeds)

        def run() -> Sequence[Array]:
            results = request.infer(inputs)
            return [np.asarray(value) for value in results.values()]

        return run


class Iree(Engine):
    """IREE's CPU back end with the flags that its documentation gives for speed."""

    name = "iree"
    module = "iree.compiler"
    distribution = "iree-base-compiler"

    @classmethod
    def is_installed(cls) -> bool:
        return find_spec("iree") is not None and find_spec("iree.compiler") is not None

    def load(self, path: Path, threads: int, feeds: Mapping[str, Array]) -> Runner:
        import subprocess
        import sys
        import tempfile

        toolkit, api = _package("iree.compiler"), _package("iree.runtime")
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "model.mlir"
            importer = [sys.executable, "-m", "iree.compiler.tools.import_onnx", str(path), "-o", str(text)]
            subprocess.run(importer, check=True, capture_output=True)
            flags = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "--iree-opt-data-tiling"]
            binary: bytes = toolkit.compile_file(str(text), target_backends=["llvm-cpu"], extra_args=flags)
        driver = "local-sync" if threads == 1 else "local-task"
        config = api.Config(driver)
        module = api.load_vm_module(api.VmModule.copy_buffer(config.vm_instance, binary), config)
        # The module has also a variant of each function that waits on fences, `name$async`, and its own
        # `__init`.
        names = [name for name in module.vm_module.function_names if "$" not in name and name[:2] != "__"]
        entry = module[names[0]]
        arrays = list(feeds.values())

        def run() -> Sequence[Array]:
            results = entry(*arrays)
            return [np.asarray(part) for part in _listed(results)]

        return run


class Tvm(Engine):
    """TVM's Relax, untuned."""

    name = "tvm"
    module = "tvm"
    distribution = "apache-tvm"

    def load(self, path: Path, threads: int, feeds: Mapping[str, Array]) -> Runner:
        api, relax = _package("tvm"), _package("tvm.relax")
        shapes = {name: list(array.shape) for name, array in feeds.items()}
        module = _package("tvm.relax.frontend.onnx").from_onnx(
            _package("onnx").load(str(path)), shape_dict=shapes
        )
        target = api.target.Target({"kind": "llvm", "mcpu": _package("llvmlite.binding").get_host_cpu_name()})
        with target:
            built = relax.build(relax.get_pipeline("zero")(module), target=target)
        api.get_global_func("runtime.config_threadpool")(1, threads)
        machine = relax.VirtualMachine(built, api.cpu())
        arrays = [api.runtime.tensor(a) for a in feeds.values()]

        def run() -> Sequence[Array]:
            return [part.numpy() for part in _listed(machine["main"](*arrays))]

        return run


def _package(name: str) -> Any:
    """A package that may be missing and has no types."""
    return import_module(name)


def _listed(results: Any) -> list[Any]:
    return [*results] if type(results) in (list, tuple) else [results]


ENGINES: dict[str, type[Engine]] = {e.name: e for e in (Stepwell, OnnxRuntime, OpenVino, Iree, Tvm)}


def installed_peers() -> list[str]:
    """Names of the peers whose packages are there."""
    return [name for name, engine in ENGINES.items() if name != "stepwell" and engine.is_installed()]


def engine_named(name: str) -> Engine:
    """An engine by name. Raises: StepwellError when there is none, or its package is missing."""
    if name not in ENGINES:
        help = f"{did_you_mean(name, ENGINES)}the engines are {', '.join(ENGINES)}"
        raise StepwellError("bad-option", None, f"no engine is named {name!r}", help=help)
    if not ENGINES[name].is_installed():
        raise StepwellError(
            "missing-package", None, f"{name} is not installed", help="pip install 'stepwell[bench]'"
        )
    return ENGINES[name]()
