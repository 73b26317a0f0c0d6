// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: arch must be one of sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_120, found "sm_33"
builtin.module attributes {a = #target.spec<"cuda", {arch = "sm_33"}>} {}

// -----

// expected-error: no target is named 'cudaa'
builtin.module attributes {a = #target.spec<"cudaa">} {}

// -----

// expected-error: a host must be a cpu target of a device, found webgpu
builtin.module attributes {a = #target.spec<"cuda", {}, host = #target.spec<"webgpu">>} {}
