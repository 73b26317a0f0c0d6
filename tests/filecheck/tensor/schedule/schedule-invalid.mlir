// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: parallel names loop 1 twice
"test.op"() {s = #sched.schedule<tile = [4, 8], parallel = [1, 1]>} : () -> ()

// -----

// expected-error: order names loop 0 twice
"test.op"() {s = #sched.schedule<tile = [4, 8], order = [0, 0], parallel = [0]>} : () -> ()

// -----

// expected-error: parallel names loop 1, whose tile is 0
"test.op"() {s = #sched.schedule<tile = [4, 0], parallel = [1]>} : () -> ()

// -----

// expected-error: order names loop 2, and the tiles are 0 to 1
"test.op"() {s = #sched.schedule<tile = [4, 8], order = [0, 2]>} : () -> ()

// -----

// expected-error: parallel names loop -1, and the tiles are 0 to 1
"test.op"() {s = #sched.schedule<tile = [4, 8], parallel = [-1]>} : () -> ()

// -----

// expected-error: order must name each of the tiled loops [0, 1] once, found [1]
"test.op"() {s = #sched.schedule<tile = [4, 8], order = [1]>} : () -> ()

// -----

// expected-error: parallel must name the first loops of the order [0, 1], found [1]
"test.op"() {s = #sched.schedule<tile = [4, 8], order = [0, 1], parallel = [1]>} : () -> ()

// -----

// expected-error: `tile` is missing
"test.op"() {s = #sched.schedule<parallel = [0]>} : () -> ()

// -----

// expected-error: sizes are positive numbers of a form, found rows = 0
"test.op"() {s = #sched.schedule<form = "walk", sizes = {rows = 0}>} : () -> ()

// -----

// expected-error: sizes are positive numbers of a form, found rows = 8
"test.op"() {s = #sched.schedule<tile = [4], sizes = {rows = 8}>} : () -> ()

// -----

// expected-error: a form has no tiles
"test.op"() {s = #sched.schedule<form = "walk", tile = [4]>} : () -> ()

// -----

// expected-error: tiles must be 0 to 2^31 - 1, found [4, -8]
"test.op"() {s = #sched.schedule<tile = [4, -8], parallel = [0]>} : () -> ()

// -----

// expected-error: tiles must be 0 to 2^31 - 1, found [1099511627776]
"test.op"() {s = #sched.schedule<tile = [1099511627776]>} : () -> ()

// -----

// expected-error: `levels` is in place of `tile`
"test.op"() {s = #sched.schedule<levels = [<tile = [4]>], tile = [4]>} : () -> ()

// -----

// expected-error: levels must have a tile for each of 2 loops
"test.op"() {s = #sched.schedule<levels = [<tile = [4, 8]>, <tile = [4]>]>} : () -> ()

// -----

// expected-error: one level has parallel loops, found several
"test.op"() {s = #sched.schedule<levels = [<tile = [8, 8], parallel = [0]>, <tile = [4, 0], parallel = [0]>]>} : () -> ()

// -----

// expected-error: a level must have a tile that is not 0
"test.op"() {s = #sched.schedule<levels = [<tile = [8, 8]>, <tile = [0, 0]>]>} : () -> ()

// -----

// expected-error: loop 1 of level 1 must be in the level before
"test.op"() {s = #sched.schedule<levels = [<tile = [8, 0]>, <tile = [0, 4]>]>} : () -> ()

// -----

// expected-error: the tiles of loop 0 must not grow inwards, found [4, 8]
"test.op"() {s = #sched.schedule<levels = [<tile = [4, 0]>, <tile = [8, 0]>]>} : () -> ()

// -----

// expected-error: unroll must name the last of the loops [1], found [0]
"test.op"() {s = #sched.schedule<tile = [4, 8], parallel = [0], unroll = [0]>} : () -> ()
