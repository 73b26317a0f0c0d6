// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @types(%a: f32, %b: i32) {
  // expected-error: operands and result must have one type
  %c = emitc.mul %a, %b : (f32, i32) -> f32
  func.return
}

// -----

func.func @pointer(%a: !emitc.ptr<f32>, %i: index) {
  // expected-error: expected an address
  %p = emitc.add %a, %i : (!emitc.ptr<f32>, index) -> !emitc.ptr<i32>
  func.return
}

// -----

func.func @compare(%a: f32, %b: i32) {
  // expected-error: operands must have one type
  %c = emitc.cmp 2 : i64, %a, %b : (f32, i32) -> i1
  func.return
}

// -----

func.func @predicate(%a: f32) {
  // expected-error: predicate must be 0 to 5, found 6
  %c = emitc.cmp 6 : i64, %a, %a : (f32, f32) -> i1
  func.return
}

// -----

func.func @choice(%c: i1, %a: f32, %b: i32) {
  // expected-error: both values and the result must have one type
  %r = emitc.conditional %c, %a, %b : f32, i32, f32
  func.return
}

// -----

func.func @indices(%a: !emitc.array<4x4xf32>, %i: index) {
  // expected-error: takes 2 of type index
  %e = emitc.subscript %a[%i] : (!emitc.array<4x4xf32>, index) -> !emitc.lvalue<f32>
  func.return
}

// -----

func.func @element(%a: !emitc.ptr<f32>, %i: index) {
  // expected-error: expected an lvalue of f32
  %e = emitc.subscript %a[%i] : (!emitc.ptr<f32>, index) -> !emitc.lvalue<i32>
  func.return
}

// -----

func.func @load(%a: !emitc.lvalue<f32>) {
  // expected-error: does not contain i32
  %e = emitc.load %a : !emitc.lvalue<f32> to i32
  func.return
}

// -----

func.func @assign(%a: !emitc.lvalue<f32>, %b: i32) {
  // expected-error: does not contain i32
  emitc.assign %b : i32 to %a : !emitc.lvalue<f32>
  func.return
}

// -----

// expected-error: a function in C returns one value, not 2
emitc.func @two(%a: f32) -> (f32, f32) {
  emitc.return
}

// -----

func.func @call(%a: f32) {
  // expected-error: a function in C returns one value, not 2
  %b, %c = emitc.call @two(%a) : (f32) -> (f32, f32)
  func.return
}

// -----

func.func @loop(%a: index) {
  // expected-error: the body must have one argument, of type index
  emitc.for(%a, %a, %a) {
    emitc.yield
  }
  func.return
}

// -----

func.func @again() {
  // expected-error: the condition must end in emitc.yield of an i1
  emitc.do {
    emitc.yield
  } while {
    emitc.yield
  }
  func.return
}

// -----

func.func @text(%a: f32) {
  // expected-error: the text has 2 places for 1 arguments
  emitc.verbatim "f({}, {});" args %a : f32
  func.return
}
