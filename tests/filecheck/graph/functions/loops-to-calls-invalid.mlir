// RUN: stepwell-opt %s -p loops-to-calls --verify-diagnostics

func.func @main(%n: tensor<i64>, %x: tensor<1xf32>) -> (tensor<?xf32, #graph.dims<["m"]>>, index) {
  // expected-error: the loop has sizes of carried values as operands of ops
  %y, %k = graph.for %i to %n (%a = %x : tensor<1xf32> as tensor<?xf32, #graph.dims<["k"]>>) carries ["k"] (%s) defines ["m"] -> (tensor<?xf32, #graph.dims<["m"]>>, index) {
    %b = graph.concat %a, %x axis 0 : (tensor<?xf32, #graph.dims<["k"]>>, tensor<1xf32>) -> tensor<?xf32, #graph.dims<["k + 1"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["k + 1"]>>
  }
  func.return %y, %k : tensor<?xf32, #graph.dims<["m"]>>, index
}
