// Calls a package: node package_test.mjs FOLDER CALLS, where CALLS is a JSON file of feeds; prints JSON of outputs.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , folder, calls] = process.argv;
const { load } = await import(pathToFileURL(`${folder}/index.js`));
const { options, feeds, sync } = JSON.parse(readFileSync(calls, "utf8"));
const ARRAYS = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array, float16: Uint16Array, int8: Int8Array,
  uint8: Uint8Array, float64: Float64Array };
const bytes = (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

function arrayOf({ type, dims, data }) {
  const raw = Buffer.from(data, "base64");
  return { data: new ARRAYS[type](raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength)), dims };
}

const model = await load(options);
const answers = [];
for (const each of feeds) {
  const inputs = Object.fromEntries(Object.entries(each).map(([name, value]) => [name, arrayOf(value)]));
  try {
    const outputs = sync ? model.runSync(inputs) : await model.run(inputs);
    answers.push(Object.fromEntries(Object.entries(outputs).map(([name, { data, dims, type }]) =>
      [name, { data: bytes(data).toString("base64"), dims, type }])));
  } catch (error) {
    answers.push({ error: { code: error.code, where: error.where, help: error.help, text: error.message } });
  }
}
console.log(JSON.stringify({ threads: model.threads, inputs: model.inputs, answers }));
model.close();
