// RUN: stepwell-opt %s -p convert-graph-to-vm --verify-diagnostics

func.func private @known(%x: i64) -> i64 {
  func.return %x : i64
}
func.func @main(%x: i64) -> i64 {
  // expected-error: @knwon is called and has no body
  %y = graph.call @knwon(%x) : (i64) -> i64
  func.return %y : i64
}
