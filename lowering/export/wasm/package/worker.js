// A thread of a model: one leads and makes the calls, the others take chunks of its loops until they are ended.

import { grow, Instance } from "./instance.js";
import { model } from "./model.js";

const POOL_BYTES = 1024;
const port = globalThis.postMessage ? globalThis : (await import(/* @vite-ignore */ "node:worker_threads")).parentPort;
let leader = null;

/** The model on this thread, and a pool and stacks for the others. */
async function lead({ module, memory, places, threads }) {
  const instance = await WebAssembly.instantiate(module, { env: { memory } });
  const pool = places.heap;
  const first = pool + POOL_BYTES;
  const stacks = Array.from({ length: threads - 1 }, (_, i) => first + (i + 1) * model.stackBytes);
  const heap = first + (threads - 1) * model.stackBytes;
  grow(memory, heap);
  instance.exports.stepwell_1_pool_init(pool, POOL_BYTES, threads);
  leader = new Instance(model, instance, memory, { ...places, heap, pool });
  return { pool, stacks };
}

async function help({ module, memory, stack, pool }) {
  const instance = await WebAssembly.instantiate(module, { env: { memory } });
  instance.exports.__stack_pointer.value = stack;
  instance.exports.stepwell_1_pool_worker(pool);
}

async function heard(message) {
  if (message.kind === "help") return help(message);
  try {
    const result = message.kind === "lead" ? await lead(message) : leader.run(message.feeds, message.name);
    port.postMessage({ id: message.id, result });
  } catch (error) {
    const { code = "internal", where = "", help = "", message: text } = error;
    port.postMessage({ id: message.id, error: { code, where, help, message: text } });
  }
}

if (globalThis.postMessage) globalThis.onmessage = ({ data }) => heard(data);
else port.on("message", heard);
