// RUN: stepwell-opt %s --verify-diagnostics -p unroll-loops{limit=0}

// expected-error@unknown: limit is a number from 1 on, found 0
func.func @f() {
  func.return
}
