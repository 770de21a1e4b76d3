// The list of all pairs: filtered, sorted, a page at a time.

const PAGE = 20;
// of each pair, if the data has them
const TEXTS = ["question", "context", "reference", "candidate"];

function startExplorer() {
  const at = (name) => document.getElementById("pairs-" + name);
  const section = document.getElementById("pairs");
  const form = section.querySelector("form");
  let data, lowered, rows = [], page = 0;
  const apart = new Map();

  async function choose() {
    data = await load(at("unit").value);
    lowered = null;
    apart.clear();
    const counts = new Map();
    for (const code of data.columns["tag-category"]) counts.set(code, (counts.get(code) ?? 0) + 1);
    const tags = data.categories.map((name, code) => [code, `${name} (${counts.get(code) ?? 0})`]);
    fill(at("category"), [["", "any"], ...tags]);
    fill(at("class"), [["", "any"], ...data.classes.map((name, code) => [code, name])]);
    fill(at("bucket"), [["", "all"], ...data.buckets.map((name, number) => [number, name])]);
    fill(at("metric"), data.metrics.map((metric, number) => [number, metric.short]), data.ranking[0]);
    for (const note of section.querySelectorAll("[id^=tagged-]")) note.hidden = note.id !== "tagged-" + at("unit").value;
    find();
  }

  /** Rank of each score less rank of its label, as a share of the scored pairs; see divergence.py. */
  function disagreement(metric) {
    if (!apart.has(metric)) {
      const sign = data.metrics[metric].higher ? 1 : -1;
      const scores = data.columns["score-" + metric].map((score) => sign * score);
      const known = [];
      for (let row = 0; row < data.n; row++) if (Number.isFinite(scores[row])) known.push(row);
      const labels = ranks(known, data.columns.label, data.n);
      const own = ranks(known, scores, data.n);
      const found = new Float64Array(data.n).fill(NaN);
      for (const row of known) found[row] = (own[row] - labels[row]) / known.length;
      apart.set(metric, found);
    }
    return apart.get(metric);
  }

  function search(text) {
    lowered ??= data.texts.map((one) => one.toLowerCase());
    const hits = lowered.map((one) => one.includes(text));
    const columns = TEXTS.filter((name) => name in data.columns).map((name) => data.columns[name]);
    return (row) => columns.some((column) => hits[column[row]]);
  }

  function tagged(category) {
    const { "tag-start": starts, "tag-category": codes } = data.columns;
    return (row) => {
      for (let tag = starts[row]; tag < starts[row + 1]; tag++) if (codes[tag] === category) return true;
      return false;
    };
  }

  function find() {
    const tests = [];
    const text = at("text").value.trim().toLowerCase();
    const column = data.columns["score-" + at("metric").value];
    const [low, high] = [at("low").value, at("high").value];
    if (at("class").value !== "") tests.push((row) => data.columns.class[row] === Number(at("class").value));
    if (at("bucket").value !== "") tests.push((row) => data.columns["bucket-" + at("bucket").value][row] === 1);
    if (at("category").value !== "") tests.push(tagged(Number(at("category").value)));
    if (column && low !== "") tests.push((row) => column[row] >= Math.fround(low));
    if (column && high !== "") tests.push((row) => column[row] <= Math.fround(high));
    if (text) tests.push(search(text));
    rows = [];
    for (let row = 0; row < data.n; row++) if (tests.every((test) => test(row))) rows.push(row);
    sort(column);
    page = 0;
    show();
  }

  function sort(scores) {
    const way = at("sort").value;
    if (way === "order" || !scores) return;
    const values = way === "high" || way === "low" ? scores : disagreement(Number(at("metric").value));
    const key = { apart: (value) => Math.abs(value), above: (value) => value, below: (value) => -value, high: (value) => value, low: (value) => -value }[way];
    const keys = new Float64Array(data.n);
    // pairs without a score stand last
    for (const row of rows) keys[row] = Number.isFinite(values[row]) ? key(values[row]) : -Infinity;
    rows.sort((one, other) => keys[other] - keys[one] || one - other);
  }

  function show() {
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const first = page * PAGE;
    const here = rows.slice(first, first + PAGE);
    const count = (number) => number.toLocaleString("en");
    at("said").textContent = rows.length
      ? `Pairs ${count(first + 1)} to ${count(first + here.length)} of ${count(rows.length)}` + (rows.length < data.n ? `; ${count(data.n)} in all.` : ".")
      : `None of ${count(data.n)} pairs fits.`;
    at("list").replaceChildren(...here.map(item));
    at("page").value = page + 1;
    at("page").max = pages;
    at("last").textContent = `of ${count(pages)}`;
    for (const button of at("pages").querySelectorAll("button")) {
      button.disabled = ["first", "previous"].includes(button.dataset.go) ? page === 0 : page === pages - 1;
    }
  }

  function item(row) {
    const { columns } = data;
    const chosen = Number(at("metric").value);
    const about = make("p", { class: "about" }, make("span", {}, "label ", make("strong", {}, shown(columns.label[row]))));
    if (data.metrics.length) {
      const value = disagreement(chosen)[row];
      about.append(make("span", {}, "disagreement ", make("strong", {}, Number.isFinite(value) ? value.toFixed(2).replace("-", "−") : "–")));
    }
    const inside = data.buckets.filter((_, number) => columns["bucket-" + number][row]);
    if (inside.length) about.append(make("span", {}, inside.join(", ")));
    about.append(make("span", {}, "pair ", make("bdi", {}, visible(data.ids[row]))));
    const texts = make("dl", { class: "texts" });
    for (const name of TEXTS.filter((name) => name in columns)) {
      const text = data.texts[columns[name][row]];
      if ((name === "question" || name === "context") && !text) continue;
      texts.append(make("dt", {}, name), make("dd", { dir: "auto" }, ...(text ? found(text) : [make("em", {}, "empty")])));
    }
    const starts = columns["tag-start"];
    for (let tag = starts[row]; tag < starts[row + 1]; tag++) {
      const reason = data.texts[columns["tag-reason"][tag]];
      texts.append(make("dt", {}, "category"), make("dd", { class: "tag" }, data.categories[columns["tag-category"][tag]] + (reason ? `: ${visible(reason)}` : "")));
    }
    const scores = make("dl", { class: "scores" });
    data.metrics.forEach((metric, number) => {
      const kind = number === chosen ? { class: "chosen" } : {};
      scores.append(make("dt", { ...kind, title: metric.name }, metric.short), make("dd", kind, fixed(columns["score-" + number][row])));
    });
    return make("li", {}, about, texts, scores);
  }

  /** Return a text in pieces, with what is searched for marked. */
  function found(text) {
    const wanted = at("text").value.trim().toLowerCase();
    const small = text.toLowerCase();
    // some letters change their length in lower case; then nothing is marked
    if (!wanted || small.length !== text.length) return [visible(text)];
    const pieces = [];
    let from = 0;
    for (let start = small.indexOf(wanted); start >= 0; start = small.indexOf(wanted, from)) {
      pieces.push(visible(text.slice(from, start)), make("mark", {}, visible(text.slice(start, start + wanted.length))));
      from = start + wanted.length;
    }
    return [...pieces, visible(text.slice(from))];
  }

  const moves = { first: () => 0, previous: () => page - 1, next: () => page + 1, last: () => Infinity };
  at("pages").addEventListener("click", (event) => {
    const move = moves[event.target.dataset.go];
    if (!move) return;
    page = move();
    show();
  });
  at("page").addEventListener("change", () => {
    page = (Number(at("page").value) || 1) - 1;
    show();
  });
  let waiting;
  for (const box of ["text", "low", "high"]) {
    at(box).addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(find, 150);
    });
  }
  for (const list of ["category", "class", "bucket", "metric", "sort"]) at(list).addEventListener("change", find);
  at("unit").addEventListener("change", choose);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(choose));
  form.hidden = at("pages").hidden = false;
  return choose();
}

/** Return the rank of the value of each row, shape (n,); equal values share the mean of their ranks. */
function ranks(rows, values, n) {
  const order = Float64Array.from(rows, (row) => values[row]).sort();
  const places = new Map();
  for (let start = 0, end; start < order.length; start = end) {
    for (end = start; end < order.length && order[end] === order[start]; ) end++;
    places.set(order[start], (start + end + 1) / 2);
  }
  const found = new Float64Array(n);
  for (const row of rows) found[row] = places.get(values[row]);
  return found;
}

/** Return text in which characters without a shape of their own can be seen. */
function visible(text) {
  return text
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (letter) => String.fromCharCode(0x2400 + letter.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      (letter) => `[U+${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
}
