// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @form(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>) -> tensor<5x200x4xf32> {
  // expected-error: linalg_ext.attention: form must be softmax or online-softmax, found 'flash'
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "flash">} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// -----

func.func private @tiles(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>) -> tensor<5x200x4xf32> {
  // expected-error: linalg_ext.attention: form must be softmax or online-softmax, found ''
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<tile = [4, 1]>} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// -----

func.func private @unknown_size(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>) -> tensor<5x200x4xf32> {
  // expected-error: sizes of form softmax are queries, groups, lanes, chains, found keys
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {keys = 16}>} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// -----

func.func private @too_many_queries(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>) -> tensor<5x200x4xf32> {
  // expected-error: queries of form softmax must be 1 to 200, found 201
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = 201}>} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// -----

func.func private @too_many_keys(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>) -> tensor<5x200x4xf32> {
  // expected-error: keys of form online-softmax must be 1 to 30, found 1099511627776
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "online-softmax", sizes = {keys = 1099511627776}>} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// -----

func.func private @part_of_a_vector(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>) -> tensor<5x200x4xf32> {
  // expected-error: lanes of form softmax must be multiples of 8 from 8 to 32, found 12
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {lanes = 12}>} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// -----

func.func private @groups(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>) -> tensor<5x200x4xf32> {
  // expected-error: groups of form softmax must be 1 to 64, found 65
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {groups = 65}>} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// -----

func.func private @chains(%q: tensor<5x200x8xf32>, %k: tensor<5x30x8xf32>, %v: tensor<5x30x4xf32>, %e: tensor<5x200x4xf32>) -> tensor<5x200x4xf32> {
  // expected-error: chains of form softmax must be 1 to 16, found 17
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {chains = 17}>} : (tensor<5x200x8xf32>, tensor<5x30x8xf32>, tensor<5x30x4xf32>, tensor<5x200x4xf32>) -> tensor<5x200x4xf32>
  func.return %y : tensor<5x200x4xf32>
}

// -----

func.func private @open_keys(%q: tensor<64x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x4xf32>, %e: tensor<64x4xf32>) -> tensor<64x4xf32> {
  // expected-error: form softmax needs a known number of keys
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax">} : (tensor<64x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<64x4xf32>) -> tensor<64x4xf32>
  func.return %y : tensor<64x4xf32>
}

// -----

func.func private @many_scores(%q: tensor<1024x8xf32>, %k: tensor<131072x8xf32>, %v: tensor<131072x4xf32>, %e: tensor<1024x4xf32>) -> tensor<1024x4xf32> {
  // expected-error: form softmax has at most 67108864 scores a block, found 134217728: choose fewer queries
  %y = linalg_ext.attention %q, %k, %v into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = 1024}>} : (tensor<1024x8xf32>, tensor<131072x8xf32>, tensor<131072x4xf32>, tensor<1024x4xf32>) -> tensor<1024x4xf32>
  func.return %y : tensor<1024x4xf32>
}
