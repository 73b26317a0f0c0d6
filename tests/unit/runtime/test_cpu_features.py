"""CPU features without LLVM: what CPUID and the kernel say, what the system saves, and what code demands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import llvmlite.binding as llvm
import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine import cpu_features as features_module
from stepwell.runtime.machine.cpu_features import (
    NAMES,
    X86_64,
    Registers,
    cpu_features,
    process_triple,
    x86_64_features,
)
from stepwell.runtime.machine.demands import missing_features
from stepwell.runtime.machine.target import host_target, target_from
from stepwell.runtime.model import checked_threads
from tests.support.imports import LAYERS, ROOT

Answers = Mapping[tuple[int, int], Registers]

ALL = 0xFFFFFFFF
OSXSAVE, AVX = 1 << 27, 1 << 28
EVERYTHING: Answers = {
    (0, 0): (7, 0, 0, 0),
    (1, 0): (ALL, ALL, ALL, ALL),
    (7, 0): (1, ALL, ALL, ALL),
    (7, 1): (ALL, ALL, ALL, ALL),
    (0x80000000, 0): (0x80000001, 0, 0, 0),
    (0x80000001, 0): (ALL, ALL, ALL, ALL),
}
VECTORS = {name for name, bit in X86_64.items() if bit.state == 0x6}
MASKS = {name for name, bit in X86_64.items() if bit.state == 0xE6}
TILES = {name for name, bit in X86_64.items() if bit.state == 0x60000}
SCALARS = X86_64.keys() - VECTORS - MASKS - TILES


def answering(answers: Answers) -> Callable[[int, int], Registers]:
    """CPUID of a processor; for what is not in the answers that of the last leaf, as Intel's do."""
    return lambda leaf, subleaf: answers.get((leaf, subleaf), (ALL, ALL, ALL, ALL))


@pytest.mark.parametrize(
    ("saved", "found"),
    [
        (0x200E7, SCALARS | VECTORS | MASKS),  # one of the two states of tile registers is not enough
        (0x600E7, SCALARS | VECTORS | MASKS | TILES),
        (0xE7, SCALARS | VECTORS | MASKS),
        (0x67, SCALARS | VECTORS),
        (0x7, SCALARS | VECTORS),
        (0x3, SCALARS),
        (0x60003, SCALARS | TILES),
    ],
)
def test_registers_that_the_system_does_not_save_are_not_used(saved: int, found: set[str]) -> None:
    assert x86_64_features(answering(EVERYTHING), lambda _: saved) == found


def test_a_system_without_xgetbv_is_not_asked() -> None:
    def refuse(_: int) -> int:
        raise AssertionError("an illegal instruction")

    answers = {**EVERYTHING, (1, 0): (0, 0, ALL & ~OSXSAVE, 0)}
    assert x86_64_features(answering(answers), refuse) == SCALARS


def test_a_hypervisor_that_hides_avx_hides_what_needs_it() -> None:
    answers = {**EVERYTHING, (1, 0): (0, 0, ALL & ~AVX, 0)}
    assert x86_64_features(answering(answers), lambda _: 0x600E7) == SCALARS | TILES


@pytest.mark.parametrize(
    ("changed", "absent"),
    [
        ({(0, 0): (2, 0, 0, 0)}, {name for name, bit in X86_64.items() if bit.leaf == 7}),
        ({(7, 0): (0, ALL, ALL, ALL)}, {name for name, bit in X86_64.items() if bit.subleaf == 1}),
        ({(0x80000000, 0): (0x80000000, 0, 0, 0)}, {"lzcnt"}),
    ],
)
def test_leaves_that_a_processor_does_not_have_say_nothing(changed: Answers, absent: set[str]) -> None:
    found = x86_64_features(answering({**EVERYTHING, **changed}), lambda _: 0x600E7)
    assert found == X86_64.keys() - absent


def test_a_bit_is_a_feature() -> None:
    """Each bit by itself, against a register with all others."""
    for name, bit in X86_64.items():
        answer = list(EVERYTHING[bit.leaf, bit.subleaf])
        answer[bit.register] &= ~(1 << bit.bit)
        eax, ebx, ecx, edx = answer
        without = {**EVERYTHING, (bit.leaf, bit.subleaf): (eax, ebx, ecx, edx)}
        found = x86_64_features(answering(without), lambda _: 0x600E7)
        assert X86_64.keys() - found == ({name} if name != "avx" else {"avx", *VECTORS, *MASKS})


def test_this_machine_is_as_llvm_finds_it() -> None:
    found = {name for name, present in llvm.get_host_cpu_features().items() if present}
    assert cpu_features() == found & NAMES
    assert process_triple() == llvm.get_process_triple()


def test_llvm_knows_all_names_of_the_table() -> None:
    assert X86_64.keys() <= set(llvm.get_host_cpu_features())


@pytest.mark.parametrize("mcpu", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "sapphirerapids", "aarch64"])
def test_levels_demand_features_of_the_table(mcpu: str) -> None:
    assert set(target_from(mcpu).features) <= NAMES


def test_code_of_this_machine_demands_no_feature_of_one_vendor() -> None:
    assert not {"clzero", "sse4a", "shstk", "xsave", "sha", "rdpid"} & set(host_target().features)


def test_features_of_earlier_versions_are_looked_for_all_the_same() -> None:
    """Their artifacts demand all that LLVM had found, such as `cmov`."""
    triple = process_triple()
    (present,) = [name for name in ("cmov", "crc") if llvm.get_host_cpu_features().get(name)][:1]
    assert missing_features(triple, [present]) == ()
    assert missing_features(triple, [present, "quantum"]) == ("quantum",)


def test_bfloat_products_are_chosen_by_a_feature_that_code_does_not_use() -> None:
    intel = replace(target_from("x86-64-v4"), features=("amx-bf16", "avx512bf16", "avx512f"))
    assert not intel.has_bfloat_products
    assert intel.needed_features == ("avx512bf16", "avx512f")
    assert intel.feature_string == "+avx512bf16,+avx512f"


def test_an_arm_answers_by_the_kernels_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features_module, "_linux_arch", lambda: "aarch64")
    monkeypatch.setattr(features_module, "_hardware_capabilities", lambda: 0b11)
    assert cpu_features.__wrapped__() == {"fp-armv8", "neon"}
    monkeypatch.setattr(features_module, "_hardware_capabilities", lambda: 1 << 8 | 0b11)
    assert cpu_features.__wrapped__() == {"fp-armv8", "neon", "lse"}
    assert process_triple.__wrapped__().startswith("aarch64-unknown-linux-")


def test_other_systems_need_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = cpu_features()
    monkeypatch.setattr(features_module, "_linux_arch", lambda: "")
    assert cpu_features.__wrapped__() == expected
    assert process_triple.__wrapped__() == llvm.get_process_triple()
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    for ask in (features_module.llvm_features, process_triple):
        with pytest.raises(StepwellError, match="missing-package.*llvmlite") as caught:
            ask.__wrapped__()
        assert "pip install llvmlite" in (caught.value.help or "")


def test_a_system_without_executable_pages_asks_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError

    expected = cpu_features()
    monkeypatch.setattr(features_module, "_Processor", refuse)
    assert cpu_features.__wrapped__() == expected


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say which cores a process may use")
def test_cores_are_those_that_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert target_from("x86-64-v3", "x86_64-unknown-linux-gnu").cores == 1
        assert checked_threads(None) == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert target_from("x86-64-v3", "x86_64-unknown-linux-gnu").cores == len(allowed)


def test_one_function_counts_the_cores() -> None:
    files = [file for layer in LAYERS for file in (ROOT / layer).rglob("*.py")]
    counting = [file.relative_to(ROOT).as_posix() for file in files if "cpu_count" in file.read_text()]
    assert counting == ["runtime/cores.py"]
