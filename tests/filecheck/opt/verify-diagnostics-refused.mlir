// RUN: not stepwell-opt %s --verify-diagnostics 2>&1 | filecheck %s

// Nothing that looks like an expectation is skipped.
// CHECK: error[syntax]: this is no comment that --verify-diagnostics can read: expected{{-}}error@+1 words without braces
// CHECK-NEXT: --> {{.*}}verify-diagnostics-refused.mlir:11
// CHECK-NEXT: note: also {{.*}}:12: expected{{-}}note@+1 {{.*}}notes are words of their error
// CHECK-NEXT: note: also {{.*}}:13: expected{{-}}error@next: words
// CHECK-NEXT: note: also {{.*}}:14: expected{{-}}error-re
// CHECK-NEXT: help: `expected{{-}}error: text`, or as in MLIR `expected{{-}}error@+1
func.func @f(%x: i32) -> i32 {
  // expected-error@+1 words without braces
  // expected-note@+1 {{notes are words of their error}}
  // expected-error@next: words
  %y = arith.addi %x, %x : i32 // expected-error-re {{({{[}}}}
  func.return %y : i32
}
