// RUN: not stepwell-opt %s -p canonicalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not stepwell-opt %s -p 'cse,,dce' 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not stepwell-opt %s -p 'canonicalize{depth=3}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not stepwell-opt %s --config no-such.key=1 2>&1 | filecheck %s --check-prefix=CONFIG
// RUN: not stepwell-opt %s.missing 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not stepwell-opt %s 2>&1 | filecheck %s
// RUN: stepwell-opt %s --verify-diagnostics

// PASS: error[unknown-pass]: no pass is named 'canonicalise'
// PASS-NEXT: = help: did you mean canonicalize
// PIPELINE: error[bad-pipeline]: Expected pass name here
// PIPELINE-NEXT: --> pass-pipeline:1:5
// PIPELINE-NEXT: | cse,,dce
// PIPELINE-NEXT: |     ^
// OPTION: error[bad-option]: no option is named depth
// OPTION-NEXT: --> pass canonicalize
// OPTION-NEXT: = help: options of canonicalize: none
// CONFIG: error[bad-config]: no config key is named 'no-such.key'
// FILE: error[no-file]: {{.*}}No such file
// CHECK: error[invalid-ir]: arith.addi: %late is used before it is defined
// CHECK-NEXT: --> {{.*}}errors.mlir:26:3
// CHECK-NEXT: = note: the op is: %y = "arith.addi"
// CHECK-NEXT: = note: also {{.*}}errors.mlir:29:3: arith.subi: %other is used before
func.func @two_errors(%x: i32) -> i32 {
  // expected-error@+1: %late is used before
  %y = arith.addi %late, %x : i32
  %late = arith.constant 0 : i32
  // expected-error@+1: %other is used before
  %z = arith.subi %other, %x : i32
  %other = arith.constant 0 : i32
  func.return %y : i32
}
