// RUN: stepwell-opt %s -p 'expand-math{mcpu=x86-64-v3}' | filecheck %s
// RUN: stepwell-opt %s -p 'expand-math{mcpu=x86-64 calls=false}' | filecheck %s --check-prefix=INTEGERS
// RUN: stepwell-opt %s -p 'expand-math{mcpu=x86-64-v4}' | filecheck %s --check-prefix=SCALE
// RUN: stepwell-opt %s -p 'expand-math{mcpu=x86-64-v2}' | filecheck %s --check-prefix=V2

// CHECK-LABEL: @exp
// CHECK-NOT: math.exp
// CHECK: math.fma
// CHECK: arith.bitcast %{{.*}} : vector<16xf32> to vector<16xi32>
// CHECK: arith.shli
// One instruction where there is one.
// SCALE-LABEL: @exp
// SCALE-NOT: arith.bitcast
// SCALE: %[[Y:.*]] = arith.scale %{{.*}}, %{{.*}} : vector<16xf32>
// SCALE-NEXT: func.return %[[Y]]
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp %x : vector<16xf32>
  func.return %y : vector<16xf32>
}

// What is never above 0 takes one bound, not two, and ln 2 in one part.
// CHECK-LABEL: @not_positive
// CHECK: arith.cmpf olt, %x, %{{.*}}
// CHECK-NOT: arith.cmpf
// CHECK: %[[LN2:.*]] = arith.constant dense<-0.693147182>
// CHECK-NEXT: %[[F:.*]] = math.fma %{{.*}}, %[[LN2]], %{{.*}}
// CHECK-NEXT: %[[TOP:.*]] = arith.constant
// CHECK-NEXT: %[[NEXT:.*]] = arith.constant
// CHECK-NEXT: math.fma %[[TOP]], %[[F]], %[[NEXT]]
func.func @not_positive(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp %x {sched.not_positive} : vector<16xf32>
  func.return %y : vector<16xf32>
}

// f16 is computed in f32.
// CHECK-LABEL: @half
// CHECK: arith.extf %x : f16 to f32
// CHECK-NOT: math.tanh
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @half(%x: f16) -> f16 {
  %y = math.tanh %x : f16
  func.return %y : f16
}

// CHECK-LABEL: @powers
// CHECK-NOT: math.powf
// CHECK: %[[SQUARE:.*]] = arith.mulf %x, %x : vector<4xf32>
// CHECK: math.sqrt
// The logarithm, and its product with the exponent, are f64.
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
func.func @powers(%x: vector<4xf32>, %b: f32, %e: f32) -> (vector<4xf32>, f32) {
  %two = arith.constant dense<2.0> : vector<4xf32>
  %s = math.powf %x, %two : vector<4xf32>
  %h = arith.constant 0.5 : f32
  %hs = vector.broadcast %h : f32 to vector<4xf32>
  %r = math.powf %s, %hs : vector<4xf32>
  %p = math.powf %b, %e : f32
  func.return %r, %p : vector<4xf32>, f32
}

// A polynomial where all lanes are near enough, and the target can subtract products exactly.
// CHECK-LABEL: @sine
// CHECK: %[[FAR:.*]] = arith.cmpf ogt, %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[FAR]] : vector<16xi1> into i1
// CHECK: scf.if %[[ANY]] -> (vector<16xf32>) {
// CHECK: math.sin %{{.*}} : f32
// CHECK: } else {
// CHECK-NEXT: scf.yield
// V2-LABEL: @sine
// V2-NOT: scf.if
// V2: math.sin %{{.*}} : f32
func.func @sine(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.sin %x : vector<16xf32>
  func.return %y : vector<16xf32>
}

// Functions without a recipe, and all of f64, go lane by lane to the C library.
// CHECK-LABEL: @lanes
// CHECK: %[[X0:.*]] = vector.extract %x[0] : f64 from vector<2xf64>
// CHECK: %[[Y0:.*]] = math.exp %[[X0]] : f64
// CHECK: vector.insert %[[Y0]], %{{.*}} [0] : f64 into vector<2xf64>
// CHECK: math.exp
func.func @lanes(%x: vector<2xf64>) -> vector<2xf64> {
  %y = math.exp %x : vector<2xf64>
  func.return %y : vector<2xf64>
}

// The greater number of what a loop carries and what it reads: the carried one never is NaN.
// CHECK-LABEL: @greatest
// CHECK: scf.for %{{.*}} iter_args(%[[BEST:.*]] = %{{.*}}) -> (vector<4xf32>)
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %x, %[[BEST]] : vector<4xf32>
// CHECK-NEXT: arith.select %[[ABOVE]], %x, %[[BEST]]
// Of two that can be NaN it takes both comparisons.
// CHECK: arith.maxnumf %x, %y
func.func @greatest(%x: vector<4xf32>, %y: vector<4xf32>, %n: index) -> (vector<4xf32>, vector<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %lowest = arith.constant 0xff800000 : f32
  %start = vector.broadcast %lowest : f32 to vector<4xf32>
  %best = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %start) -> (vector<4xf32>) {
    %next = arith.maxnumf %so_far, %x : vector<4xf32>
    scf.yield %next : vector<4xf32>
  }
  %open = arith.maxnumf %x, %y : vector<4xf32>
  func.return %best, %open : vector<4xf32>, vector<4xf32>
}

// Without a C library the digits of 2 / pi are multiplied as integers, for all angles.
// INTEGERS-LABEL: @angle
// INTEGERS-NOT: math.sin
// INTEGERS: arith.muli
// INTEGERS-NOT: scf.if
// CHECK-LABEL: @angle
// CHECK: math.sin
func.func @angle(%x: f32) -> f32 {
  %y = math.sin %x : f32
  func.return %y : f32
}
