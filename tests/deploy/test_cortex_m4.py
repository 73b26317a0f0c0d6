"""The digit classifier on a Cortex-M4 with 64 KB of memory, emulated: C, object, archive. `make deploy`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import stepwell
from tests.support.components import needs_program
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow

_PROGRAM = """
#include "digits.h"
#include "x.h"
extern uint32_t lowest[], top[];
static float y[10];
static digits_call call;
@MEMORY@
static void host(int op, const void *p) {
  __asm__ volatile("mov r0, %0\\n mov r1, %1\\n bkpt 0xAB" : : "r"(op), "r"(p) : "r0", "r1", "memory");
}
static void show(int32_t value) {
  char text[13];
  int i = 12;
  uint32_t rest = value < 0 ? -(uint32_t)value : (uint32_t)value;
  text[i] = 0;
  text[--i] = '\\n';
  do text[--i] = (char)('0' + rest % 10); while ((rest /= 10) != 0);
  if (value < 0) text[--i] = '-';
  host(4, text + i);
}
__attribute__((noinline)) static void run_model(void) {
  uint32_t *stack, *p;
  digits_inputs in = {x};
  digits_outputs out = {y};
  __asm__ volatile("mov %0, sp" : "=r"(stack));
  for (p = lowest; p < stack; p++) *p = 0xA5A5A5A5u;
@GIVEN@
  show(digits_run(&in, &out, &call));
  for (p = lowest; *p == 0xA5A5A5A5u; p++) {}
  show((int32_t)((stack - p) * 4));
  for (int i = 0; i < 10; i++) show((int32_t)(y[i] * 1e6f));
}
void start(void) {
  *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* the unit for floats */
  __asm__ volatile("dsb\\n isb");
  run_model();
  host(0x18, (const void *)0x20026);
  for (;;) {}
}
__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {top, (void *)start};
"""
# One workspace; or two memories, each placed by the program in a section of its own.
_WORKSPACE = (
    "static unsigned char memory[DIGITS_WORKSPACE_BYTES] __attribute__((aligned(64)));",
    "  call.workspace = memory;\n  call.workspace_bytes = sizeof memory;",
)
_POOLS = (
    'static unsigned char tcm[DIGITS_TCM_BYTES] __attribute__((aligned(64), section(".tcm")));\n'
    'static unsigned char sram[DIGITS_SRAM_BYTES] __attribute__((aligned(64), section(".sram")));',
    "  call.memories[0] = tcm;\n  call.memories[1] = sram;",
)
_LINK = """
MEMORY {
  FLASH (rx) : ORIGIN = 0, LENGTH = 128K
  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 60K
  TCM (rwx) : ORIGIN = 0x2000F000, LENGTH = 256
  SRAM (rwx) : ORIGIN = 0x21000000, LENGTH = 4K
}
ENTRY(start)
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > FLASH
  .bss (NOLOAD) : { *(.bss*) *(COMMON) *(.data*) . = ALIGN(8); lowest = .; } > RAM
  .tcm (NOLOAD) : { *(.tcm) } > TCM
  .sram (NOLOAD) : { *(.sram) } > SRAM
  top = ORIGIN(RAM) + LENGTH(RAM);
}
"""
_CPU = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
_LINKED = ("-ffreestanding", "-nostdlib", "-Wl,-T,link.ld", "-o", "digits.elf", "main.c")
_MACHINE = ("-machine", "mps2-an386", "-cpu", "cortex-m4", "-nographic", "-semihosting", "-kernel")


# C calls the compiler's library for divisions of 64-bit integers; none of the C library's is there.
FILES = [("digits.c", "-O0", "-lgcc"), ("digits.c", "-O2", "-lgcc"), ("digits.o", "-O2"), ("digits.a", "-O0")]


@pytest.mark.parametrize("pools", [None, {"tcm": 256, "sram": 4096}], ids=["workspace", "pools"])
@pytest.mark.parametrize("file", FILES, ids="".join)
def test_the_digit_classifier_in_64_kilobytes(
    file: Sequence[str], pools: dict[str, int] | None, tmp_path: Path
) -> None:
    name, *options = file
    compiler, emulator = needs_program("arm-none-eabi-gcc"), needs_program("qemu-system-arm")
    model = ROOT / "examples" / "digits.onnx"
    mcpu = "c" if name.endswith(".c") else "cortex-m4"
    shapes = {"pictures": (1, 64)}
    done = stepwell.export(model, tmp_path / name, mcpu=mcpu, memory_pools=pools, input_shapes=shapes)
    x = np.random.default_rng(5).random((1, 64), np.float32).round(3)
    numbers = ", ".join(f"{number:.3f}f" for number in x.ravel().tolist())
    (tmp_path / "x.h").write_text(f"static const float x[64] = {{{numbers}}};\n")
    memory, given = _POOLS if pools else _WORKSPACE
    (tmp_path / "main.c").write_text(_PROGRAM.replace("@MEMORY@", memory).replace("@GIVEN@", given))
    (tmp_path / "link.ld").write_text(_LINK)
    linked = [compiler, *_CPU, *_LINKED, name, *options]
    subprocess.run(linked, cwd=tmp_path, check=True, timeout=120)
    command = [emulator, *_MACHINE, "digits.elf"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    status, stack, *found = map(int, re.findall(r"-?\d+", shown.stdout + shown.stderr))
    wanted = np.asarray(stepwell.compile(model)(x), np.float64)
    assert status == 0 and 0 < stack <= done.stack_bytes
    np.testing.assert_allclose(np.array(found) / 1e6, wanted.ravel(), atol=2e-6)
