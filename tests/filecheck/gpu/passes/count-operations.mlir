// RUN: stepwell-opt %s -p count-operations --split-input-file | filecheck %s

// A multiply-add counts two, an open size stays open.
// CHECK-LABEL: @product
// CHECK: %[[ROWS:.*]] = memref.dim %x
// CHECK: %[[N:.*]] = arith.muli
// CHECK-NEXT: "gpu.work"(%[[N]]) : (index) -> ()
// CHECK-NEXT: linalg.generic
// CHECK-NOT: gpu.work
func.func @product(%x: memref<?x8xf32>, %w: memref<8x16xf32>, %y: memref<?x16xf32>) {
  linalg.generic {
      indexing_maps = [
        affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>
      ], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%x, %w : memref<?x8xf32>, memref<8x16xf32>) outs(%y : memref<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// 4 * 8 elements with exp, max and multiply-add; comparisons, casts and indices count nothing, copies have none.
// CHECK-LABEL: @elements
// CHECK: %[[N:.*]] = arith.constant 128 : index
// CHECK: "gpu.work"(%[[N]])
// CHECK-NEXT: linalg.generic
// CHECK-NOT: gpu.work
func.func @elements(%x: memref<4x8xf32>, %i: memref<4x8xi64>, %y: memref<4x8xf32>, %z: memref<4x8xf32>) {
  linalg.generic {
      indexing_maps = [
        affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>
      ], iterator_types = ["parallel", "parallel"]
    } ins(%x, %i : memref<4x8xf32>, memref<4x8xi64>) outs(%y : memref<4x8xf32>) {
  ^bb0(%a: f32, %n: i64, %old: f32):
    %e = math.exp %a : f32
    %m = arith.maximumf %e, %a : f32
    %f = math.fma %m, %a, %a : f32
    %c = arith.cmpf olt, %f, %a : f32
    %s = arith.select %c, %f, %a : f32
    %j = arith.addi %n, %n : i64
    linalg.yield %s : f32
  }
  "memref.copy"(%y, %z) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  func.return
}

// -----

// Loops multiply what is inside; the longer branch counts. A loop whose end depends on data is not counted.
// CHECK-LABEL: @loops
// CHECK: %[[N:.*]] = arith.constant 40 : index
// CHECK: "gpu.work"(%[[N]])
// CHECK-NEXT: scf.for
// CHECK: scf.for
// CHECK: memref.load
// CHECK-NOT: gpu.work
func.func @loops(%x: memref<10xf32>, %n: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c10 = arith.constant 10 : index
  scf.for %i = %c0 to %c10 step %c5 {
    scf.for %j = %c0 to %c10 step %c1 {
      %a = memref.load %x[%j] : memref<10xf32>
      %less = arith.cmpi ult, %i, %j : index
      %r = scf.if %less -> (f32) {
        %b = arith.addf %a, %a : f32
        %c = arith.mulf %b, %a : f32
        scf.yield %c : f32
      } else {
        %b = arith.addf %a, %a : f32
        scf.yield %b : f32
      }
      memref.store %r, %x[%j] : memref<10xf32>
    }
  }
  scf.for %i = %c0 to %c10 step %c1 {
    %m = memref.load %n[%c0] : memref<1xindex>
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%j] : memref<10xf32>
      %b = arith.addf %a, %a : f32
      memref.store %b, %x[%j] : memref<10xf32>
    }
  }
  func.return
}
