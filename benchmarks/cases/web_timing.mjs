// Times a model in Node: node web_timing.mjs ENGINE FILE FEEDS ROUNDS, one thread; prints JSON.
// ENGINE is `stepwell`, with the folder of a package, or `onnxruntime-web`, with an .onnx file.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , engine, file, feedsFile, rounds] = process.argv;
const ARRAYS = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array };
const feeds = Object.entries(JSON.parse(readFileSync(feedsFile, "utf8"))).map(([name, { type, dims, data }]) => {
  const bytes = Buffer.from(data, "base64");
  const array = new ARRAYS[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  return [name, { type, dims, data: array }];
});

async function stepwell() {
  const { load } = await import(pathToFileURL(`${file}/index.js`));
  const model = await load({ threads: 1 });
  const inputs = Object.fromEntries(feeds);
  return () => model.run(inputs);
}

async function onnxruntime() {
  const ort = createRequire(import.meta.url)("onnxruntime-web");
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create(readFileSync(file), { executionProviders: ["wasm"] });
  const tensors = feeds.map(([name, { type, dims, data }]) => [name, new ort.Tensor(type, data, dims)]);
  return () => session.run(Object.fromEntries(tensors));
}

const begin = performance.now();
const run = await (engine === "stepwell" ? stepwell() : onnxruntime());
const outputs = await run();
const first = performance.now() - begin;
const times = [];
for (let i = 0; i < Number(rounds); i++) {
  const start = process.cpuUsage(); // of the processor: a busy machine lengthens it less
  await run();
  const { user, system } = process.cpuUsage(start);
  times.push((user + system) / 1e3);
}
const values = Object.values(outputs)[0];
const shown = Array.from(values.data ?? values.cpuData, Number).slice(0, 1000);
console.log(JSON.stringify({ first, times, values: shown }));
