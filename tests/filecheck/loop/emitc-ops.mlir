// RUN: stepwell-opt %s | stepwell-opt | filecheck %s

// CHECK: emitc.global const @w : !emitc.array<4xf32> = dense<
// CHECK: emitc.include "stdint.h" {is_standard_include}
// CHECK: emitc.func @k(%x: !emitc.ptr<f32>, %n: index) attributes {specifiers = ["static"]} {
// CHECK: emitc.constant 4 : index
// CHECK: emitc.variable : !emitc.lvalue<f32>
// CHECK: emitc.variable : !emitc.array<96xf32>
// CHECK: emitc.add %n, %c : (index, index) -> index
// CHECK: emitc.subscript %x[%d] : (!emitc.ptr<f32>, index) -> !emitc.lvalue<f32>
// CHECK: emitc.get_global @w : !emitc.ptr<f32>
// CHECK: emitc.load %e : !emitc.lvalue<f32> to f32
// CHECK: emitc.assign %l : f32 to %v : !emitc.lvalue<f32>
// CHECK: emitc.cmp 2 : i64, %d, %c : (index, index) -> i1
// CHECK: emitc.conditional %t, %d, %c : index, index, index
// CHECK: emitc.for(%r, %d, %c) {
// CHECK: emitc.if %t {
// CHECK: emitc.do {
// CHECK: } while {
// CHECK: emitc.call @k(%x, %n) : (!emitc.ptr<f32>, index) -> ()
// CHECK: emitc.verbatim "if (!{}) return 3;" args %t : i1
emitc.global const @w : !emitc.array<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
emitc.include "stdint.h" {is_standard_include}
emitc.func @k(%x: !emitc.ptr<f32>, %n: index) attributes {specifiers = ["static"]} {
  %c = emitc.constant 4 : index
  %v = emitc.variable : !emitc.lvalue<f32>
  %a = emitc.variable : !emitc.array<96xf32>
  %d = emitc.add %n, %c : (index, index) -> index
  %e = emitc.subscript %x[%d] : (!emitc.ptr<f32>, index) -> !emitc.lvalue<f32>
  %g = emitc.get_global @w : !emitc.ptr<f32>
  %l = emitc.load %e : !emitc.lvalue<f32> to f32
  emitc.assign %l : f32 to %v : !emitc.lvalue<f32>
  %t = emitc.cmp 2 : i64, %d, %c : (index, index) -> i1
  %r = emitc.conditional %t, %d, %c : index, index, index
  emitc.for (%r, %d, %c) {
  ^bb0(%i: index):
    emitc.yield
  }
  emitc.if %t { emitc.yield } { }
  emitc.do { emitc.yield } while { emitc.yield %t : i1 }
  emitc.call @k(%x, %n) : (!emitc.ptr<f32>, index) -> ()
  emitc.verbatim "if (!{}) return 3;" args %t : i1
  emitc.return
}
