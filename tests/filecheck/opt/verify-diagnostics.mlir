// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @use_before_definition(%x: i32) -> i32 {
  // expected-error: %late is used before it is defined
  %y = arith.addi %late, %x : i32
  %late = arith.addi %x, %x : i32
  func.return %y : i32
}
// -----
func.func @syntax(%x: i32) -> i32 {
  // expected-error@+1: Expected ','
  %y = arith.addi %x %x : i32
  func.return %y : i32
}
// -----
func.func @two_errors(%x: i32, %y: i64) -> i32 {
  // expected-error: %a is used before
  // expected-error: %b is used before
  %z = arith.addi %a, %b : i32
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  func.return %z : i32
}
