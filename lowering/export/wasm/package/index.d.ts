// The types of this model. Written by Stepwell.

/** An array with its sizes; `data` is in row-major order. */
export interface Tensor<T> {
  data: T;
  dims: number[];
  type?: string;
}

$own

/** A file in another place than the package's own. */
export type Source = string | URL | Response | ArrayBuffer | ArrayBufferView;

export interface Options {
  wasm?: Source;
  weights?: Source;
  /** Threads of calls (default: 1); a page needs to be isolated for more. */
  threads?: number;
  /** Which instructions: what the engine has, those with fused multiply-adds, or those that every engine has. */
  simd?: "auto" | "relaxed" | "fixed";
}

export interface Value {
  name: string;
  type: string;
  shape: string;
}

export interface Callable<I, O> {
  readonly inputs: Value[];
  readonly outputs: Value[];
  run(inputs: I): Promise<O>;
  /** Without threads alone. */
  runSync(inputs: I): O;
}

export interface Loaded {
  readonly threads: number;
  close(): void;
}

/** A mistake of the caller's, or a call that failed. */
export class StepwellError extends Error {
  readonly code: string;
  readonly where: string;
  readonly help: string;
}

export function load(options?: Options): Promise<Model>;
