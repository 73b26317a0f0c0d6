// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>, %b: tensor<4xi1>, %n: tensor<4xui8>) {
  // CHECK: graph.neg %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %neg = graph.neg %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.abs %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %abs = graph.abs %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.sign %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %sign = graph.sign %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.exp %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %exp = graph.exp %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.expm1 %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %expm1 = graph.expm1 %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.log %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %log = graph.log %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.log1p %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %log1p = graph.log1p %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.sqrt %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %sqrt = graph.sqrt %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.rsqrt %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %rsqrt = graph.rsqrt %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.sin %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %sin = graph.sin %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.cos %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %cos = graph.cos %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.tan %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %tan = graph.tan %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.asin %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %asin = graph.asin %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.acos %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %acos = graph.acos %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.atan %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %atan = graph.atan %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.sinh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %sinh = graph.sinh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.cosh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %cosh = graph.cosh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.tanh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %tanh = graph.tanh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.asinh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %asinh = graph.asinh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.acosh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %acosh = graph.acosh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.atanh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %atanh = graph.atanh %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.erf %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %erf = graph.erf %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.floor %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %floor = graph.floor %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.ceil %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %ceil = graph.ceil %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.trunc %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %trunc = graph.trunc %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.round %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %round = graph.round %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.relu %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %relu = graph.relu %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.sigmoid %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %sigmoid = graph.sigmoid %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.softplus %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %softplus = graph.softplus %x : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: graph.not %b : tensor<4xi1> -> tensor<4xi1>
  %not = graph.not %b : tensor<4xi1> -> tensor<4xi1>
  // CHECK: graph.not %n : tensor<4xui8> -> tensor<4xui8>
  %flipped = graph.not %n : tensor<4xui8> -> tensor<4xui8>
  func.return
}

// CHECK-LABEL: @with_attributes
func.func @with_attributes(%x: tensor<4xf16>, %lo: tensor<f16>, %hi: tensor<f16>) {
  // CHECK: graph.is_nan %x : tensor<4xf16> -> tensor<4xi1>
  %0 = graph.is_nan %x : tensor<4xf16> -> tensor<4xi1>
  // CHECK: graph.is_inf %x positive true negative false : tensor<4xf16> -> tensor<4xi1>
  %1 = graph.is_inf %x positive true negative false : tensor<4xf16> -> tensor<4xi1>
  // CHECK: graph.cast %x to ui8 saturate true round "nearest" : tensor<4xf16> -> tensor<4xui8>
  %2 = graph.cast %x to ui8 saturate true round "nearest" : tensor<4xf16> -> tensor<4xui8>
  // CHECK: graph.bitcast %x to i16 : tensor<4xf16> -> tensor<4xi16>
  %3 = graph.bitcast %x to i16 : tensor<4xf16> -> tensor<4xi16>
  // CHECK: graph.leaky_relu %x alpha 2.500000e-01 : tensor<4xf16> -> tensor<4xf16>
  %4 = graph.leaky_relu %x alpha 0.25 : tensor<4xf16> -> tensor<4xf16>
  // CHECK: graph.elu %x alpha 1.000000e+00 : tensor<4xf16> -> tensor<4xf16>
  %5 = graph.elu %x alpha 1.0 : tensor<4xf16> -> tensor<4xf16>
  // CHECK: graph.silu %x alpha 1.500000e+00 : tensor<4xf16> -> tensor<4xf16>
  %6 = graph.silu %x alpha 1.5 : tensor<4xf16> -> tensor<4xf16>
  // CHECK: graph.gelu %x approximate "tanh" : tensor<4xf16> -> tensor<4xf16>
  %7 = graph.gelu %x approximate "tanh" : tensor<4xf16> -> tensor<4xf16>
  // CHECK: graph.clip %x lo %lo : tensor<f16> hi %hi : tensor<f16> : tensor<4xf16> -> tensor<4xf16>
  %8 = graph.clip %x lo %lo : tensor<f16> hi %hi : tensor<f16> : tensor<4xf16> -> tensor<4xf16>
  // CHECK: graph.clip %x hi %hi : tensor<f16> : tensor<4xf16> -> tensor<4xf16>
  %9 = graph.clip %x hi %hi : tensor<f16> : tensor<4xf16> -> tensor<4xf16>
  func.return
}
