// RUN: stepwell-opt %s --upstream | filecheck %s

// Properties that MLIR wants and our ops do not have.
// CHECK-LABEL: sym_name = "memory"
// CHECK: "llvm.intr.prefetch"(%p) <{{{.*}}cache = 1 : i32
// CHECK: "llvm.intr.memset"(%p, %b, %n) <{isVolatile = false}>
// CHECK: "llvm.intr.memcpy"(%p, %p, %n) <{isVolatile = false}>
llvm.func @memory(%p: !llvm.ptr, %b: i8, %n: i64) {
  llvm.intr.prefetch(%p) {rw = 0 : i32, hint = 3 : i32} : !llvm.ptr
  llvm.intr.memset(%p, %b, %n) : !llvm.ptr, i8, i64
  llvm.intr.memcpy(%p, %p, %n) : !llvm.ptr, !llvm.ptr, i64
  llvm.return
}
