// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device}' | filecheck %s
// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device},place-devices{default=gpu0 io=device}' | filecheck %s

// Nothing is pinned: no copies, all on the default.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}, %b: tensor<4xf32> {dev.on = @gpu0}, %c: tensor<4xf32> {dev.on = @gpu0}, %d: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: graph.add %a, %b {dev.on = @gpu0}
// CHECK-NEXT: graph.add %c, %d {dev.on = @gpu0}
// CHECK-NEXT: graph.subtract %s, %t {dev.on = @gpu0}
// CHECK-NEXT: func.return
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A pinned sum pulls its operands along; its user is free, and one copy is made.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}, %c: tensor<4xf32> {dev.on = @gpu0}, %d: tensor<4xf32> {dev.on = @gpu0})
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %t = graph.add %c, %d {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %s from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: graph.subtract %0, %t {dev.on = @gpu0}
// CHECK-NEXT: func.return
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Both sums are pinned: two copies.
// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = graph.add %c, %d {dev.on = @host}
// CHECK-NEXT: dev.copy %s from @host to @gpu0
// CHECK-NEXT: dev.copy %t from @host to @gpu0
// CHECK-NEXT: graph.subtract %0, %1 {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.add %c, %d {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Two uses of a value share a copy.
// CHECK-LABEL: func.func @main
// CHECK: %t = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %t from @host to @gpu0
// CHECK-NEXT: graph.subtract %0, %0 {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %t = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %t, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A pin pulls along what computes its operand.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host})
// CHECK-NEXT: graph.exp %a {dev.on = @host}
// CHECK-NEXT: graph.tanh %s {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %t from @host to @gpu0
// CHECK-NEXT: graph.exp %0 {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  %t = graph.tanh %s {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.exp %t : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A copy of the program says both of its sides.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}, %c: tensor<4xf32> {dev.on = @gpu0})
// CHECK-NEXT: graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: dev.copy %s from @host to @gpu0
// CHECK-NEXT: graph.subtract %k, %c {dev.on = @gpu0}
// CHECK-NEXT: func.return
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %k = dev.copy %s from @host to @gpu0 : tensor<4xf32>
  %y = graph.subtract %k, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Two pins that would meet: the later use gets the copy.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: graph.exp %a {dev.on = @host}
// CHECK-NEXT: %[[N:.*]] = graph.neg %s {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %s from @host to @gpu0
// CHECK-NEXT: graph.tanh %0 {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  %t = graph.neg %s {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.tanh %s {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %t, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// The shape of `y` is known to the host without its elements.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %s = graph.shape_of %y start 0 end 2 {dev.on = @host}
// CHECK-NEXT: graph.reshape %x shape_value %s : tensor<2xi64> {dev.on = @gpu0}
// CHECK-NEXT: func.return
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<6xf32>, %y: tensor<2x3xf32>) -> tensor<?x?xf32> {
  %s = graph.shape_of %y start 0 end 2 : tensor<2x3xf32> -> tensor<2xi64>
  %z = graph.reshape %x shape_value %s : tensor<2xi64> : tensor<6xf32> -> tensor<?x?xf32>
  func.return %z : tensor<?x?xf32>
}

// -----

// Integer arithmetic that decides a size alone is the host's; its operand from the device is copied.
// CHECK-LABEL: func.func @main
// CHECK: graph.concat %s, %k axis 0 {dev.on = @host}
// CHECK-NEXT: graph.reshape %x shape_value
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<6xf32>, %y: tensor<2x3xf32>) -> tensor<?x?xf32> {
  %s = graph.shape_of %y start 0 end 1 : tensor<2x3xf32> -> tensor<1xi64>
  %k = graph.constant dense<[3]> : tensor<1xi64>
  %c = graph.concat %s, %k axis 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %z = graph.reshape %x shape_value %c : tensor<2xi64> : tensor<6xf32> -> tensor<?x?xf32>
  func.return %z : tensor<?x?xf32>
}

// -----

// A constant is on each device that reads it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %k = graph.constant {dev.on = @host} dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[G:.*]] = graph.constant {dev.on = @gpu0} dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %s = graph.add %a, %k {dev.on = @host}
// CHECK-NEXT: %{{.*}} = dev.copy %s
// CHECK-NEXT: graph.add %{{.*}}, %[[G]] {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %k = graph.constant dense<1.0> : tensor<f32>
  %s = graph.add %a, %k {dev.on = @host} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = graph.add %s, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// The host reads a condition; branches copy what they need, and nothing else.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %c = graph.less %a, %b {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %c from @gpu0 to @host : tensor<i1>
// CHECK-NEXT: graph.if %0 : tensor<i1> -> (tensor<f32>) attributes {dev.on = @gpu0} {
// CHECK-NEXT:   %t = graph.neg %a {dev.on = @gpu0}
// CHECK:      } else {
// CHECK-NEXT:   %1 = dev.copy %h from @host to @gpu0
// CHECK-NEXT:   graph.exp %1 {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<f32>, %b: tensor<f32>, %h: tensor<f32> {dev.on = @host}) -> tensor<f32> {
  %c = graph.less %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %y = graph.if %c : tensor<i1> -> (tensor<f32>) {
    %t = graph.neg %a : tensor<f32> -> tensor<f32>
    graph.yield %t : tensor<f32>
  } else {
    %e = graph.exp %h : tensor<f32> -> tensor<f32>
    graph.yield %e : tensor<f32>
  }
  func.return %y : tensor<f32>
}

// -----

// A value that a loop only reads is copied once, before it; carried values stay on one device.
// CHECK-LABEL: func.func @main
// CHECK: %{{.*}} = dev.copy %h from @host to @gpu0
// CHECK-NEXT: graph.for %i to %n (%s = %a : tensor<f32>) -> (tensor<f32>) attributes {dev.on = @gpu0} {
// CHECK-NEXT:   graph.add %s, %{{.*}} {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<f32>, %h: tensor<f32> {dev.on = @host}, %n: tensor<i64> {dev.on = @host}) -> tensor<f32> {
  %y = graph.for %i to %n (%s = %a : tensor<f32>) -> (tensor<f32>) {
    %t = graph.add %s, %h : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.yield %t : tensor<f32>
  }
  func.return %y : tensor<f32>
}

// -----

// A call agrees with the parameters and results of the function; the pin in it leaves the result free.
// CHECK-LABEL: func.func private @f(%x: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: graph.exp %x {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %y from @host to @gpu0
// CHECK-NEXT: func.return %0
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host})
// CHECK-NEXT: graph.neg %a {dev.on = @host}
// CHECK-NEXT: graph.call @f(%n) {dev.on = @gpu0}
// CHECK-NEXT: graph.relu %y {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %n = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
  %y = graph.call @f(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.relu %y {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

// -----

// A function that calls itself, two results on two devices, a tuple.
// CHECK-LABEL: func.func private @g
// CHECK: graph.if %0 : tensor<i1> -> (tensor<f32>, tensor<f32>) attributes {dev.on = [@host, @gpu0]} {
// CHECK:   graph.call @g(%c, %m, %b) {dev.on = [@host, @gpu0]}
// CHECK-LABEL: func.func @main
// CHECK: graph.call @g({{.*}}) {dev.on = [@host, @gpu0]}
// CHECK-NEXT: %[[C:.*]] = dev.copy %q from @gpu0 to @host
// CHECK-NEXT: graph.tuple %p, %[[C]] {dev.on = @host}
// CHECK-NEXT: graph.get %t[0] {dev.on = @host}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func private @g(%c: tensor<i1>, %a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32> {dev.on = @host}, tensor<f32>) {
  %x, %y = graph.if %c : tensor<i1> -> (tensor<f32>, tensor<f32>) attributes {dev.on = [@host, @gpu0]} {
    %m = graph.neg %a : tensor<f32> -> tensor<f32>
    %u, %v = graph.call @g(%c, %m, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    graph.yield %u, %v : tensor<f32>, tensor<f32>
  } else {
    graph.yield %a, %b : tensor<f32>, tensor<f32>
  }
  func.return %x, %y : tensor<f32>, tensor<f32>
}
func.func @main(%c: tensor<i1>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %p, %q = graph.call @g(%c, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %t = graph.tuple %p, %q : tensor<f32>, tensor<f32>
  %z = graph.get %t [0] : tuple<tensor<f32>, tensor<f32>> -> tensor<f32>
  func.return %z : tensor<f32>
}

// -----

// The host reads the condition of a loop, and takes nothing of what computes it along.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: graph.while (%x = %a : tensor<f32>) -> (tensor<f32>) attributes {dev.on = @gpu0} {
// CHECK-NEXT:   %d = graph.exp %x {dev.on = @gpu0}
// CHECK-NEXT:   %c = graph.less %d, %b {dev.on = @gpu0}
// CHECK-NEXT:   %0 = dev.copy %c from @gpu0 to @host : tensor<i1>
// CHECK-NEXT:   graph.yield %0 : tensor<i1>
// CHECK-NEXT: } do (%z: tensor<f32>) {
// CHECK-NEXT:   graph.add %z, %b {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %y = graph.while (%x = %a : tensor<f32>) -> (tensor<f32>) {
    %d = graph.exp %x : tensor<f32> -> tensor<f32>
    %c = graph.less %d, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    graph.yield %c : tensor<i1>
  } do (%z: tensor<f32>) {
    %t = graph.add %z, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.yield %t : tensor<f32>
  }
  func.return %y : tensor<f32>
}

// -----

// A few integers that decide about another iteration alone are the host's to compute.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: graph.while (%i = %n : tensor<i64>, %x = %a : tensor<f32>) -> (tensor<i64>, tensor<f32>) attributes {dev.on = [@host, @gpu0]} {
// CHECK-NEXT:   graph.less %i, %m {dev.on = @host}
// CHECK-NEXT:   graph.yield %c : tensor<i1>
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%n: tensor<i64> {dev.on = @host}, %m: tensor<i64> {dev.on = @host}, %a: tensor<f32>) -> tensor<f32> {
  %k, %y = graph.while (%i = %n : tensor<i64>, %x = %a : tensor<f32>) -> (tensor<i64>, tensor<f32>)
      attributes {dev.on = [@host, @gpu0]} {
    %c = graph.less %i, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %c : tensor<i1>
  } do (%j: tensor<i64>, %z: tensor<f32>) {
    %l = graph.add %j, %m {dev.on = @host} : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %t = graph.exp %z : tensor<f32> -> tensor<f32>
    graph.yield %l, %t : tensor<i64>, tensor<f32>
  }
  func.return %y : tensor<f32>
}

// -----

// A tuple is on one device; where a field of it is needed on another, it is copied.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: graph.tuple %a, %b {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %t from @host to @gpu0 : tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT: graph.get %0[1] {dev.on = @gpu0}
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %t = graph.tuple %a, %b {dev.on = @host} : tensor<4xf32>, tensor<4xf32>
  %y = graph.get %t [1] {dev.on = @gpu0} : tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
