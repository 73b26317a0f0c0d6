// A child-sum Tree-LSTM (Tai, Socher and Manning, ACL 2015): the state of a node is computed from its input and
// the states of its children, of which there may be any number. Weights are arguments.
//
//   stepwell run examples/tree_lstm.mlir                  # on a tree that is made up
//   stepwell run examples/tree_lstm.mlir --profile        # the time of each function, instruction, segment
//   stepwell compile examples/tree_lstm.mlir --emit vm    # its instructions

// The hidden state of the root. Gates of %w are input, output, update, forget; those of %u the first three.
func.func @main(%tree: !adt.data<@Tree, tensor<1x32xf32>>, %w: tensor<32x128xf32>, %u: tensor<32x96xf32>, %uf: tensor<32x32xf32>, %b: tensor<128xf32>) -> tensor<1x32xf32> {
  %state = graph.call @node(%tree, %w, %u, %uf, %b) : (!adt.data<@Tree, tensor<1x32xf32>>, tensor<32x128xf32>, tensor<32x96xf32>, tensor<32x32xf32>, tensor<128xf32>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>>
  %h = graph.get %state [0] : tuple<tensor<1x32xf32>, tensor<1x32xf32>> -> tensor<1x32xf32>
  func.return %h : tensor<1x32xf32>
}

// The hidden state and the memory of a node.
func.func private @node(%tree: !adt.data<@Tree, tensor<1x32xf32>>, %w: tensor<32x128xf32>, %u: tensor<32x96xf32>, %uf: tensor<32x32xf32>, %b: tensor<128xf32>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>> {
  %state = adt.match %tree : !adt.data<@Tree, tensor<1x32xf32>> -> (tuple<tensor<1x32xf32>, tensor<1x32xf32>>) case Rose(%x: tensor<1x32xf32>, %children: !adt.data<@List, !adt.data<@Tree, tensor<1x32xf32>>>) {
    %child = graph.lambda (%t: !adt.data<@Tree, tensor<1x32xf32>>) -> (tuple<tensor<1x32xf32>, tensor<1x32xf32>>) {
      %s = graph.call @node(%t, %w, %u, %uf, %b) : (!adt.data<@Tree, tensor<1x32xf32>>, tensor<32x128xf32>, tensor<32x96xf32>, tensor<32x32xf32>, tensor<128xf32>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>>
      graph.yield %s : tuple<tensor<1x32xf32>, tensor<1x32xf32>>
    }
    %states = graph.call @map<!adt.data<@Tree, tensor<1x32xf32>>, tuple<tensor<1x32xf32>, tensor<1x32xf32>>>(%child, %children) : ((!adt.data<@Tree, tensor<1x32xf32>>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>>, !adt.data<@List, !adt.data<@Tree, tensor<1x32xf32>>>) -> !adt.data<@List, tuple<tensor<1x32xf32>, tensor<1x32xf32>>>
    %p = graph.matmul %x, %w : (tensor<1x32xf32>, tensor<32x128xf32>) -> tensor<1x128xf32>
    %q = graph.add %p, %b : (tensor<1x128xf32>, tensor<128xf32>) -> tensor<1x128xf32>
    %xf = graph.slice %q starts <[0, 96]> limits <[1, 128]> steps [1, 1] : tensor<1x128xf32> -> tensor<1x32xf32>
    %zero = graph.constant dense<0.0> : tensor<f32>
    %none = graph.full %zero shape <[1, 32]> : tensor<f32> -> tensor<1x32xf32>
    %start = graph.tuple %none, %none : tensor<1x32xf32>, tensor<1x32xf32>
    // The sum of the children's hidden states, and of their memories as far as each is not forgotten.
    %add = graph.lambda (%acc: tuple<tensor<1x32xf32>, tensor<1x32xf32>>, %s: tuple<tensor<1x32xf32>, tensor<1x32xf32>>) -> (tuple<tensor<1x32xf32>, tensor<1x32xf32>>) {
      %hs = graph.get %acc [0] : tuple<tensor<1x32xf32>, tensor<1x32xf32>> -> tensor<1x32xf32>
      %cs = graph.get %acc [1] : tuple<tensor<1x32xf32>, tensor<1x32xf32>> -> tensor<1x32xf32>
      %h = graph.get %s [0] : tuple<tensor<1x32xf32>, tensor<1x32xf32>> -> tensor<1x32xf32>
      %c = graph.get %s [1] : tuple<tensor<1x32xf32>, tensor<1x32xf32>> -> tensor<1x32xf32>
      %hs2 = graph.add %hs, %h : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
      %hf = graph.matmul %h, %uf : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
      %f0 = graph.add %xf, %hf : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
      %f = graph.sigmoid %f0 : tensor<1x32xf32> -> tensor<1x32xf32>
      %kept = graph.multiply %f, %c : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
      %cs2 = graph.add %cs, %kept : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
      %next = graph.tuple %hs2, %cs2 : tensor<1x32xf32>, tensor<1x32xf32>
      graph.yield %next : tuple<tensor<1x32xf32>, tensor<1x32xf32>>
    }
    %sums = graph.call @foldl<tuple<tensor<1x32xf32>, tensor<1x32xf32>>, tuple<tensor<1x32xf32>, tensor<1x32xf32>>>(%add, %start, %states) : ((tuple<tensor<1x32xf32>, tensor<1x32xf32>>, tuple<tensor<1x32xf32>, tensor<1x32xf32>>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>>, tuple<tensor<1x32xf32>, tensor<1x32xf32>>, !adt.data<@List, tuple<tensor<1x32xf32>, tensor<1x32xf32>>>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>>
    %hsum = graph.get %sums [0] : tuple<tensor<1x32xf32>, tensor<1x32xf32>> -> tensor<1x32xf32>
    %csum = graph.get %sums [1] : tuple<tensor<1x32xf32>, tensor<1x32xf32>> -> tensor<1x32xf32>
    %r = graph.matmul %hsum, %u : (tensor<1x32xf32>, tensor<32x96xf32>) -> tensor<1x96xf32>
    %xs = graph.slice %q starts <[0, 0]> limits <[1, 96]> steps [1, 1] : tensor<1x128xf32> -> tensor<1x96xf32>
    %gates = graph.add %xs, %r : (tensor<1x96xf32>, tensor<1x96xf32>) -> tensor<1x96xf32>
    %i0 = graph.slice %gates starts <[0, 0]> limits <[1, 32]> steps [1, 1] : tensor<1x96xf32> -> tensor<1x32xf32>
    %o0 = graph.slice %gates starts <[0, 32]> limits <[1, 64]> steps [1, 1] : tensor<1x96xf32> -> tensor<1x32xf32>
    %u0 = graph.slice %gates starts <[0, 64]> limits <[1, 96]> steps [1, 1] : tensor<1x96xf32> -> tensor<1x32xf32>
    %i = graph.sigmoid %i0 : tensor<1x32xf32> -> tensor<1x32xf32>
    %o = graph.sigmoid %o0 : tensor<1x32xf32> -> tensor<1x32xf32>
    %v = graph.tanh %u0 : tensor<1x32xf32> -> tensor<1x32xf32>
    %iv = graph.multiply %i, %v : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
    %memory = graph.add %iv, %csum : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
    %t = graph.tanh %memory : tensor<1x32xf32> -> tensor<1x32xf32>
    %hidden = graph.multiply %o, %t : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
    %made = graph.tuple %hidden, %memory : tensor<1x32xf32>, tensor<1x32xf32>
    graph.yield %made : tuple<tensor<1x32xf32>, tensor<1x32xf32>>
  }
  func.return %state : tuple<tensor<1x32xf32>, tensor<1x32xf32>>
}

// How far the hidden state of the root is from a target: half the sum of squares. Its gradients are of recursion, data
// and closures:
//   stepwell check-gradients examples/tree_lstm.mlir --function loss
func.func @loss(%tree: !adt.data<@Tree, tensor<1x32xf32>>, %w: tensor<32x128xf32>, %u: tensor<32x96xf32>, %uf: tensor<32x32xf32>, %b: tensor<128xf32>, %target: tensor<1x32xf32>) -> tensor<f32> {
  %h = graph.call @main(%tree, %w, %u, %uf, %b) : (!adt.data<@Tree, tensor<1x32xf32>>, tensor<32x128xf32>, tensor<32x96xf32>, tensor<32x32xf32>, tensor<128xf32>) -> tensor<1x32xf32>
  %d = graph.subtract %h, %target : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %s = graph.reduce %d kind "sum_square" axes [0, 1] keep_dims false : tensor<1x32xf32> -> tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %loss = graph.multiply %s, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}
