// RUN: stepwell-opt %s -p fold-constant,dead-code-elimination | filecheck %s

// CHECK-LABEL: @chain
// CHECK-NEXT: %[[C:.*]] = graph.constant dense<[-2.000000e+00, -3.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.add %x, %[[C]]
// CHECK-NEXT: func.return %[[Y]]
func.func @chain(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %b = graph.add %a, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %c = graph.neg %b : tensor<2xf32> -> tensor<2xf32>
  %y = graph.add %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// More than 16 elements become a weight.
// CHECK-LABEL: @weight
// CHECK: graph.constant #graph.weight<"y", "{{[0-9a-f]+}}", tensor<20xi64>>
// CHECK-NEXT: func.return
func.func @weight() -> tensor<20xi64> {
  %y = graph.iota shape <[20]> axis 0 of i64 -> tensor<20xi64>
  func.return %y : tensor<20xi64>
}

// A small constant does not grow beyond the cap.
// CHECK-LABEL: @cap
// CHECK: graph.broadcast_to
func.func @cap() -> tensor<1000x1000xf32> {
  %a = graph.constant dense<1.0> : tensor<f32>
  %y = graph.broadcast_to %a shape <[1000, 1000]> : tensor<f32> -> tensor<1000x1000xf32>
  func.return %y : tensor<1000x1000xf32>
}

// The static part of a symbolic shape is known without its tensor.
// CHECK-LABEL: @shapes
// CHECK-NEXT: graph.constant dense<256> : tensor<i64>
// CHECK-NEXT: func.return
func.func @shapes(%x: tensor<?x256xf32, #graph.dims<["N", 256]>>) -> tensor<i64> {
  %s = graph.shape_of %x start 0 end 2 : tensor<?x256xf32, #graph.dims<["N", 256]>> -> tensor<2xi64>
  %i = graph.constant dense<-1> : tensor<i64>
  %n = graph.gather %s, %i axis 0 batch_dims 0 bounds "check" : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  func.return %n : tensor<i64>
}

// An evaluation that fails is left for run time.
// CHECK-LABEL: @fails
// CHECK: graph.gather
func.func @fails() -> tensor<i64> {
  %s = graph.constant dense<[1, 2]> : tensor<2xi64>
  %i = graph.constant dense<7> : tensor<i64>
  %n = graph.gather %s, %i axis 0 batch_dims 0 bounds "check" : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  func.return %n : tensor<i64>
}

// A branch that is known stands in the place of its if; symbols of the if are the branch's dimensions.
// CHECK-LABEL: @branch
// CHECK-NOT: graph.if
// CHECK: %[[E:.*]] = graph.exp %x : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
// CHECK-NEXT: %[[R:.*]] = graph.neg %[[E]] : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
// CHECK-NOT: graph.for
// CHECK: func.return %[[R]], %x
func.func @branch(%x: tensor<?xf32, #graph.dims<["N"]>>, %z: tensor<1xf32>)
    -> (tensor<?xf32, #graph.dims<["data_0"]>>, tensor<?xf32, #graph.dims<["N"]>>) {
  %c = graph.constant dense<true> : tensor<i1>
  %y, %n = graph.if %c : tensor<i1> defines ["data_0"] -> (tensor<?xf32, #graph.dims<["data_0"]>>, index) {
    %e = graph.exp %x : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
    graph.yield %e : tensor<?xf32, #graph.dims<["N"]>>
  } else {
    graph.yield %z : tensor<1xf32>
  }
  %r = graph.neg %y : tensor<?xf32, #graph.dims<["data_0"]>> -> tensor<?xf32, #graph.dims<["data_0"]>>
  %never = graph.constant dense<0> : tensor<i64>
  %f = graph.for %i to %never (%a = %x : tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>) {
    graph.yield %a : tensor<?xf32, #graph.dims<["N"]>>
  }
  func.return %r, %f : tensor<?xf32, #graph.dims<["data_0"]>>, tensor<?xf32, #graph.dims<["N"]>>
}

// A size that the if does not define keeps its name where it is that of another value.
// CHECK-LABEL: @other_size
// CHECK-SAME: %x: tensor<?xf32, #graph.dims<["N"]>>
// CHECK: func.return %x, %z : tensor<?xf32, #graph.dims<["N"]>>, tensor<?xf32, #graph.dims<["M"]>>
func.func @other_size(%x: tensor<?xf32, #graph.dims<["N"]>>, %z: tensor<?xf32, #graph.dims<["M"]>>)
    -> (tensor<?xf32, #graph.dims<["N"]>>, tensor<?xf32, #graph.dims<["N"]>>) {
  %c = graph.constant dense<false> : tensor<i1>
  %y = graph.if %c : tensor<i1> -> (tensor<?xf32, #graph.dims<["N"]>>) {
    graph.yield %x : tensor<?xf32, #graph.dims<["N"]>>
  } else {
    graph.yield %z : tensor<?xf32, #graph.dims<["M"]>>
  }
  func.return %x, %y : tensor<?xf32, #graph.dims<["N"]>>, tensor<?xf32, #graph.dims<["N"]>>
}

// A field of a tuple of constants.
// CHECK-LABEL: @projection
// CHECK: %[[B:.*]] = graph.constant dense<[3.000000e+00, 4.000000e+00]>
// CHECK: %[[X:.*]] = graph.get
// CHECK-NEXT: func.return %[[B]], %[[X]]
func.func @projection(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %t = graph.tuple %a, %x : tensor<2xf32>, tensor<2xf32>
  %y = graph.get %t[0] : tuple<tensor<2xf32>, tensor<2xf32>> -> tensor<2xf32>
  %z = graph.get %t[1] : tuple<tensor<2xf32>, tensor<2xf32>> -> tensor<2xf32>
  func.return %y, %z : tensor<2xf32>, tensor<2xf32>
}

// What has no elements is constant, whatever it is computed from.
// CHECK-LABEL: @empty
// CHECK-NEXT: %[[E:.*]] = graph.constant dense<> : tensor<0x4xf32>
// CHECK-NEXT: func.return %[[E]]
func.func @empty(%x: tensor<2x4xf32>) -> tensor<0x4xf32> {
  %a = graph.slice %x starts <[0, 0]> limits <[0, 4]> steps [1, 1] : tensor<2x4xf32> -> tensor<0x4xf32>
  %b = graph.exp %a : tensor<0x4xf32> -> tensor<0x4xf32>
  func.return %b : tensor<0x4xf32>
}

// Matches on values whose making is in sight: the constructors decide, as far as they are known.
// CHECK-LABEL: @match
// CHECK-NEXT: %[[E:.*]] = graph.exp %x
// CHECK-NEXT: adt.match %l
// CHECK-NOT: adt.make
// CHECK: func.return %[[E]]
func.func @match(%x: tensor<4xf32>, %l: !adt.data<@List, tensor<4xf32>>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = adt.make @List::@Nil() : () -> !adt.data<@List, tensor<4xf32>>
  %m = adt.make @List::@Cons(%x, %n) : (tensor<4xf32>, !adt.data<@List, tensor<4xf32>>) -> !adt.data<@List, tensor<4xf32>>
  %y = adt.match %m : !adt.data<@List, tensor<4xf32>> -> (tensor<4xf32>) case Cons(_, Cons(_, _)) {
    graph.yield %x : tensor<4xf32>
  } case Cons(%a: tensor<4xf32>, Nil) {
    %e = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } case Nil {
    graph.yield %x : tensor<4xf32>
  }
  %z = adt.match %l : !adt.data<@List, tensor<4xf32>> -> (tensor<4xf32>) case Cons(%a: tensor<4xf32>, _) {
    graph.yield %a : tensor<4xf32>
  } case Nil {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// A table of relative positions, gathered: 320 KB from 40 KB, where a broadcast to that size stays an op.
// CHECK-LABEL: @gathered
// CHECK-NOT: graph.gather
// CHECK: graph.constant {{.*}}tensor<5000x16xf32>
func.func @gathered() -> tensor<5000x16xf32> {
  %t = graph.constant dense<2.0> : tensor<1x16xf32>
  %zero = graph.constant dense<0> : tensor<i64>
  %i = graph.broadcast_to %zero shape <[5000]> : tensor<i64> -> tensor<5000xi64>
  %y = graph.gather %t, %i axis 0 batch_dims 0 bounds "check" : (tensor<1x16xf32>, tensor<5000xi64>) -> tensor<5000x16xf32>
  func.return %y : tensor<5000x16xf32>
}
