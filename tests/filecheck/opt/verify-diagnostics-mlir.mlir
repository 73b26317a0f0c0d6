// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// MLIR's spelling: words in double braces, of this line, or of the one that `@` counts to.
func.func @lines(%x: i32) -> i32 {
  // expected-error@+1 {{%late is used before it is defined}}
  %a = arith.addi %late, %x : i32
  %b = arith.addi %late, %x : i32 // expected-error {{%late is used before}}
  %c = arith.addi %late, %late : i32
  // expected-error@-1 {{%late is used before}}
  // expected-error @above {{addi}}
  // expected-error@below {{%late}}
  // expected-error-re@below {{arith.{{[a-z]+}}: %{{la.e}} is}}
  %d = arith.addi %late, %late : i32
  // expected-error-re@+2: %{{.*}} is used before

  %e = arith.addi %late, %x : i32
  %late = arith.addi %x, %x : i32
  func.return %a : i32
}
// -----
func.func @other() -> i32 {
  // expected-error@+1 {{Expected ','}}
  %y = arith.addi %x %x : i32
}
