// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device}' | filecheck %s
// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device},place-devices{default=gpu0 io=device}' | filecheck %s

// The fields of a tuple are on its device.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @host}
// CHECK-NEXT: %n = graph.neg %b {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %e from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %t = graph.tuple %0, %n {dev.on = @gpu0}
// CHECK-NEXT: %x = graph.get %t[0] {dev.on = @gpu0}
// CHECK-NEXT: %y = graph.get %t[1] {dev.on = @gpu0}
// CHECK-NEXT: %z = graph.add %x, %y {dev.on = @gpu0}
// CHECK-NEXT: func.return %z : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %a {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %n = graph.neg %b {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %t = graph.tuple %e, %n : tensor<4xf32>, tensor<4xf32>
  %x = graph.get %t[0] : tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %y = graph.get %t[1] : tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %z = graph.add %x, %y {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

// -----

// Several results of an op are on its device.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}) -> (tensor<2xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %x, %y = graph.split %a axis 0 sizes <[2, 2]> {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %x from @host to @gpu0 : tensor<2xf32>
// CHECK-NEXT: %1 = dev.copy %y from @host to @gpu0 : tensor<2xf32>
// CHECK-NEXT: %z = graph.add %0, %1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %z : tensor<2xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<2xf32> {
  %x, %y = graph.split %a axis 0 sizes <[2, 2]> {dev.on = [@host, @host]} : tensor<4xf32> -> (tensor<2xf32>, tensor<2xf32>)
  %z = graph.add %x, %y {dev.on = @gpu0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %z : tensor<2xf32>
}

// -----

// A condition is the host's; a branch computes where its pins say, and the result is on one device.
// CHECK-LABEL: func.func @main(%c: tensor<i1> {dev.on = @gpu0}, %a: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %0 = dev.copy %c from @gpu0 to @host : tensor<i1>
// CHECK-NEXT: %y = graph.if %0 : tensor<i1> -> (tensor<4xf32>) attributes {dev.on = @gpu0} {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %e from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: graph.yield %1
// CHECK-NEXT: } else {
// CHECK-NEXT: %2 = dev.copy %a from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %n = graph.neg %2 {dev.on = @gpu0}
// CHECK-NEXT: graph.yield %n
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%c: tensor<i1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %e = graph.exp %a {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    %n = graph.neg %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// A branch without ops yields a value from outside.
// CHECK-LABEL: func.func @main(%c: tensor<i1> {dev.on = @gpu0}, %a: tensor<4xf32> {dev.on = @gpu0}, %b: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %0 = dev.copy %c from @gpu0 to @host : tensor<i1>
// CHECK-NEXT: %y = graph.if %0 : tensor<i1> -> (tensor<4xf32>) attributes {dev.on = @gpu0} {
// CHECK-NEXT: %1 = dev.copy %b from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: graph.yield %1
// CHECK-NEXT: } else {
// CHECK-NEXT: %n = graph.neg %a {dev.on = @gpu0}
// CHECK-NEXT: graph.yield %n
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32> {dev.on = @host}) -> tensor<4xf32> {
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    graph.yield %b : tensor<4xf32>
  } else {
    %n = graph.neg %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// A condition that a device computes from shared values.
// CHECK-LABEL: func.func @main(%a: tensor<f32> {dev.on = @gpu0}, %b: tensor<f32> {dev.on = @gpu0}) -> (tensor<f32> {dev.on = @gpu0}) {
// CHECK-NEXT: %d = graph.subtract %a, %b {dev.on = @gpu0}
// CHECK-NEXT: %c = graph.less %d, %b {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %c from @gpu0 to @host : tensor<i1>
// CHECK-NEXT: %y = graph.if %0 : tensor<i1> -> (tensor<f32>) attributes {dev.on = @gpu0} {
// CHECK-NEXT: graph.yield %d
// CHECK-NEXT: } else {
// CHECK-NEXT: %n = graph.neg %d {dev.on = @gpu0}
// CHECK-NEXT: graph.yield %n
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<f32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %d = graph.subtract %a, %b {dev.on = @gpu0} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %c = graph.less %d, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %y = graph.if %c : tensor<i1> -> (tensor<f32>) {
    graph.yield %d : tensor<f32>
  } else {
    %n = graph.neg %d : tensor<f32> -> tensor<f32>
    graph.yield %n : tensor<f32>
  }
  func.return %y : tensor<f32>
}

// -----

// A cell is the host's, and so is what is written to it and read from it.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %e from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %r = ref.new %0 {dev.on = @host}
// CHECK-NEXT: %v = ref.read %r {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %v from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.neg %1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %r = ref.new %e : tensor<4xf32> -> !ref.cell<tensor<4xf32>>
  %v = ref.read %r : !ref.cell<tensor<4xf32>> -> tensor<4xf32>
  %y = graph.neg %v {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Data of a type is the host's: a field goes there, and comes back for its user.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}, %b: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %e from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %p = adt.make @Pair::@Pair(%0, %b) {dev.on = @host}
// CHECK-NEXT: %x = adt.match %p : !adt.data<@Pair> -> (tensor<4xf32>) attributes {dev.on = @host} case Pair(%u: tensor<4xf32>, _) {
// CHECK-NEXT: graph.yield %u
// CHECK-NEXT: }
// CHECK-NEXT: %1 = dev.copy %x from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.neg %1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
adt.data @Pair {
  adt.constructor @Pair(tensor<4xf32>, tensor<4xf32>)
}
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %p = adt.make @Pair::@Pair(%e, %b) : (tensor<4xf32>, tensor<4xf32>) -> !adt.data<@Pair>
  %x = adt.match %p : !adt.data<@Pair> -> (tensor<4xf32>) case Pair(%u: tensor<4xf32>, _) {
    graph.yield %u : tensor<4xf32>
  }
  %y = graph.neg %x {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A value of a device is written to a cell: the host reads it back.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @host}, %y: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %r = ref.new %x {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %y from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: ref.write %r, %0 {dev.on = @host}
// CHECK-NEXT: %v = ref.read %r {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %v from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %s = graph.add %y, %1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %s : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32> {dev.on = @gpu0}) -> tensor<4xf32> {
  %r = ref.new %x : tensor<4xf32> -> !ref.cell<tensor<4xf32>>
  ref.write %r, %y : !ref.cell<tensor<4xf32>>, tensor<4xf32>
  %v = ref.read %r : !ref.cell<tensor<4xf32>> -> tensor<4xf32>
  %s = graph.add %y, %v {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
