// RUN: not stepwell-opt %s -p 'set-input-shapes{shapes="x=2x5x1"}' 2>&1 | filecheck %s
// RUN: not stepwell-opt %s -p 'set-input-shapes{shapes="z=2"}' 2>&1 | filecheck %s --check-prefix NAME
// RUN: not stepwell-opt %s -p 'set-input-shapes{shapes="x=2y"}' 2>&1 | filecheck %s --check-prefix TEXT
// RUN: not stepwell-opt %s -p 'set-input-shapes{shapes="=2x3"}' 2>&1 | filecheck %s --check-prefix NAMELESS

// CHECK: error[shape-mismatch]: input 'x' is [N, 4] in the model, found [2, 5, 1]
// NAME: error[extra-input]: the model has no input 'z'
// TEXT: expected NAME=1x3x224x224, found 'x=2y'
// NAMELESS: expected NAME=1x3x224x224, found '=2x3'
func.func @main(%x: tensor<?x4xf32, #graph.dims<["N", 4]>> {graph.name = "x"}) {
  func.return
}
