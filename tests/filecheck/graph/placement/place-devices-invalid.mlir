// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0}' --verify-diagnostics
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{the module has no device @gpu1}}
  %s = graph.exp %a {dev.on = @gpu1} : tensor<4xf32> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// -----

dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{dev.on must be a symbol such as @gpu0, found "gpu0"}}
  %s = graph.exp %a {dev.on = "gpu0"} : tensor<4xf32> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// -----

dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%c: tensor<i1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{dev.on must be a symbol such as @gpu0, or a list of 2 symbols, found [@host]}}
  %s, %t = graph.if %c : tensor<i1> -> (tensor<4xf32>, tensor<4xf32>) attributes {dev.on = [@host]} {
    graph.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  } else {
    graph.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return %s : tensor<4xf32>
}

// -----

dev.device @gpu0 #target.spec<"cuda", {}>
// expected-error @below {{the module has no device @gpu7}}
func.func @main(%a: tensor<4xf32> {dev.on = @gpu7}) -> tensor<4xf32> {
  func.return %a : tensor<4xf32>
}

// -----

dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{the module has no device @gpu3}}
  %s = dev.copy %a from @gpu3 to @gpu0 : tensor<4xf32>
  func.return %s : tensor<4xf32>
}
