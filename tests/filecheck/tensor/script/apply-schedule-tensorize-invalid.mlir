// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p apply-schedule

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 6]
  // expected-error: tensorize(r.1): loop r is 6 long, dot_bytes sums 4
  sched.tensorize %r1 to "dot_bytes"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 5]
  // expected-error: tensorize(r.1): tiles of 5 leave 2 of the 12 iterations of loop r over
  sched.tensorize %r1 to "dot_bytes"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extsi %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 4]
  // expected-error: tensorize(r.1): the body has arith.extsi of i32 where dot_bytes has arith.extui of i32
  sched.tensorize %r1 to "dot_bytes"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 4]
  // expected-error: tensorize(r.1): no intrinsic is named dot_words
  sched.tensorize %r1 to "dot_words"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 4]
  // expected-error: tensorize(j): the tile has j of 16, r of 12, summed; dot_bytes has one of 4, summed
  sched.tensorize %j to "dot_bytes"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 4]
  // expected-error: tensorize(r): loop r was split: it is r.0 and r.1 now
  sched.tensorize %r to "dot_bytes"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 4]
  sched.unroll %r1
  // expected-error: tensorize(r.1): loop r.1 is unrolled, and the code of an intrinsic replaces it
  sched.tensorize %r1 to "dot_bytes"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 4]
  sched.tensorize %r1 to "dot_bytes"
  // expected-error: parallel: tensorize has removed loop i
  sched.parallel %i
}
