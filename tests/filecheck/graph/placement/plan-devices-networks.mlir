// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device}' | filecheck %s
// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device},place-devices{default=gpu0 io=device}' | filecheck %s

// A copy that the program has, and a constant where its user is.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %c = dev.copy %x from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %k = graph.constant {dev.on = @gpu0} dense<1.000000e+00>
// CHECK-NEXT: %y = graph.add %c, %k {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = dev.copy %x from @host to @gpu0 : tensor<4xf32>
  %k = graph.constant dense<1.0> : tensor<f32>
  %y = graph.add %c, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Two later ops read a pinned value: it is copied once, before the first of them.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @host}, %y: tensor<4xf32> {dev.on = @host}, %z: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.add %x, %y {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %s from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %t = graph.subtract %0, %z {dev.on = @gpu0}
// CHECK-NEXT: %r = graph.add %t, %0 {dev.on = @gpu0}
// CHECK-NEXT: func.return %r : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %x, %y {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.subtract %s, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = graph.add %t, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// A pin to the default, then one to the host, which pulls the other operand along.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @gpu0}, %y: tensor<4xf32> {dev.on = @gpu0}, %z: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @host}) {
// CHECK-NEXT: %s = graph.add %x, %y {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %s from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %t = graph.subtract %0, %z {dev.on = @host}
// CHECK-NEXT: func.return %t : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32> {dev.on = @host}) {
  %s = graph.add %x, %y {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.subtract %s, %z {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %t : tensor<4xf32>
}

// -----

// Every op is pinned to the host: nothing is copied, whatever the default is.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @host}, %y: tensor<4xf32> {dev.on = @host}, %z: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @host}) {
// CHECK-NEXT: %s = graph.add %x, %y {dev.on = @host}
// CHECK-NEXT: %t = graph.subtract %s, %z {dev.on = @host}
// CHECK-NEXT: func.return %t : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32> {dev.on = @host}) {
  %s = graph.add %x, %y {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.subtract %s, %z {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %t : tensor<4xf32>
}

// -----

// Convolutions of the host around a sum of the device: their weight stays, one copy of each feature map.
// CHECK-LABEL: func.func @main(%a: tensor<1x4x8x8xf32> {dev.on = @host}, %b: tensor<1x4x8x8xf32> {dev.on = @host}, %w: tensor<4x4x1x1xf32> {dev.on = @host}) -> (tensor<1x4x8x8xf32> {dev.on = @host}) {
// CHECK-NEXT: %p = graph.conv %a, %w {{.*}} {dev.on = @host}
// CHECK-NEXT: %q = graph.conv %b, %w {{.*}} {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %p from @host to @gpu0 : tensor<1x4x8x8xf32>
// CHECK-NEXT: %1 = dev.copy %q from @host to @gpu0 : tensor<1x4x8x8xf32>
// CHECK-NEXT: %s = graph.add %0, %1 {dev.on = @gpu0}
// CHECK-NEXT: %2 = dev.copy %s from @gpu0 to @host : tensor<1x4x8x8xf32>
// CHECK-NEXT: %r = graph.conv %2, %w {{.*}} {dev.on = @host}
// CHECK-NEXT: func.return %r
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<1x4x8x8xf32>, %b: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> (tensor<1x4x8x8xf32> {dev.on = @host}) {
  %p = graph.conv %a, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] {dev.on = @host}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %q = graph.conv %b, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] {dev.on = @host}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %s = graph.add %p, %q {dev.on = @gpu0} : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %r = graph.conv %s, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] {dev.on = @host}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  func.return %r : tensor<1x4x8x8xf32>
}

// -----

// A diamond: one value crosses to both branches by one copy, and their sum crosses back.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @host}) {
// CHECK-NEXT: %n = graph.neg %x {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %n from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %p = graph.exp %0 {dev.on = @gpu0}
// CHECK-NEXT: %q = graph.tanh %0 {dev.on = @gpu0}
// CHECK-NEXT: %s = graph.add %p, %q {dev.on = @gpu0}
// CHECK-NEXT: %1 = dev.copy %s from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %y = graph.neg %1 {dev.on = @host}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {dev.on = @host}) {
  %n = graph.neg %x {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %p = graph.exp %n {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %q = graph.tanh %n {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %s = graph.add %p, %q {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.neg %s {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Two ops that could be one kernel, but for a branch on the host between them.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @gpu0}, %y: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @host}) {
// CHECK-NEXT: %s = graph.add %x, %y {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %s from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %n = graph.neg %0 {dev.on = @host}
// CHECK-NEXT: %e = graph.exp %s {dev.on = @gpu0}
// CHECK-NEXT: %1 = dev.copy %n from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %t = graph.add %1, %e {dev.on = @gpu0}
// CHECK-NEXT: %2 = dev.copy %t from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %r = graph.neg %2 {dev.on = @host}
// CHECK-NEXT: func.return %r : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32> {dev.on = @host}) {
  %s = graph.add %x, %y {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %n = graph.neg %s {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %e = graph.exp %s : tensor<4xf32> -> tensor<4xf32>
  %t = graph.add %n, %e {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = graph.neg %t {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// The user of two pinned values is pinned to the device of the first: the second is copied.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}, %c: tensor<4xf32> {dev.on = @gpu0}, %d: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @host}) {
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %m = graph.multiply %c, %d {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %m from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %y = graph.subtract %s, %0 {dev.on = @host}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> (tensor<4xf32> {dev.on = @host}) {
  %s = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %m = graph.multiply %c, %d {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %m {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A composite is one op: its pin is that of all its ops, which have none of their own.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %x {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %e from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %y = graph.composite (%a = %0 : tensor<4xf32>) -> (tensor<4xf32>) attributes {dev.on = @host, pattern = "acme.relu"} {
// CHECK-NEXT: %r = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: graph.yield %r : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = dev.copy %y from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %1 : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %x {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.composite (%a = %e : tensor<4xf32>) -> (tensor<4xf32>) attributes {dev.on = @host, pattern = "acme.relu"} {
    %r = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
