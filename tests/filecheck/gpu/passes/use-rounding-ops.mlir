// RUN: stepwell-opt %s -p use-rounding-ops | filecheck %s

// CHECK-LABEL: func.func @rounds
// CHECK: %[[N:.*]] = math.roundeven %x : f32
// CHECK: %[[S:.*]] = arith.addf %[[N]], %{{.*}} : f32
// CHECK: %[[P:.*]] = arith.mulf %x, %y : f32
// CHECK: %[[M:.*]] = math.roundeven %[[P]] : f32
// CHECK: %[[T:.*]] = arith.addf %[[M]], %{{.*}} : f32
// CHECK: func.return %[[S]], %[[T]] : f32, f32
func.func @rounds(%x: f32, %y: f32) -> (f32, f32) {
  %r = arith.constant 12582912.0 : f32
  %s = arith.addf %x, %r : f32
  %t = math.fma %x, %y, %r : f32
  func.return %s, %t : f32, f32
}

// Another constant does not round.

// CHECK-LABEL: func.func @adds
// CHECK-NOT: math.roundeven
// CHECK: func.return
func.func @adds(%x: f32) -> f32 {
  %r = arith.constant 12582913.0 : f32
  %s = arith.addf %x, %r : f32
  func.return %s : f32
}
