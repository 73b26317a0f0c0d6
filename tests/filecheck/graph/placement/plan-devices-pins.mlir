// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device}' | filecheck %s
// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device},place-devices{default=gpu0 io=device}' | filecheck %s

// Nothing is pinned: all is on the default.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}, %b: tensor<4xf32> {dev.on = @gpu0}, %c: tensor<4xf32> {dev.on = @gpu0}, %d: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @gpu0}
// CHECK-NEXT: %t = graph.add %c, %d {dev.on = @gpu0}
// CHECK-NEXT: %y = graph.subtract %s, %t {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// The left sum is the host's: its operands are there, and the sum is copied.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}, %c: tensor<4xf32> {dev.on = @gpu0}, %d: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %t = graph.add %c, %d {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %s from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.subtract %0, %t {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// The same by a copy that the program has.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}, %c: tensor<4xf32> {dev.on = @gpu0}, %d: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %k = dev.copy %s from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %t = graph.add %c, %d {dev.on = @gpu0}
// CHECK-NEXT: %y = graph.subtract %k, %t {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %k = dev.copy %s from @host to @gpu0 : tensor<4xf32>
  %t = graph.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %k, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Each result of a function is copied, as if it were mapped over both sums.
// CHECK-LABEL: func.func private @sum(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %k = dev.copy %s from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %k : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}, %c: tensor<4xf32> {dev.on = @host}, %d: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.call @sum(%a, %b) {dev.on = @gpu0}
// CHECK-NEXT: %t = graph.call @sum(%c, %d) {dev.on = @gpu0}
// CHECK-NEXT: %y = graph.subtract %s, %t {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func private @sum(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %k = dev.copy %s from @host to @gpu0 : tensor<4xf32>
  func.return %k : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.call @sum(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.call @sum(%c, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Both sums are the host's.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}, %c: tensor<4xf32> {dev.on = @host}, %d: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %t = graph.add %c, %d {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %s from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %1 = dev.copy %t from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.subtract %0, %1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.add %c, %d {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %s, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A sum with two uses is copied once.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %t = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %t from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.subtract %0, %0 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %t = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %t, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A value of the host with users on both devices: those of its own device read it, the others a copy.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}, tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %t = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %t from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.subtract %0, %0 {dev.on = @gpu0}
// CHECK-NEXT: %z = graph.neg %t {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %z from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %y, %1 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %t = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.subtract %t, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %z = graph.neg %t {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// Pins that agree change nothing.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %n = graph.neg %s {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %n from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.exp %0 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %n = graph.neg %s {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.exp %n {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A pin pulls what computes its operand, a whole chain of it, until another pin.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %e from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %n = graph.neg %0 {dev.on = @host}
// CHECK-NEXT: %t = graph.tanh %n {dev.on = @host}
// CHECK-NEXT: %y = graph.relu %t {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %y from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %1 : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %n = graph.neg %e : tensor<4xf32> -> tensor<4xf32>
  %t = graph.tanh %n : tensor<4xf32> -> tensor<4xf32>
  %y = graph.relu %t {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// All ops are pinned, each elsewhere: one copy between neighbours.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %e from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %n = graph.neg %0 {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %n from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.tanh %1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %n = graph.neg %e {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.tanh %n {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A third device: a copy goes from the device that has the value, not by way of the host.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu1}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @gpu1}
// CHECK-NEXT: %0 = dev.copy %e from @gpu1 to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.neg %0 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %a {dev.on = @gpu1} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.neg %e {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
