// The playground: edits of the chosen kernel, which the server of the page lowers, compares and times.

import { departure, microseconds } from "./data.js";
import { element, pane } from "./dom.js";

const TOKEN = "stepwell-token";
const PLACES = { linalg: ["tensor", 0], vector: ["tensor", -1], loops: ["loop", -1], llvm: ["llvm", -1] };

// The token of the server: from the address, where nobody should copy it from, or from before a reload.
export function served() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (!location.protocol.startsWith("http")) return null;
  if (parts.has("token")) {
    sessionStorage.setItem(TOKEN, parts.get("token"));
    parts.delete("token");
    history.replaceState(null, "", `#${parts}`);
  }
  return sessionStorage.getItem(TOKEN);
}

export class Playground {
  // `onchange` shows the kernel again, with `applied` where an edit of it was tried.
  constructor(token, names, onchange) {
    Object.assign(this, { token, names, onchange, call: null, kernel: null, tried: new Map() });
    this.what = element("select", { "aria-label": "What to edit", onchange: () => this.fill() });
    this.text = element("textarea", { "aria-label": "The edit", spellcheck: false, rows: 14, onkeydown: (event) => event.ctrlKey && event.key === "Enter" && this.run() });
    const button = (label, act) => element("button", { type: "button", onclick: act }, label);
    this.buttons = [button("try", () => this.run()), button("as compiled", () => this.undo()), button("save", () => this.save())];
    this.answer = element("p", { "data-testid": "answer", role: "status" });
    this.pane = pane("try", "Try an edit of the kernel");
    this.pane.append(element("nav", { "aria-label": "Edit" }, this.what, ...this.buttons), this.text, this.answer);
  }

  // The kernel that is shown for a call: as compiled, or as it was tried last.
  applied(call, kernel) {
    const found = this.tried.get(call.kernel);
    return found ? { call: { ...call, sets: [...call.sets, ...found.sets] }, kernel: tried(kernel, found, call.sets.length) } : { call, kernel };
  }

  // Offer the edits of a kernel, as it was compiled.
  show(call, kernel) {
    this.pane.hidden = !call;
    if (!call || (this.call && this.call.kernel === call.kernel)) return;
    Object.assign(this, { call, kernel });
    const schedules = kernel.schedule.map((_, i) => [`schedule:${i}`, kernel.schedule.length > 1 ? `schedule ${i + 1}` : "schedule"]);
    const choices = [...schedules, ...Object.keys(PLACES).map((level) => [level, `text of level ${level}`]), ["pipeline", "passes"]];
    this.what.replaceChildren(...choices.map(([value, label]) => element("option", { value }, label)));
    this.fill();
    this.say(this.tried.get(call.kernel));
  }

  // The step that an edit starts from: its text is edited, and the tried steps follow it.
  base() {
    const [kind] = this.what.value.split(":");
    const at = (test) => this.kernel.steps.map((step, i) => (test(step) ? i : -1)).filter((i) => i >= 0);
    if (kind === "schedule") return at((step) => step.pass === "choose-schedules")[0];
    const [level, place] = PLACES[kind] || ["graph", -1];
    return at((step) => step.level === level).at(place) ?? -1;
  }

  fill() {
    const [kind, number] = this.what.value.split(":");
    const passes = this.kernel.steps.filter((step) => step.level !== "graph").slice(1).map((step) => step.pass);
    let text = passes.join(",\n");
    if (kind === "schedule") text = this.kernel.schedule[number];
    else if (kind !== "pipeline") text = this.kernel.steps.slice(0, this.base() + 1).findLast((step) => step.text !== undefined).text;
    this.text.value = text;
  }

  async run() {
    const [kind, number] = this.what.value.split(":");
    const [id, base] = [this.call.kernel, this.base()];
    const text = this.text.value;
    let edit = { level: kind, text };
    if (kind === "schedule") edit = { schedule: text, number: Number(number) };
    if (kind === "pipeline") edit = { pipeline: text };
    this.answer.className = "";
    this.answer.textContent = "trying …";
    const found = await this.ask(`/api/kernel/${id}/try`, edit);
    if (found.error) {
      if (found.error.code !== "superseded") this.say(found);
      return;
    }
    const sets = found.sets.map((names) => names.map((name) => this.names.get(name)).filter(Boolean));
    this.tried.set(id, { ...found, sets, base });
    this.say(this.tried.get(id));
    await this.onchange();
  }

  async undo() {
    this.tried.delete(this.call.kernel);
    this.fill();
    this.say(null);
    await this.onchange();
  }

  async save() {
    const found = this.tried.get(this.call.kernel);
    const name = found && window.prompt("the name of a new file in the folder of the server", `${this.call.kernel}.mlir`);
    if (!name) return;
    const kept = await this.ask(`/api/try/${found.id}/keep`, { file: name });
    this.say(kept.error ? kept : { note: `wrote ${kept.file}: ${kept.command}` });
  }

  // The JSON value of an answer; what goes wrong on the way is an error too.
  async ask(path, body) {
    try {
      const response = await fetch(path, { method: "POST", headers: { "X-Stepwell-Token": this.token }, body: JSON.stringify(body) });
      if (response.ok || response.status === 422 || response.status === 404) return await response.json();
      return { error: { code: "cannot-serve", message: `the server refused the request: ${response.status}` } };
    } catch {
      return { error: { code: "cannot-serve", message: "the server does not answer: is the command still running?" } };
    }
  }

  // Show an answer, an error, or nothing.
  say(found) {
    const isWrong = Boolean(found) && (Boolean(found.error) || (found.difference !== null && found.difference > found.allowed));
    this.answer.className = isWrong ? "wrong" : "";
    this.answer.textContent = found ? sentence(found) : "";
  }
}

function sentence(found) {
  if (found.note) return found.note;
  if (found.error) {
    const { code, message, line, column, where, help } = found.error;
    const place = line ? `line ${line}, column ${column}: ` : where ? `${where}: ` : "";
    return `${place}error[${code}]: ${message}${help ? ` (${help})` : ""}`;
  }
  const parts = [`${found.spills} spills`];
  if (found.difference !== null) parts.unshift(found.difference > found.allowed ? `other results: difference ${departure(found.difference)}, allowed ${departure(found.allowed)}` : `same results (difference ${departure(found.difference)})`);
  if (found.us) {
    const [low, median, high] = found.us.ratio;
    parts.push(`${microseconds(found.us.before)} before, ${microseconds(found.us.after)} now: ${median.toFixed(2)} times as fast (${low.toFixed(2)} to ${high.toFixed(2)})`);
  }
  return parts.join(" · ");
}

// A kernel as it was tried: its steps up to the edit, then those of the try, whose sets of nodes follow its own.
function tried(kernel, found, offset) {
  const moved = (step) => (step.lines ? { ...step, lines: step.lines.map((n) => (n < 0 ? n : n + offset)) } : step);
  const steps = [...kernel.steps.slice(0, found.base + 1), ...found.steps.map(moved)];
  const { asm, schedule, spills, remarks, code_bytes } = found;
  return { ...kernel, steps, asm, schedule, spills, remarks, code_bytes, tried: found.id };
}
