// A model in memory: checks the arrays of a call, lays them out, calls the compiled code, reads the results.

/** A mistake of the caller's, or a call that failed: `code`, `where` and `help` are those of Stepwell in Python. */
export class StepwellError extends Error {
  constructor(code, message, where = "", help = "") {
    super(`${code}: ${message}${where && ` (${where})`}${help && `; ${help}`}`);
    Object.assign(this, { name: "StepwellError", code, where, help });
  }
}

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bfloat16: Uint16Array, bool: Uint8Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};
export const PAGE = 65536;
const ALIGNMENT = 64;
/** The struct of a call in C: five pointers and a size, two i64 of a failure, the address of the weights. */
const CALL = { workspace: 0, bytes: 4, pool: 8, allocate: 12, user: 20, values: 24, weights: 40, size: 48 };

const aligned = (address) => Math.ceil(address / ALIGNMENT) * ALIGNMENT;
const product = (sizes) => sizes.reduce((a, b) => a * b, 1);
const shown = (sizes) => `[${sizes.join(", ")}]`;

/** Make sure that a memory reaches an address. */
export function grow(memory, end) {
  const missing = Math.ceil((end - memory.buffer.byteLength) / PAGE);
  try {
    if (missing > 0) memory.grow(missing);
  } catch {
    throw new StepwellError("out-of-memory", `the memory of the model cannot grow to ${end} bytes`);
  }
}

export class Instance {
  /** `called` is the function of a call; `heap` is the first address after weights and whatever threads need; `pool` that of a thread pool, or 0. */
  constructor(model, instance, memory, { weights, weightBytes, heap, pool = 0 }) {
    Object.assign(this, { model, called: model, memory, weights, heap, pool, functions: instance.exports });
    if (weightBytes && this.function("check_weights")(weights, weightBytes)) {
      throw new StepwellError("invalid-weights", "the weights are not those of the model");
    }
  }

  function(name) {
    return this.functions[`${this.called.name}_${name}`];
  }

  /** The outputs by name, each `{ data, dims, type }`; `name` is that of a function of a library. */
  run(feeds, name) {
    const model = (this.called = name === undefined ? this.model : this.model.functions[name]);
    const { arrays, sizes } = bind(model, feeds);
    this.free = this.heap;
    const dims = this.words(model.symbols.map((name) => sizes[name]));
    const given = model.symbols.length ? [dims] : [];
    const bytes = Number(this.function("workspace_bytes")(...given));
    if (bytes < 0) throw this.failure(bytes);
    const inputs = this.pointers(arrays.map((array) => this.copied(array)));
    const outputs = model.outputs.map((spec) => {
      const shape = spec.allocated ? null : evaluated(spec, sizes);
      return { spec, shape, place: this.take(shape ? product(shape) * ARRAYS[spec.type].BYTES_PER_ELEMENT : 4) };
    });
    const table = this.pointers(outputs.map(({ place }) => place));
    const shapes = this.words(model.published.map(() => 0));
    if (model.published.length) given.push(shapes);
    const call = this.call(bytes);
    const status = this.function("run")(inputs, table, ...given, call);
    if (status) throw this.failure(status, call + CALL.values);
    model.published.forEach((name, i) => (sizes[name] = Number(this.view().getBigInt64(shapes + 8 * i, true))));
    return Object.fromEntries(outputs.map((output) => [output.spec.name, this.result(output, sizes)]));
  }

  view() {
    return new DataView(this.memory.buffer);
  }

  /** Some bytes of the memory of a call. */
  take(bytes) {
    const address = this.free;
    this.free = aligned(address + bytes);
    grow(this.memory, this.free);
    return address;
  }

  copied(array) {
    const address = this.take(array.byteLength);
    new Uint8Array(this.memory.buffer, address, array.byteLength).set(
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return address;
  }

  words(values) {
    const address = this.take(8 * values.length);
    values.forEach((value, i) => this.view().setBigInt64(address + 8 * i, BigInt(value), true));
    return address;
  }

  pointers(values) {
    const address = this.take(4 * values.length);
    values.forEach((value, i) => this.view().setUint32(address + 4 * i, value, true));
    return address;
  }

  /** The struct of a call; memory whose size depends on data begins after everything else. */
  call(bytes) {
    const call = this.take(CALL.size);
    const heap = this.take(8);
    const workspace = this.take(bytes);
    const view = this.view();
    for (let i = 0; i < CALL.size; i += 4) view.setUint32(call + i, 0, true);
    view.setBigInt64(heap, BigInt(this.free), true);
    const fields = { workspace, bytes, pool: this.pool, user: heap, weights: this.weights };
    const allocator = this.functions.stepwell_allocator;
    if (allocator) fields.allocate = allocator() >>> 0;
    for (const [name, value] of Object.entries(fields)) view.setUint32(call + CALL[name], value, true);
    return call;
  }

  /** The error of a status; `values` is the address of the two numbers of a failed call. */
  failure(status, values = 0) {
    const bytes = new Uint8Array(this.memory.buffer, this.function("message")(status) >>> 0);
    const text = new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
    const [, code, message, where = ""] = /^([a-z-]+): (.*?)(?: \(([^()]*)\))?$/s.exec(text) ?? [, "internal", text];
    if (!values || status < 0) return new StepwellError(code, message, where);
    const [found, other] = [0, 8].map((offset) => this.view().getBigInt64(values + offset, true));
    const rest = code === "bad-size" ? `, possible are 0 to ${other}` : ` and ${other}`;
    return new StepwellError(code, `${message}: found ${found}${rest}`, where);
  }

  result({ spec, shape, place }, sizes) {
    const dims = shape ?? evaluated(spec, sizes);
    const address = shape ? place : this.view().getUint32(place, true);
    const data = new ARRAYS[spec.type](this.memory.buffer, address, product(dims)).slice();
    return { data, dims, type: spec.type };
  }
}

const size = (dim, sizes) => (typeof dim === "function" ? dim(sizes) : sizes[dim] ?? dim);
const evaluated = (spec, sizes) => spec.dims.map((dim) => size(dim, sizes));

/** The arrays of the inputs in order, and the values of open sizes. */
export function bind(model, feeds) {
  const names = model.inputs.map(({ name }) => name);
  const unknown = Object.keys(feeds ?? {}).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new StepwellError("unknown-input", `the model has no input ${JSON.stringify(unknown)}`, "",
      `the inputs are ${names.join(", ")}`);
  }
  const sizes = {};
  const arrays = model.inputs.map((spec) => array(spec, feeds?.[spec.name], sizes));
  return { arrays, sizes };
}

/** The typed array of an input, whose open sizes are added to `sizes`. */
function array(spec, value, sizes) {
  const where = `input ${JSON.stringify(spec.name)}`;
  const wanted = ARRAYS[spec.type];
  const wish = `${spec.type}[${spec.shown}]`;
  if (value === undefined) throw new StepwellError("missing-input", `${where} is missing`, where, `it is ${wish}`);
  const data = ArrayBuffer.isView(value) ? value : value.data;
  if (!(data instanceof wanted)) {
    const found = data?.constructor?.name ?? typeof data;
    throw new StepwellError("dtype-mismatch", `expected a ${wanted.name}, found ${found}`, where, `it is ${wish}`);
  }
  const dims = (ArrayBuffer.isView(value) ? null : value.dims) ?? inferred(spec, data.length, sizes);
  const mismatch = () => new StepwellError("shape-mismatch",
    `expected ${wish}, found ${data.length} elements${dims ? ` as ${shown(dims)}` : ""}`, where,
    "pass { data, dims }");
  if (!dims || dims.length !== spec.dims.length || product(dims) !== data.length) throw mismatch();
  spec.dims.forEach((dim, i) => {
    if (typeof dim === "string") sizes[dim] ??= dims[i];
    if (size(dim, sizes) !== dims[i]) throw mismatch();
  });
  return data;
}

/** The sizes of an array of some elements; null where more than one is open, or they do not fit. */
function inferred(spec, count, sizes) {
  const open = spec.dims.filter((dim) => typeof dim === "string" && !(dim in sizes));
  if (open.length > 1) return null;
  const known = product(spec.dims.map((dim) => (open.includes(dim) ? 1 : size(dim, sizes))));
  const rest = open.length ? count / known : 1;
  return Number.isInteger(rest) ? spec.dims.map((dim) => (open.includes(dim) ? rest : size(dim, sizes))) : null;
}
