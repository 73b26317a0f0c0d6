// RUN: stepwell-opt %s | stepwell-opt | filecheck %s

// CHECK: levels = [<tile = [64, 64, 16], bind = "block">, <tile = [4, 4, 0], bind = "thread">], stage = [0, 1], stages = 2>
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 64, 16], bind = "block">,
  <tile = [4, 4, 0], bind = "thread">], stage = [0, 1], stages = 2>} : () -> ()
// CHECK: stage = [0, 1], stages = 2, split_k = 4>
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 64, 16], bind = "block">,
  <tile = [4, 4, 0], bind = "thread">], split_k = 4, stage = [0, 1], stages = 2>} : () -> ()
// CHECK: stage = [0, 1], stages = 4, copy_bytes = 16>
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 64, 16], bind = "block">,
  <tile = [4, 4, 0], bind = "thread">], copy_bytes = 16, stage = [0, 1], stages = 4>} : () -> ()
// CHECK: <tile = [32, 32, 8], bind = "warp">], stage = [0, 1], intrinsic = "m16n8k8.tf32", split = 3>
"test.op"() {s = #sched.schedule<levels = [<tile = [64, 64, 16], bind = "block">,
  <tile = [32, 32, 8], bind = "warp">], split = 3, intrinsic = "m16n8k8.tf32", stage = [0, 1]>} : () -> ()
