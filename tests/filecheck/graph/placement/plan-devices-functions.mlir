// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device}' | filecheck %s
// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device},place-devices{default=gpu0 io=device}' | filecheck %s

// A parameter that is pinned to the host, and its use on the default.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %0 = dev.copy %a from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.add %0, %b {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A result that is pinned to the host.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}, %b: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @host}) {
// CHECK-NEXT: %y = graph.add %a, %b {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %y from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32> {dev.on = @host}) {
  %y = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A function whose body is pinned: its callers' values go there, and its result is free.
// CHECK-LABEL: func.func private @f(%x: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) attributes {dev.on = @host} {
// CHECK-NEXT: %e = graph.exp %x {dev.on = @host}
// CHECK-NEXT: %n = graph.neg %e {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %n from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %t = graph.tanh %a {dev.on = @host}
// CHECK-NEXT: %y = graph.call @f(%t) {dev.on = @gpu0}
// CHECK-NEXT: %z = graph.relu %y {dev.on = @gpu0}
// CHECK-NEXT: func.return %z : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dev.on = @host} {
  %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %n = graph.neg %e : tensor<4xf32> -> tensor<4xf32>
  func.return %n : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %t = graph.tanh %a : tensor<4xf32> -> tensor<4xf32>
  %y = graph.call @f(%t) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.relu %y : tensor<4xf32> -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

// -----

// Two calls of one function agree by its parameters.
// CHECK-LABEL: func.func private @f(%x: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %x {dev.on = @gpu0}
// CHECK-NEXT: func.return %e : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}, tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %n = graph.neg %a {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %n from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.call @f(%0) {dev.on = @gpu0}
// CHECK-NEXT: %z = graph.call @f(%b) {dev.on = @gpu0}
// CHECK-NEXT: func.return %y, %z : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = graph.neg %a {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.call @f(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.call @f(%b) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// A function that calls another one: pins go through both.
// CHECK-LABEL: func.func private @g(%x: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %x {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %e from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func private @f(%x: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %n = graph.neg %x {dev.on = @host}
// CHECK-NEXT: %g = graph.call @g(%n) {dev.on = @gpu0}
// CHECK-NEXT: func.return %g : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %y = graph.call @f(%a) {dev.on = @gpu0}
// CHECK-NEXT: %z = graph.tanh %y {dev.on = @gpu0}
// CHECK-NEXT: func.return %z : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %x {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %g = graph.call @g(%n) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %g : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.tanh %y {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

// -----

// A function that calls itself has one device for a parameter.
// CHECK-LABEL: func.func private @f(%c: tensor<i1> {dev.on = @gpu0}, %x: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %0 = dev.copy %c from @gpu0 to @host : tensor<i1>
// CHECK-NEXT: %r = graph.if %0 : tensor<i1> -> (tensor<4xf32>) attributes {dev.on = @gpu0} {
// CHECK-NEXT: %n = graph.neg %x {dev.on = @host}
// CHECK-NEXT: %s = graph.call @f(%c, %n) {dev.on = @gpu0}
// CHECK-NEXT: graph.yield %s
// CHECK-NEXT: } else {
// CHECK-NEXT: %e = graph.exp %x {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %e from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: graph.yield %1
// CHECK-NEXT: }
// CHECK-NEXT: func.return %r : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%c: tensor<i1> {dev.on = @gpu0}, %a: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %y = graph.call @f(%c, %a) {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func private @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %n = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
    %s = graph.call @f(%c, %n) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  } else {
    %e = graph.exp %x {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func @main(%c: tensor<i1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @f(%c, %a) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A function value is called on the host, which has its arguments.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %f = graph.lambda (%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {dev.on = @host} {
// CHECK-NEXT: %e = graph.exp %x
// CHECK-NEXT: graph.yield %e
// CHECK-NEXT: }
// CHECK-NEXT: %n = graph.neg %a {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %n from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %y = graph.call %f(%0) {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %y from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %1 : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %f = graph.lambda (%x: tensor<4xf32>) -> (tensor<4xf32>) {
    %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  }
  %n = graph.neg %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.call %f(%n) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A function that takes a function.
// CHECK-LABEL: func.func private @apply(%f: (tensor<4xf32>) -> tensor<4xf32>, %x: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %y = graph.call %f(%x) {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %y from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func private @neg(%x: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %n = graph.neg %x {dev.on = @gpu0}
// CHECK-NEXT: func.return %n : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %f = graph.function @neg {dev.on = @host}
// CHECK-NEXT: %e = graph.exp %a {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %e from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %y = graph.call @apply(%f, %0) {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func private @apply(%f: (tensor<4xf32>) -> tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call %f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @neg(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  func.return %n : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %f = graph.function @neg : (tensor<4xf32>) -> tensor<4xf32>
  %e = graph.exp %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.call @apply(%f, %e) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
