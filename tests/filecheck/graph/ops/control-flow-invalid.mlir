// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @if_c1_condition(%x: tensor<4xf32>, %c: tensor<1xi1>) {
  // expected-error: the condition must be tensor<i1>, found tensor<1xi1>
  %y = graph.if %c : tensor<1xi1> -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return
}
// -----
func.func @if_c2_yield(%x: tensor<4xf32>, %c: tensor<i1>) {
  // expected-error: expected 1 yielded values, found 0
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield
  }
  func.return
}
// -----
func.func @if_c3_rank(%x: tensor<4xf32>, %z: tensor<1x4xf32>, %c: tensor<i1>) {
  // expected-error: the branches yield tensor<4xf32> and tensor<1x4xf32> as value 0
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %z : tensor<1x4xf32>
  }
  func.return
}
// -----
func.func @if_join(%x: tensor<4xf32>, %z: tensor<1x4xf32>, %c: tensor<i1>) {
  // expected-error: result type must be tensor<4xf32>, found tensor<5xf32>
  %y = graph.if %c : tensor<i1> -> (tensor<5xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return
}
// -----
func.func @while_c1_condition(%x: tensor<f32>) {
  // expected-error: the first region must yield tensor<i1>, found tensor<f32>
  %y = graph.while (%a = %x : tensor<f32>) -> (tensor<f32>) {
    graph.yield %a : tensor<f32>
  } do (%b: tensor<f32>) {
    graph.yield %b : tensor<f32>
  }
  func.return
}
// -----
func.func @while_c2_arguments(%x: tensor<f32>, %c: tensor<i1>) {
  // expected-error: both regions must take the same values
  %y = graph.while (%a = %x : tensor<f32>) -> (tensor<f32>) {
    graph.yield %c : tensor<i1>
  } do (%b: tensor<i64>) {
    graph.yield %x : tensor<f32>
  }
  func.return
}
// -----
func.func @while_c3_changes(%x: tensor<1xf32>, %z: tensor<2xf32>, %c: tensor<i1>) {
  // expected-error: carried value 0 of type tensor<1xf32> goes on as tensor<2xf32>
  %y = graph.while (%a = %x : tensor<1xf32>) -> (tensor<1xf32>) {
    graph.yield %c : tensor<i1>
  } do (%b: tensor<1xf32>) {
    graph.yield %z : tensor<2xf32>
  }
  func.return
}
// -----
func.func @for_c1_count(%x: tensor<f32>, %n: tensor<i64>) {
  // expected-error: iterations are counted by tensor<i64>, found tensor<i32>
  %y = "graph.for"(%n, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<f32>):
    graph.yield %a : tensor<f32>
  }) : (tensor<i64>, tensor<f32>) -> tensor<f32>
  func.return
}
// -----
func.func @for_c2_start(%x: tensor<f32>, %z: tensor<i64>, %n: tensor<i64>) {
  // expected-error: carried value 0 of type tensor<i64> starts as tensor<f32>
  %y = graph.for %i to %n (%a = %x : tensor<f32> as tensor<i64>) -> (tensor<i64>) {
    graph.yield %z : tensor<i64>
  }
  func.return
}
