// Runs a module for `stepwell run --emulate`: reads the memory of a call from standard input, and writes it after.

import { readFileSync } from "node:fs";

const PAGE = 65536;
const [base, words] = [$base, $words];
const input = readFileSync(0);
const header = Array.from({ length: words }, (_, i) => Number(input.readBigInt64LE(8 * i)));
const [bytes, hook] = [header[0], header[words - 1]];
const memory = new WebAssembly.Memory({ initial: Math.ceil((base + bytes) / PAGE) });
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const { exports } = new WebAssembly.Instance(module, { env: { memory } });
new Uint8Array(memory.buffer, base).set(input.subarray(8 * words));
if (exports.stepwell_allocator) new DataView(memory.buffer).setUint32(hook, exports.stepwell_allocator(), true);
const run = exports.$run;
const status = Buffer.alloc(8);
status.writeBigInt64LE(BigInt(run(...header.slice(1, 1 + run.length))));
process.stdout.write(Buffer.concat([status, Buffer.from(memory.buffer, base)]));
