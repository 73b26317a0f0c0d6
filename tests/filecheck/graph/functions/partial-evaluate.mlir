// RUN: stepwell-opt %s -p partial-evaluate,dead-code-elimination --verify-each | filecheck %s
// RUN: stepwell-opt %s -p 'PartialEvaluate{budget=0}' --verify-each | filecheck %s --check-prefix NONE

// Both arms may run, and each writes the cell once: its content is not known after them.
// CHECK-LABEL: @counted(
// CHECK: graph.if %d
// CHECK: ref.write
// CHECK: ref.write
// CHECK: ref.read
func.func @counted(%d: tensor<i1>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %r = ref.new %zero : tensor<i64> -> !ref.cell<tensor<i64>>
  %u = graph.lambda () -> () {
    %v = ref.read %r : !ref.cell<tensor<i64>> -> tensor<i64>
    %w = graph.add %v, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ref.write %r, %w : !ref.cell<tensor<i64>>, tensor<i64>
    graph.yield
  }
  graph.if %d : tensor<i1> -> () {
    graph.call %u() : () -> ()
    graph.yield
  } else {
    graph.call %u() : () -> ()
    graph.yield
  }
  %v = ref.read %r : !ref.cell<tensor<i64>> -> tensor<i64>
  func.return %v : tensor<i64>
}

// CHECK-LABEL: @squared(
// CHECK-NEXT: %[[Y:.*]] = graph.multiply %x, %x
// CHECK-NEXT: func.return %[[Y]]
func.func @squared(%x: tensor<f32>) -> tensor<f32> {
  %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  %a = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  %b = graph.multiply %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
  ref.write %r, %b : !ref.cell<tensor<f32>>, tensor<f32>
  %c = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  func.return %c : tensor<f32>
}

// Five calls inside each other, of a number that falls.
// CHECK-LABEL: @power_of(
// CHECK-NOT: graph.call
// CHECK-COUNT-5: graph.multiply
// CHECK: func.return
// NONE-LABEL: @power_of(
// NONE: graph.call @power
func.func @power_of(%x: tensor<f32>) -> tensor<f32> {
  %five = graph.constant dense<5> : tensor<i64>
  %y = graph.call @power(%x, %five) : (tensor<f32>, tensor<i64>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// What ends at no known size stays a call, also inside the function itself.
// CHECK-LABEL: @endless(
// CHECK: graph.call @loop
// CHECK-LABEL: @unknown(
// CHECK-NEXT: graph.call @power(%x, %n)
// CHECK-NEXT: func.return
// CHECK-LABEL: func.func private @power(
// CHECK: graph.call @power
// CHECK-NOT: graph.call
// CHECK-LABEL: func.func private @loop(
func.func @endless() -> tensor<i64> {
  %one = graph.constant dense<1> : tensor<i64>
  %y = graph.call @loop(%one) : (tensor<i64>) -> tensor<i64>
  func.return %y : tensor<i64>
}
func.func @unknown(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  %y = graph.call @power(%x, %n) : (tensor<f32>, tensor<i64>) -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func private @power(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> (tensor<f32>) {
    %one = graph.constant dense<1.0> : tensor<f32>
    graph.yield %one : tensor<f32>
  } else {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %p = graph.call @power(%x, %m) : (tensor<f32>, tensor<i64>) -> tensor<f32>
    %q = graph.multiply %x, %p : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.yield %q : tensor<f32>
  }
  func.return %r : tensor<f32>
}
func.func private @loop(%x: tensor<i64>) -> tensor<i64> {
  %y = graph.call @loop(%x) : (tensor<i64>) -> tensor<i64>
  func.return %y : tensor<i64>
}
