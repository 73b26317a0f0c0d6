// RUN: stepwell-opt %s -p lambda-lift | filecheck %s
// RUN: stepwell-opt %s -p eta-expand,lambda-lift,to-a-normal-form | filecheck %s --check-prefix=NONE

// NONE-NOT: graph.lambda
// NONE-NOT: graph.function

// CHECK-LABEL: func.func @nested(%x: tensor<f32>, %y: tensor<f32>)
// CHECK-NEXT: graph.call @nested_lambda_1(%x, %y, %x) : (tensor<f32>, tensor<f32>, tensor<f32>) -> ((tensor<f32>) -> tensor<f32>)
func.func @nested(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %f = graph.lambda (%a: tensor<f32>) -> ((tensor<f32>) -> tensor<f32>) {
    %g = graph.lambda (%b: tensor<f32>) -> (tensor<f32>) {
      %c = graph.add %b, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %d = graph.multiply %c, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %e = graph.subtract %d, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
      graph.yield %e : tensor<f32>
    }
    graph.yield %g : (tensor<f32>) -> tensor<f32>
  }
  %g = graph.call %f(%x) : (tensor<f32>) -> ((tensor<f32>) -> tensor<f32>)
  %r = graph.call %g(%y) : (tensor<f32>) -> tensor<f32>
  func.return %r : tensor<f32>
}
// CHECK: func.func private @nested_lambda_1(%x: tensor<f32>, %y: tensor<f32>, %a: tensor<f32>) -> ((tensor<f32>) -> tensor<f32>) {
// CHECK-NEXT: graph.closure @nested_lambda_0(%x, %a, %y) :
// CHECK: func.func private @nested_lambda_0(%x: tensor<f32>, %a: tensor<f32>, %y: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT: graph.add %b, %x
// CHECK-NEXT: graph.multiply %{{.*}}, %a
// CHECK-NEXT: graph.subtract %{{.*}}, %y

// CHECK-LABEL: func.func @itself(
// CHECK-NEXT: graph.call @itself_lambda_0(%k, %n) : (tensor<i64>, tensor<i64>) -> tensor<i64>
func.func @itself(%n: tensor<i64>, %k: tensor<i64>) -> tensor<i64> {
  %f = graph.lambda self %loop (%m: tensor<i64>) -> (tensor<i64>) {
    %less = graph.less %m, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %r = graph.if %less : tensor<i1> -> (tensor<i64>) {
      %twice = graph.add %m, %m : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %s = graph.call %loop(%twice) : (tensor<i64>) -> tensor<i64>
      graph.yield %s : tensor<i64>
    } else {
      graph.yield %m : tensor<i64>
    }
    graph.yield %r : tensor<i64>
  }
  %y = graph.call %f(%n) : (tensor<i64>) -> tensor<i64>
  func.return %y : tensor<i64>
}
// CHECK: func.func private @itself_lambda_0(%k: tensor<i64>, %m: tensor<i64>) -> tensor<i64> {
// CHECK: graph.call @itself_lambda_0(%k, %twice) : (tensor<i64>, tensor<i64>) -> tensor<i64>

// CHECK-LABEL: func.func @passes_itself(
// CHECK-NEXT: graph.closure @passes_itself_lambda_0() : () -> ((tensor<i64>) -> tensor<i64>)
func.func @passes_itself(%n: tensor<i64>) -> ((tensor<i64>) -> tensor<i64>) {
  %f = graph.lambda self %me (%m: tensor<i64>) -> (tensor<i64>) {
    %t = graph.call @id_of(%me, %m) : ((tensor<i64>) -> tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %t : tensor<i64>
  }
  func.return %f : (tensor<i64>) -> tensor<i64>
}
// CHECK: func.func private @passes_itself_lambda_0(%m: tensor<i64>) -> tensor<i64> {
// CHECK-NEXT: %[[ME:.*]] = graph.closure @passes_itself_lambda_0() : () -> ((tensor<i64>) -> tensor<i64>)
// CHECK-NEXT: graph.call @id_of(%[[ME]], %m)
func.func @id_of(%f: (tensor<i64>) -> tensor<i64>, %x: tensor<i64>) -> tensor<i64> {
  func.return %x : tensor<i64>
}

// A size that a lambda has only in types, of no captured value, goes as a number.
// CHECK-LABEL: func.func @sizes(
// CHECK-NEXT: %[[N:.*]] = graph.extents <["N"]> -> tensor<1xi64>
// CHECK-NEXT: graph.closure @sizes_lambda_0(%[[N]]) : (tensor<1xi64>) ->
func.func @sizes(%x: tensor<?xf32, #graph.dims<["N"]>>) -> ((tensor<f32>) -> tensor<?xf32, #graph.dims<["N"]>>) {
  %f = graph.lambda (%a: tensor<f32>) -> (tensor<?xf32, #graph.dims<["N"]>>) {
    %b = graph.full %a shape <["N"]> : tensor<f32> -> tensor<?xf32, #graph.dims<["N"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["N"]>>
  }
  func.return %f : (tensor<f32>) -> tensor<?xf32, #graph.dims<["N"]>>
}
// CHECK: func.func private @sizes_lambda_0(%[[S:.*]]: tensor<1xi64>, %a: tensor<f32>)
// CHECK-NEXT: graph.bind_sizes %[[S]] names ["N"]
// CHECK-NEXT: graph.full %a shape <["N"]>
