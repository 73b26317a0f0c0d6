// RUN: stepwell-opt %s -p append-to-states --split-input-file --verify-diagnostics

// expected-error: states grow by S and T positions in a call
func.func @main(%k: tensor<?xf32, #graph.dims<["C"]>> {graph.state = "k", graph.grows = 0 : i64},
                %l: tensor<?xf32, #graph.dims<["C"]>> {graph.state = "l", graph.grows = 0 : i64},
                %n: tensor<i64> {graph.state = "n", graph.length},
                %x: tensor<?xf32, #graph.dims<["S"]>>, %y: tensor<?xf32, #graph.dims<["T"]>>)
    -> (tensor<?xf32, #graph.dims<["P + S"]>> {graph.state = "k"}, tensor<?xf32, #graph.dims<["P + T"]>> {graph.state = "l"}) {
  %p = graph.bind_sizes %n names ["P"] : tensor<i64> -> index
  %k1 = graph.slice %k starts <[0]> limits <["P"]> steps [1]
    : tensor<?xf32, #graph.dims<["C"]>> -> tensor<?xf32, #graph.dims<["P"]>>
  %l1 = graph.slice %l starts <[0]> limits <["P"]> steps [1]
    : tensor<?xf32, #graph.dims<["C"]>> -> tensor<?xf32, #graph.dims<["P"]>>
  %k2 = graph.concat %k1, %x axis 0
    : (tensor<?xf32, #graph.dims<["P"]>>, tensor<?xf32, #graph.dims<["S"]>>) -> tensor<?xf32, #graph.dims<["P + S"]>>
  %l2 = graph.concat %l1, %y axis 0
    : (tensor<?xf32, #graph.dims<["P"]>>, tensor<?xf32, #graph.dims<["T"]>>) -> tensor<?xf32, #graph.dims<["P + T"]>>
  func.return %k2, %l2 : tensor<?xf32, #graph.dims<["P + S"]>>, tensor<?xf32, #graph.dims<["P + T"]>>
}

// -----

// expected-error: a growing state is not read
func.func @main(%k: tensor<?xf32, #graph.dims<["C"]>> {graph.state = "k", graph.grows = 0 : i64},
                %n: tensor<i64> {graph.state = "n", graph.length}, %x: tensor<?xf32, #graph.dims<["S"]>>)
    -> (tensor<?xf32, #graph.dims<["S"]>> {graph.state = "k"}) {
  func.return %x : tensor<?xf32, #graph.dims<["S"]>>
}
