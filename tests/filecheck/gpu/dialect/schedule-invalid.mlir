// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: bind is one of block, warp, thread, found grid
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "grid">]>} : () -> ()

// -----

// expected-error: levels are bound to block and thread, or to block and warp; found block, none
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">, <tile = [4, 0]>]>} : () -> ()

// -----

// expected-error: the tiles of loop 0 must divide one another, found 3 in 64
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">,
  <tile = [3, 0], bind = "thread">]>} : () -> ()

// -----

// expected-error: stages, split and split_k are at least 1, found 0, 1, 1
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">,
  <tile = [4, 0], bind = "thread">], stage = [0], stages = 0>} : () -> ()

// -----

// expected-error: stages = 2 needs operands to `stage`
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">,
  <tile = [4, 0], bind = "thread">], stages = 2>} : () -> ()

// -----

// expected-error: stage names operands in order, found [1, 0]
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">,
  <tile = [4, 0], bind = "thread">], stage = [1, 0]>} : () -> ()

// -----

// expected-error: levels of block and warp need an intrinsic, others have none; found intrinsic
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">,
  <tile = [4, 0], bind = "thread">], intrinsic = "m16n8k8.tf32">} : () -> ()

// -----

// expected-error: stages needs levels with `bind`
"test.op"() {s = #sched.schedule<tile = [64, 16], stages = 2>} : () -> ()

// -----

// expected-error: bound levels have no order and no parallel loops
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], parallel = [0], bind = "block">,
  <tile = [4, 0], bind = "thread">]>} : () -> ()

// -----

// expected-error: copy_bytes is one of [1, 4, 8, 16], found 12
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">,
  <tile = [4, 0], bind = "thread">], stage = [0, 1], copy_bytes = 12>} : () -> ()

// -----

// expected-error: copy_bytes = 16 needs operands to `stage`
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">,
  <tile = [4, 0], bind = "thread">], copy_bytes = 16>} : () -> ()

// -----

// expected-error: stages, split and split_k are at least 1, found 1, 1, 0
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 16], bind = "block">,
  <tile = [4, 0], bind = "thread">], split_k = 0>} : () -> ()
