"""A compilation that was done before is a load, and never of anything else than what was asked for."""

from __future__ import annotations

import json
import mmap
import struct
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.external_data_helper import convert_model_to_external_data
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import stepwell
from stepwell.frontend.formats import FORMATS
from stepwell.passes import Instrument, PassContext
from stepwell.runtime.files.model_cache import MAX_BYTES, ModelCache, digest_of
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver import kept_models
from stepwell.tools.driver.kept_models import KeptModel, kept_model
from stepwell.tools.driver.options import OPTION_GROUPS, CompileOptions
from tests.onnx_models import onnx_model

X = np.arange(4, dtype=np.float32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache for every test."""
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))


def scaling_model(path: Path, factor: float, *, external: bool = False) -> Path:
    """Writes the model `y = x * factor`, its weight in a file of its own when wanted; returns its path."""
    model = onnx_model("g (float[4] x) => (float[4] y) { y = Mul(x, w) }")
    weight = np.full(4, factor, np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    if external:
        convert_model_to_external_data(model, location="w.bin", size_threshold=0)
        path.with_name("w.bin").unlink(missing_ok=True)  # onnx appends to it
    onnx.save(model, path)  # pyright: ignore[reportUnknownMemberType]
    return path


def was_kept(model: CompiledModel) -> bool:
    """Whether the code came from the model cache."""
    return "load" in str(model.image.effort["seconds"])


def key_of(path: Path, options: CompileOptions | None = None) -> KeptModel:
    """The place of a compilation that has one."""
    kept = kept_model(path, options or CompileOptions())
    assert kept is not None
    return kept


def test_the_second_compilation_is_a_load(tmp_path: Path) -> None:
    path = scaling_model(tmp_path / "m.onnx", 3)
    first, second = stepwell.compile(path), stepwell.compile(path)
    assert not was_kept(first) and was_kept(second)
    assert np.array_equal(first(X), 3 * X) and np.array_equal(second(X), 3 * X)
    assert second.image.effort["cached kernels"] == second.image.summary["kernels"]
    assert not was_kept(stepwell.compile(path, use_cache=False))


@pytest.mark.parametrize("external", [False, True])
def test_another_weight_is_another_model(tmp_path: Path, external: bool) -> None:
    """Also where only the file of the weights has changed."""
    path = tmp_path / "m.onnx"
    for factor in (3, 5, 3):
        model = stepwell.compile(scaling_model(path, factor, external=external))
        assert np.array_equal(model(X), factor * X)
        assert was_kept(stepwell.compile(path))


def mxnet_model(path: Path, factor: float) -> Path:
    """Writes `y = x * factor` as a symbol of MXNet, with its parameters in the file beside it."""
    variables: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in ("x", "w")]
    variables[0]["attrs"] = {"__shape__": "(4,)"}
    product = {"op": "broadcast_mul", "name": "y", "inputs": [[0, 0, 0], [1, 0, 0]]}
    symbol = {"nodes": [*variables, product], "arg_nodes": [0, 1], "heads": [[2, 0, 0]]}
    path.write_text(json.dumps(symbol))
    head = struct.pack("<QQQIiIqiii", 0x112, 0, 1, 0xF993FAC9, 0, 1, 4, 1, 0, 0)
    names = struct.pack("<QQ", 1, 5) + b"arg:w"
    beside = path.with_name(path.name.replace("symbol.json", "0000.params"))
    beside.write_bytes(head + np.full(4, factor, np.float32).tobytes() + names)
    return path


def test_weights_beside_a_model_of_another_framework_are_part_of_it(tmp_path: Path) -> None:
    for factor in (3, 5):
        model = stepwell.compile(mxnet_model(tmp_path / "m-symbol.json", factor))
        assert not was_kept(model) and np.array_equal(model(X), factor * X)
        assert was_kept(stepwell.compile(tmp_path / "m-symbol.json"))


def test_a_missing_weight_file_is_an_error_each_time(tmp_path: Path) -> None:
    path = scaling_model(tmp_path / "m.onnx", 3, external=True)
    stepwell.compile(path)
    (tmp_path / "w.bin").unlink()
    with pytest.raises(stepwell.StepwellError, match="external data"):
        stepwell.compile(path)


def test_a_damaged_entry_is_dropped(tmp_path: Path) -> None:
    path = scaling_model(tmp_path / "m.onnx", 3)
    stepwell.compile(path)
    (entry,) = (tmp_path / "cache").glob("*.model")
    data = bytearray(entry.read_bytes())
    data[200] ^= 1
    entry.write_bytes(data)
    model = stepwell.compile(path)
    assert not was_kept(model) and np.array_equal(model(X), 3 * X)


def test_what_the_key_depends_on(tmp_path: Path) -> None:
    path = scaling_model(tmp_path / "m.onnx", 3)
    key = key_of(path).key
    assert key_of(path, CompileOptions(processes=1)).key == key
    assert key_of(path, CompileOptions(mcpu="x86-64-v3")).key != key
    assert key_of(path, CompileOptions(opt_level=0)).key != key
    assert key_of(path, CompileOptions(input_shapes={"x": (4,)})).key != key
    assert key_of(scaling_model(tmp_path / "n.onnx", 3)).key != key  # messages name the file
    assert kept_model(path, CompileOptions(use_cache=False)) is None
    assert kept_model(path.read_bytes(), CompileOptions()) is None
    assert kept_model(tmp_path / "missing.onnx", CompileOptions()) is None
    with PassContext():
        assert kept_model(path, CompileOptions()) is None


def test_sources_are_read_when_the_model_was_compiled_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scaling_model(tmp_path / "m.onnx", 3)
    stepwell.compile(path)

    def edited(folders: tuple[str, ...]) -> str:
        return "edited"

    monkeypatch.setattr(kept_models, "compiler_fingerprint", edited)
    assert key_of(path).load() is None and key_of(path).key.endswith("edited")
    for read in ("compiler_fingerprint", "digest_of"):
        with monkeypatch.context() as patch:
            patch.setattr(kept_models, read, None)
            assert key_of(scaling_model(tmp_path / "n.onnx", 3)).load() is None
            with pytest.raises(TypeError):
                key_of(path).load()


def test_a_file_that_is_gone_when_its_digest_is_asked_for(tmp_path: Path) -> None:
    path = scaling_model(tmp_path / "m.onnx", 3)
    image = stepwell.compile(path).image
    deleted, emptied = key_of(path), key_of(path)
    path.unlink()
    assert deleted.load() is None and not deleted.is_stored()
    deleted.store(image, {})
    path.touch()
    assert emptied.load() is None and not emptied.is_stored()
    emptied.store(image, {})
    assert kept_model(path, CompileOptions()) is None and kept_model(tmp_path, CompileOptions()) is None
    assert len(list((tmp_path / "cache").glob("*.model"))) == 1


def test_a_key_that_another_process_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scaling_model(tmp_path / "m.onnx", 3)
    stepwell.compile(path)
    key = key_of(path).key
    for name in ("digest_of", "compiler_fingerprint"):  # neither the model nor our sources are read
        monkeypatch.setattr(kept_models, name, None)
    assert key_of(path).load(key) is not None and key_of(path).load("0" * 32) is None


def test_another_epoch_of_parameters_is_another_model(tmp_path: Path) -> None:
    """MXNet's last epoch is read: a model that was kept before it was written is not loaded."""
    (path := tmp_path / "m[1]-symbol.json").write_text("{}")
    (tmp_path / "m[1]-0000.params").touch()
    first = key_of(path).setting
    (tmp_path / "m1-0001.params").touch()
    assert key_of(path).setting == first
    (tmp_path / "m[1]-0001.params").touch()
    assert key_of(path).setting != first


def test_files_that_a_framework_reads_have_no_key(tmp_path: Path) -> None:
    """It may read others beside them."""
    for kind in FORMATS:
        for suffix in kind.suffixes:
            (path := tmp_path / f"m{suffix}").write_bytes(b"1")
            assert (kept_model(path, CompileOptions()) is None) == kind.is_program, suffix


def test_each_option_says_what_it_is_to_a_key(tmp_path: Path) -> None:
    """A new one is declared, lest it is left out of the key, or turns the cache off."""
    for option in fields(CompileOptions):
        assert option.metadata["cache"] in ("key", "free", "never"), option.name
        assert option.metadata["group"] in OPTION_GROUPS, option.name
    path = scaling_model(tmp_path / "m.onnx", 3)
    assert kept_model(path, CompileOptions(profile=True)) is None
    assert kept_model(path, CompileOptions(backends="reference")) is None


def test_a_file_that_changes_while_it_is_compiled_is_not_kept(tmp_path: Path) -> None:
    path = scaling_model(tmp_path / "m.onnx", 3)
    place = key_of(path)
    image = stepwell.compile(path, use_cache=False).image
    scaling_model(path, 5)
    place.store(image, {})
    assert place.load() is None


def test_the_cache_is_bounded(tmp_path: Path) -> None:
    image = stepwell.compile(scaling_model(tmp_path / "m.onnx", 3), use_cache=False).image
    cache = ModelCache(tmp_path / "small", max_bytes=20_000)
    for key in "abcdef":
        cache.store(key, image, {})
    assert 0 < cache.info().total_bytes <= 20_000 < MAX_BYTES
    ModelCache(tmp_path / "tiny", max_bytes=16).store("a", image, {})
    assert ModelCache(tmp_path / "tiny").info().entries == 0


def test_a_context_that_chooses_passes_leaves_no_kernels(tmp_path: Path) -> None:
    """What is compiled under it must not be taken for what the default passes make."""
    path = scaling_model(tmp_path / "m.onnx", 3)

    class Refusing(Instrument):
        def should_run(self, module: ModuleOp, step: ModulePass) -> bool:
            return step.name != "unroll-vectors"

    for context in (PassContext(disabled_pass=["unroll-vectors"]), PassContext(instruments=[Refusing()])):
        with context:
            model = stepwell.compile(path)
        assert context.alters(range(0)) and np.array_equal(model(X), 3 * X)
        assert not list((tmp_path / "cache").glob("*.kernel"))
    assert not PassContext().alters(range(0))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="memory by file is in Linux's /proc")
def test_the_digest_of_a_large_file_leaves_none_of_its_pages_in_memory(tmp_path: Path) -> None:
    """Weights beside a model are compared when it is loaded, and its packed ones are in memory already."""
    file = tmp_path / "weights.bin"
    content = np.arange(4_000_000, dtype=np.float32).tobytes()
    file.write_bytes(content)
    with file.open("rb") as opened:
        mapped = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
    assert digest_of(mapped) == digest_of(memoryview(content))
    _, _, entry = Path("/proc/self/smaps").read_text().partition(str(file))
    resident_kilobytes = int(entry.partition("Rss:")[2].split()[0])
    assert resident_kilobytes <= len(content) // 1024 // 8
    assert bytes(mapped) == content
