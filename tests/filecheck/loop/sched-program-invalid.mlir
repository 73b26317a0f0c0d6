// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: inputs and arena must be given together
func.func private @c1() attributes {sched.program = #sched.program<outputs = 1, arena = "0", slots = 0>}
// -----
// expected-error: slots and arena must be given together
func.func private @c1() attributes {sched.program = #sched.program<slots = 0>}
// -----
// expected-error: outputs must not be negative, found -2
func.func private @c1() attributes {sched.program = #sched.program<inputs = 1, outputs = -2, arena = "0", slots = 0>}
// -----
// expected-error: symbols must be names, found '2 * N'
func.func private @c2(index) attributes {sched.program = #sched.program<symbols = ["2 * N"]>}
// -----
// expected-error: symbols must be distinct, found N twice
func.func private @c2(index, index) attributes {sched.program = #sched.program<symbols = ["N", "N"]>}
// -----
// expected-error: symbols must be distinct, found N twice
func.func private @c2(index) attributes {sched.program = #sched.program<symbols = ["N"], published = ["N"]>}
// -----
// expected-error: arena must not be negative, found -64
func.func private @c3() attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "-64", slots = 0>}
// -----
// expected-error: arena:
func.func private @c3() attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "64 *", slots = 0>}
// -----
// expected-error: arena:
func.func private @c3() attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = ["64", "N +"], slots = 0>}
// -----
// expected-error: arena must not be negative, found -32
func.func private @c3() attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = ["32", "-64"], slots = 0>}
// -----
// expected-error: pools must be such as "tcm=4096"
func.func private @c9() attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "64", slots = 0, pools = ["tcm"]>}
// -----
// expected-error: pools must have a name each, and 64 bytes together
func.func private @c9() attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "64", slots = 0, pools = ["tcm=32", "b=64"]>}
// -----
// expected-error: expected buffers of 0 inputs and 0 outputs, then 2 parts of the arena
func.func private @c5(memref<?xi8>) attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "96", slots = 0, pools = ["a=32", "b=64"]>}
// -----
// expected-error: expected one of inputs, outputs, symbols, published, arena, slots, in_place, pools, each once; found weights
func.func private @key() attributes {sched.program = #sched.program<weights = 2>}
// -----
// expected-error: func.func: sched.program must be #sched.program<…>, found unit
func.func private @unit() attributes {sched.program}
// -----
func.func @here() {
  // expected-error: sched.program is an attribute of func.func and llvm.func, found on arith.constant
  %c = arith.constant {sched.program = #sched.program<symbols = []>} 0 : index
  func.return
}
// -----
// expected-error: the last arguments must be of type index, one for each of the symbols ['N'], found 0
func.func private @c4(tensor<?xf32>) attributes {sched.program = #sched.program<symbols = ["N"]>}
// -----
// expected-error: the last arguments must be of type index, one for each of the symbols ['N'], found 2
func.func private @c4(tensor<?xf32>, index, index) attributes {sched.program = #sched.program<symbols = ["N"]>}
// -----
// expected-error: the last arguments must be of type index, one for each of the symbols ['N'], found 1
func.func private @c4(index, tensor<?xf32>) attributes {sched.program = #sched.program<symbols = ["N"]>}
// -----
// expected-error: expected buffers of 2 inputs and 1 outputs, then the arena of type memref<?xi8>, found memref<4xf32>, memref<4xf32>, memref<?xi8>
func.func private @c5(memref<4xf32>, memref<4xf32>, memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 2, outputs = 1, arena = "0", slots = 0>}
// -----
// expected-error: expected buffers of 1 inputs and 0 outputs
func.func private @c5(memref<4xf32>, memref<4xf32>)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 0, arena = "0", slots = 0>}
// -----
// expected-error: expected buffers of 1 inputs and 0 outputs
func.func private @c5(tensor<4xf32>, memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 0, arena = "0", slots = 0>}
// -----
// expected-error: @main on buffers returns nothing: its results are arguments
func.func private @c5(memref<4xf32>, memref<?xi8>) -> memref<4xf32>
    attributes {sched.program = #sched.program<inputs = 1, outputs = 0, arena = "0", slots = 0>}
// -----
// expected-error: arena is over M, which is no symbol of arguments or inputs
func.func private @c6(memref<?xf32> {graph.dims = #graph.dims<["N"]>}, memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 0, arena = "4 * M + N", slots = 0>}
// -----
// expected-error: a view ends at byte 80 of an arena of 64 bytes
func.func @c7(%arena: memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "64", slots = 0>} {
  %at = arith.constant 64 : index
  %v = memref.view %arena[%at][] : memref<?xi8> to memref<4xf32>
  func.return
}
// -----
// expected-error: slot 1 is allocated, but `slots` is 1
func.func @c7(%arena: memref<?xi8>, %N: index)
    attributes {sched.program = #sched.program<inputs = 0, outputs = 0, symbols = ["N"], arena = "0", slots = 1>} {
  %m = sched.allocate slot 1, %N : memref<?xi8>
  func.return
}
// -----
// expected-error: a published size has no number, found 0
func.func @c7(%arena: memref<?xi8>, %N: index)
    attributes {sched.program = #sched.program<inputs = 0, outputs = 0, symbols = ["N"], arena = "0", slots = 0>} {
  sched.publish %N at 0
  func.return
}
// -----
// expected-error: in_place must be numbers of outputs, each once, found [1]
func.func private @c8(memref<4xf32>, memref<4xf32>, memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 1, arena = "0", slots = 0, in_place = [1]>}
