// The changed lines of two texts; numbered values and blocks count as equal, whatever their numbers.

const MOST_CELLS = 4e6;
const bare = (line) => line.replace(/[%^][\w$.-]+/g, "%");

export function difference(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const [a, b] = [old.map(bare), now.map(bare)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = changes(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const near = (at) => (at >= 0 && at < now.length ? [{ kind: "", text: `  ${now[at]}`, at }] : []);
  const lines = middle.map(([sign, i]) =>
    sign === "-" ? { kind: "del", text: `- ${old[head + i]}`, at: -1 }
      : { kind: sign === "+" ? "ins" : "", text: `${sign} ${now[head + i]}`, at: head + i });
  return lines.length ? [...near(head - 1), ...hunks(lines), ...near(now.length - tail)] : [{ text: "no change", at: -1 }];
}

// Pairs of sign and index: removed lines by their index before, others by that after.
function changes(a, b) {
  if (a.length * b.length > MOST_CELLS) return [...a.map((_, i) => ["-", i]), ...b.map((_, j) => ["+", j])];
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push([" ", j]);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) {
      found.push(["-", i]);
      i += 1;
    } else {
      found.push(["+", j]);
      j += 1;
    }
  }
  return found;
}

// Changed lines with one line around each run of them.
function hunks(lines) {
  const changed = lines.map((line) => Boolean(line.kind));
  return lines.filter((_, i) => changed[i] || changed[i - 1] || changed[i + 1]);
}
