// Loads a model that Stepwell compiled to WebAssembly: `const model = await load()`, then `await model.run({ … })`.

import { grow, Instance, PAGE, StepwellError } from "./instance.js";
import { model as description } from "./model.js";

export { StepwellError };

// A function with `f32x4.relaxed_madd`: an engine without relaxed SIMD does not accept it.
const PROBE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 123, 123, 123, 1, 123, 3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32, 1, 32,
  2, 253, 133, 2, 11,
]);
const MAX_PAGES = 65536;
const IN_NODE = typeof process !== "undefined" && !!process.versions?.node;
let warned = false;

/**
 * The model, ready to run. `wasm` and `weights` replace the package's files: a URL, Response, ArrayBuffer or array.
 * `threads`: 1 runs on the calling thread. `simd`: "relaxed", "fixed", or "auto" for what the engine has.
 */
export async function load({ wasm, weights, threads = 1, simd = "auto" } = {}) {
  const count = possibleThreads(threads);
  const file = chosen(simd, wasm !== undefined, count > 1);
  const module = await WebAssembly.compile(await (await opened(wasm ?? file.wasm)).arrayBuffer());
  const memory = newMemory(file.heap + file.weightBytes, count > 1);
  if (file.weightBytes) {
    await streamed(await opened(weights ?? file.weights), memory, file.heap, file.weightBytes);
  }
  const end = Math.ceil((file.heap + file.weightBytes) / 64) * 64;
  const places = { weights: file.heap, weightBytes: file.weightBytes, heap: end };
  if (count > 1) return ThreadedModel.start(module, memory, places, count);
  const instance = await WebAssembly.instantiate(module, { env: { memory } });
  return new Model(new Instance(description, instance, memory, places));
}

function newMemory(bytes, shared) {
  const initial = Math.ceil(bytes / PAGE);
  return new WebAssembly.Memory(shared ? { initial, maximum: MAX_PAGES, shared } : { initial });
}

/** The number of threads that this page may have: pages share memory only where two headers isolate them. */
function possibleThreads(wanted) {
  if (!Number.isInteger(wanted) || wanted < 1) {
    throw new StepwellError("bad-option", `threads must be a number from 1 on, found ${wanted}`);
  }
  if (wanted === 1 || IN_NODE || globalThis.crossOriginIsolated) return wanted;
  if (!warned) {
    console.warn("stepwell: one thread instead of " + wanted + ": the page is not isolated. Its server must send " +
      "Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp");
  }
  warned = true;
  return 1;
}

/** The module for an engine. */
function chosen(simd, isOwn, threaded) {
  if (!["auto", "relaxed", "fixed"].includes(simd)) {
    throw new StepwellError("bad-option", `simd must be auto, relaxed or fixed, found ${simd}`);
  }
  const relaxed = simd === "relaxed" || (simd === "auto" && !isOwn && WebAssembly.validate(PROBE));
  const wanted = `${relaxed ? "relaxed" : "fixed"}${threaded ? "Threads" : ""}`;
  const found = description.files[wanted] ?? (simd === "auto" && description.files[threaded ? "fixedThreads" : "fixed"]);
  if (!found) throw new StepwellError("bad-option", `the package has no module with ${wanted}`);
  return found;
}

/** A response with some bytes, wherever they are. */
async function opened(source) {
  if (source instanceof Response) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return new Response(source);
  const url = new URL(source, globalThis.location?.href ?? import.meta.url);
  if (IN_NODE && url.protocol === "file:") {
    const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ "node:fs/promises");
    return new Response(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new StepwellError("no-file", `the server answered ${response.status}`, url.href);
  return response;
}

/** Write the bytes of a response into a memory as they arrive, and none after `bytes`. */
async function streamed(response, memory, address, bytes) {
  grow(memory, address + bytes);
  const reader = response.body.getReader();
  let end = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done && end === bytes) return;
    if (done || end + value.byteLength > bytes) {
      await reader.cancel();
      throw new StepwellError("invalid-weights", `expected ${bytes} bytes of weights, found ${done ? end : "more"}`);
    }
    new Uint8Array(memory.buffer, address + end, value.byteLength).set(value);
    end += value.byteLength;
  }
}

/** Inputs or outputs, as users see them; a library has none, but for its functions. */
const values = (specs = []) => specs.map(({ name, type, shown }) => ({ name, type, shape: shown }));

/** A function that there is: a model has one without a name, a library those of its models. */
function expectFunction(name) {
  const names = Object.keys(description.functions ?? {});
  if (names.length ? names.includes(name) : name === undefined) return;
  throw new StepwellError("unknown-function", `there is no function ${name}`, "", `model.functions: ${names.join(", ")}`);
}

/** A model or library on one thread: that of the caller. */
class Model {
  inputs = values(description.inputs);
  outputs = values(description.outputs);
  functions = Object.fromEntries(Object.entries(description.functions ?? {}).map(([name, { inputs, outputs }]) => [name, {
    inputs: values(inputs),
    outputs: values(outputs),
    run: (feeds) => this.run(feeds, name),
    runSync: (feeds) => this.runSync(feeds, name),
  }]));
  threads = 1;

  constructor(instance) {
    this.instance = instance;
  }

  async run(feeds, name) {
    return this.runSync(feeds, name);
  }

  runSync(feeds, name) {
    if (!this.instance) throw new StepwellError("closed", "the model was closed");
    expectFunction(name);
    return this.instance.run(feeds, name);
  }

  close() {
    this.instance = null;
  }
}

/** A model on several threads: one leads, since that of a page may not wait; calls are queued there. */
class ThreadedModel extends Model {
  waiting = new Map();
  calls = 0;

  static async start(module, memory, places, threads) {
    const common = { module, memory };
    const model = new ThreadedModel(await newWorker());
    model.workers = [model.instance];
    model.threads = threads;
    model.instance.listen((answer) => model.answer(answer), (error) => model.fail(error));
    const { pool, stacks } = await model.ask({ kind: "lead", ...common, places, threads });
    for (const stack of stacks) {
      const worker = await newWorker();
      model.workers.push(worker);
      worker.listen(() => {}, (error) => model.fail(error));
      worker.send({ kind: "help", ...common, stack, pool });
    }
    return model;
  }

  /** An answer of the leading thread to a message. */
  ask(message) {
    if (!this.instance) return Promise.reject(new StepwellError("closed", "the model was closed"));
    const id = this.calls++;
    this.instance.hold(true); // Node waits for an answer
    this.instance.send({ id, ...message });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  answer({ id, result, error }) {
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (!this.waiting.size) this.instance?.hold(false);
    if (error) reject(Object.assign(new StepwellError(error.code, ""), error));
    else resolve(result);
  }

  /** A thread ended, or never began: no call can be answered. */
  fail(error) {
    const reason = new StepwellError("thread-failed", String(error?.message ?? error));
    for (const { reject } of this.waiting.values()) reject(reason);
    this.waiting.clear();
    this.close();
  }

  async run(feeds, name) {
    expectFunction(name);
    return this.ask({ kind: "run", feeds, name });
  }

  runSync() {
    throw new StepwellError("bad-option", "a model with threads has run alone: this thread may not wait for others");
  }

  close() {
    for (const worker of this.workers) worker.end();
    for (const { reject } of this.waiting.values()) reject(new StepwellError("closed", "the model was closed"));
    this.waiting.clear();
    this.instance = null;
    this.workers = [];
  }
}

/** A worker of a page or of Node. */
async function newWorker() {
  if (!IN_NODE) {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    return {
      send: (message) => worker.postMessage(message),
      listen: (heard, failed) => Object.assign(worker, { onmessage: ({ data }) => heard(data), onerror: failed }),
      hold: () => {},
      end: () => worker.terminate(),
    };
  }
  const { Worker: NodeWorker } = await import(/* @vite-ignore */ /* webpackIgnore: true */ "node:worker_threads");
  const worker = new NodeWorker(new URL("./worker.js", import.meta.url));
  worker.unref(); // a program that forgets to close a model ends all the same
  return {
    send: (message) => worker.postMessage(message),
    listen: (heard, failed) => worker.on("message", heard).on("error", failed).unref(),
    hold: (on) => (on ? worker.ref() : worker.unref()),
    end: () => void worker.terminate(),
  };
}
