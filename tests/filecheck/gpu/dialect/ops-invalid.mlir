// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error: gpu.known_block_size is three numbers above 0 with at most 1024 threads together, found [2048, 1, 1]
  gpu.func @k() kernel attributes {gpu.known_block_size = array<i32: 2048, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error: gpu.known_block_size is three numbers above 0 with at most 1024 threads together, found [16, 0, 1]
  gpu.func @k() kernel attributes {gpu.known_block_size = array<i32: 16, 0, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error: workgroup memory is a memref<…, #gpu.address_space<workgroup>> with a static shape, found memref<16xf32>
  gpu.func @k() workgroup(%s: memref<16xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error: private memory is a memref<…, #gpu.address_space<private>> with a static shape
  gpu.func @k() private(%s: memref<?xf32, #gpu.address_space<private>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: memref<256xf32>) kernel attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
    %t = gpu.thread_id x
    %half = arith.constant 128 : index
    %low = arith.cmpi slt, %t, %half : index
    scf.if %low {
      // expected-error: gpu.barrier in scf.if, whose condition or bounds depend on a thread id
      gpu.barrier
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: memref<256xf32>) kernel {
    %t = gpu.thread_id y
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %c0) -> (index) {
      gpu.barrier
      %b = arith.addi %a, %t : index
      scf.yield %b : index
    }
    scf.for %i = %c0 to %r step %c1 {
      // expected-error: gpu.barrier in scf.for, whose condition or bounds depend on a thread id
      gpu.barrier
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: f32, %o: i32) kernel {
    // expected-error: the mode is one of xor, up, down, idx, found left
    %v, %ok = gpu.shuffle left %a, %o, %o : f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    // expected-error: the reduction is one of add, mul, minsi, maxsi, minimumf, maximumf, minnumf, maxnumf, and, or, xor, found mean
    %v = gpu.subgroup_reduce mean %a : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @main(%i: index) {
  // expected-error: kernel k takes (f32), found (index)
  gpu.launch_func @m::@k blocks in (%i, %i, %i) threads in (%i, %i, %i) args(%i : index)
  func.return
}

// -----

func.func @main(%i: index) {
  // expected-error: no kernel is named @m::@k: expected @MODULE::@KERNEL of a gpu.module
  gpu.launch_func @m::@k blocks in (%i, %i, %i) threads in (%i, %i, %i)
  func.return
}

// -----

// expected-error: an address space is global, workgroup, private, found 'shared'
func.func @main(%i: memref<4xf32, #gpu.address_space<shared>>) {
  func.return
}

// -----

func.func @another_shape(%v: f32) {
  // expected-error: the shape is m16n8k8.tf32, found m8n8k4
  %0 = gpu.mma_sync "m8n8k4" a(%v) b(%v) c(%v) : f32
  func.return
}

// -----

func.func @another_count(%v: f32) {
  // expected-error: m16n8k8.tf32 has (4, 2, 4, 4) elements a thread, found (2, 2, 1, 1)
  %0 = gpu.mma_sync "m16n8k8.tf32" a(%v, %v) b(%v, %v) c(%v) : f32
  func.return
}

// -----

func.func @to_the_device(%x: memref<4xf32>, %y: memref<4xf32>, %i: index) {
  // expected-error: the target is memory of the block, and the source is not
  gpu.async_copy %x[%i] to %y[%i] : memref<4xf32> to memref<4xf32>
  func.return
}

// -----

func.func @other_elements(%x: memref<4xi32>, %s: memref<4xf32, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error: expected elements of one type, found i32, f32
  gpu.async_copy %x[%i] to %s[%i] : memref<4xi32> to memref<4xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @halves(%x: memref<4xf16>, %s: memref<4xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error: 4, 8 or 16 bytes are copied, found 1 of f16
  gpu.async_copy %x[%i] to %s[%i] : memref<4xf16> to memref<4xf16, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @three(%x: memref<4xf32>, %s: memref<4xf32, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error: 4, 8 or 16 bytes are copied, found 3 of f32
  gpu.async_copy %x[%i] to %s[%i] by 3 : memref<4xf32> to memref<4xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @indices(%x: memref<4xf32>, %s: memref<4x4xf32, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error: expected 2 indices of memref<4x4xf32, #gpu.address_space<workgroup>>, found 1
  gpu.async_copy %x[%i] to %s[%i] : memref<4xf32> to memref<4x4xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @negative() {
  // expected-error: the number of groups is not negative, found -1
  gpu.async_wait -1
  func.return
}

// -----

gpu.module @m {
  // expected-error: a kernel must return nothing, found
  "gpu.func"() <{function_type = () -> f32, kernel, sym_name = "k"}> ({
    "gpu.return"() : () -> ()
  }) : () -> ()
}

// -----

gpu.module @m {
  // expected-error: the body must take the arguments f32, then 0 buffers
  "gpu.func"() <{function_type = (f32) -> (), kernel, sym_name = "k"}> ({
  ^bb0(%x: i32):
    "gpu.return"() : () -> ()
  }) : () -> ()
}

// -----

func.func @main(%i: index) {
  // expected-error: gpu.launch takes 3 blocks and 3 threads, and its body 12 indices
  "gpu.launch"(%i, %i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 3, 3>}> ({
  ^bb0(%x: index):
    "gpu.terminator"() : () -> ()
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    // expected-error: dynamic memory of a block is memref<?xi8, #gpu.address_space<workgroup>>, found memref<64xi8>
    %m = gpu.dynamic_shared_memory : memref<64xi8>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    // expected-error: minnumf, maxnumf, and, or, xor with an empty region, found mean
    %v = gpu.all_reduce mean %a {} : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    // expected-error: xor with an empty region, found add
    %v = gpu.all_reduce add %a {
    ^bb0(%b: f32):
      "gpu.yield"(%b) : (f32) -> ()
    } : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    %t = gpu.thread_id x
    %c4 = arith.constant 4 : index
    %few = arith.cmpi ult, %t, %c4 : index
    scf.if %few {
      // expected-error: gpu.all_reduce in scf.if, whose condition or bounds depend on a thread id
      %v = gpu.all_reduce add %a {} : (f32) -> f32
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: memref<8x8xf32>, %i: index) kernel {
    // expected-error: a matrix is of f32 in memory of the block, by 2 indices, found memref<8x8xf32> and 2
    %a = gpu.ldmatrix %x[%i, %i] : memref<8x8xf32> -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%i: index) workgroup(%x: memref<8x8xf32, #gpu.address_space<workgroup>>) kernel {
    // expected-error: 1, 2 or 4 matrices are loaded, found 3
    %a, %b, %c = gpu.ldmatrix %x[%i, %i] : memref<8x8xf32, #gpu.address_space<workgroup>> -> f32, f32, f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%i: index) workgroup(%x: memref<8x9xf32, #gpu.address_space<workgroup>>) kernel {
    // expected-error: the last size must be a multiple of 4
    %a = gpu.ldmatrix %x[%i, %i] : memref<8x9xf32, #gpu.address_space<workgroup>> -> f32
    gpu.return
  }
}
