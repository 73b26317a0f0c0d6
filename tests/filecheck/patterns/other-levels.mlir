// RUN: stepwell-opt %s -p match-patterns 2>&1 | filecheck %s
// RUN: stepwell-opt %s --explain-match=@product_sum 2>&1 | filecheck %s --check-prefix WHERE

// Operands of floats change places as those of integers do, on every level; functions of any dialect are read.
// CHECK: match of product_sum at arith.addf ({{.*}}): arith.mulf, arith.addf
// CHECK-NEXT: match of read at llvm.load ({{.*}}): llvm.getelementptr, llvm.load
// WHERE: @product_sum matches at arith.addf

pattern.def @product_sum {
  %product = pattern.op "arith.mulf"(...)
  %x = pattern.any
  %root = pattern.op "arith.addf"(%product, %x)
  pattern.yield %root
}
pattern.def @read {
  %place = pattern.op "llvm.getelementptr"(...)
  %root = pattern.op "llvm.load"(%place)
  pattern.yield %root
}
func.func @scalars(%x: f32, %y: f32) -> f32 {
  %p = arith.mulf %x, %y : f32
  %s = arith.addf %x, %p : f32
  func.return %s : f32
}
llvm.func @machine(%p: !llvm.ptr) -> i64 {
  %q = llvm.getelementptr inbounds %p[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %r = llvm.load %q : !llvm.ptr -> i64
  llvm.return %r : i64
}
