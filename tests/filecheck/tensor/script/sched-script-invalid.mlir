// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: `for` must name a kernel, a stage or a node, found an empty name
sched.script @s for "" {
}

// -----

// expected-error: a script has stages and primitives alone, found arith.constant
sched.script @s for "k" {
  %x = arith.constant 0 : i32
}

// -----

sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j = sched.loops %c
  // expected-error: a tile has two loops, two factors, and four results
  %a, %b, %d, %e = sched.tile %i, %j by [4]
}

// -----

#all = affine_map<(i) -> (i)>
func.func private @k(%A: tensor<32xf32>, %D: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error: sched.loops must be an array of strings, found [3 : i64]
  %C = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel"]}
    ins(%A : tensor<32xf32>) outs(%D : tensor<32xf32>) attrs = {sched.loops = [3]} {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<32xf32>
  func.return %C : tensor<32xf32>
}

// -----

// expected-error: an intrinsic has the functions meaning and code alone, found ['meaning']
sched.intrinsic @one {
  func.func @meaning(%x: tensor<8xf32>) -> tensor<8xf32> {
    func.return %x : tensor<8xf32>
  }
}

// -----

// expected-error: meaning and code must have one type, found
sched.intrinsic @types {
  func.func @meaning(%x: tensor<8xf32>) -> tensor<8xf32> {
    func.return %x : tensor<8xf32>
  }
  func.func @code(%x: tensor<9xf32>) -> tensor<9xf32> {
    func.return %x : tensor<9xf32>
  }
}

// -----

// expected-error: the tensors of an intrinsic are of known size, found tensor<?xf32>
sched.intrinsic @open {
  func.func @meaning(%x: tensor<?xf32>) -> tensor<?xf32> {
    func.return %x : tensor<?xf32>
  }
  func.func @code(%x: tensor<?xf32>) -> tensor<?xf32> {
    func.return %x : tensor<?xf32>
  }
}

// -----

// expected-error: meaning is one linalg.generic and a return, found func.return
sched.intrinsic @nothing {
  func.func @meaning(%x: tensor<8xf32>) -> tensor<8xf32> {
    func.return %x : tensor<8xf32>
  }
  func.func @code(%x: tensor<8xf32>) -> tensor<8xf32> {
    func.return %x : tensor<8xf32>
  }
}

// -----

#v = affine_map<(i) -> (i)>
// expected-error: meaning must return the results of its generic, whose inits are the last arguments
sched.intrinsic @inits {
  func.func @meaning(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %r = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%y : tensor<8xf32>) outs(%x : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<8xf32>
    func.return %r : tensor<8xf32>
  }
  func.func @code(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    func.return %x : tensor<8xf32>
  }
}

// -----

#v = affine_map<(i) -> (i)>
// expected-error: the generic must use all arguments of meaning, and no other values, as operands
sched.intrinsic @unused {
  func.func @meaning(%x: tensor<8xf32>, %z: f32, %y: tensor<8xf32>) -> tensor<8xf32> {
    %r = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<8xf32>
    func.return %r : tensor<8xf32>
  }
  func.func @code(%x: tensor<8xf32>, %z: f32, %y: tensor<8xf32>) -> tensor<8xf32> {
    func.return %x : tensor<8xf32>
  }
}

// -----

#v = affine_map<(i) -> (i)>
// expected-error: the formula of an intrinsic must not use indices of loops, found linalg.index
sched.intrinsic @ramp {
  func.func @meaning(%y: tensor<8xindex>) -> tensor<8xindex> {
    %r = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%y : tensor<8xindex>) {
    ^bb0(%a: index):
      %i = linalg.index 0 : index
      linalg.yield %i : index
    } -> tensor<8xindex>
    func.return %r : tensor<8xindex>
  }
  func.func @code(%y: tensor<8xindex>) -> tensor<8xindex> {
    func.return %y : tensor<8xindex>
  }
}

// -----

sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j = sched.loops %c
  // expected-error: factors are 1 or more, the innermost at most 4, found [2, 8]
  %t = sched.sample_tile %i levels 2 max 4 : [2, 8]
}

// -----

sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j = sched.loops %c
  %t = sched.sample_tile %i levels 2 max 8 : [2, 8]
  // expected-error: a split has a result for each factor
  %a, %b, %d = sched.split %i by %t
}
