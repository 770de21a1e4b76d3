// The leaderboard: filters, tables and the address. Everything drawn follows from the state, which the address holds.

/** What can be chosen, with its value where nothing is. */
const START = {
  q: "", task: "", language: "", licence: "", set: "", bucket: "", statistic: "", kind: "", speed: "", price: "",
  sort: "-value", sets: "", duels: "-difference", cells: "-mean", compare: "",
};
let state = { ...START };
let data;
const byId = (id) => document.getElementById(id);

// What the state selects

/** Return the board of some datasets in the chosen bucket by the chosen statistic; undefined without one. */
const boardOf = (positions) => data.boards[state.bucket][state.statistic][positions.join(",")];

/** Return the positions of the datasets that pass the filters and have the bucket. */
function chosenSets() {
  const passes = (set) =>
    (!state.task || set.tasks.includes(state.task)) &&
    (!state.language || set.language === state.language) &&
    (!state.licence || set.licence === state.licence) &&
    (!state.set || set.title === state.set);
  return [...data.sets.keys()].filter((position) => passes(data.sets[position]) && boardOf([position]));
}

/** Prepare a board: numbers by metric, and the outcome of the test of two metrics, 1 if the first is better. */
function prepared(board) {
  if (!board || board.numberOf) return board;
  const place = new Map(board.ranked.map((metric, index) => [metric, index]));
  const k = board.ranked.length;
  board.numberOf = (metric) => {
    const at = place.get(metric);
    return at === undefined ? undefined : board.numbers.slice(3 * at, 3 * at + 3);
  };
  board.freshOf = (metric) => board.fresh.slice(2 * place.get(metric), 2 * place.get(metric) + 2);
  board.letterOf = (metric) => board.letters[place.get(metric)] ?? "";
  board.outcome = (one, other) => {
    const [i, j] = [place.get(one), place.get(other)];
    if (i === undefined || j === undefined || i === j) return undefined;
    const [low, high] = i < j ? [i, j] : [j, i];
    const sign = board.signs[low * k - (low * (low + 1)) / 2 + high - low - 1];
    if (sign === ".") return undefined;
    return sign === "=" ? 0 : (sign === "+") === (i < j) ? 1 : -1;
  };
  return board;
}

/** Return the metrics of a board that could be the best of those shown. */
function bestOf(board, shownMetrics) {
  const ranked = board.ranked.filter((metric) => shownMetrics.has(metric));
  if (ranked.length === board.ranked.length) return board.best;
  return ranked.filter((metric) => !ranked.some((other) => board.outcome(other, metric) === 1));
}

/** Return what the tables show: the datasets, the board over all of them, and a row for each metric. */
function selected() {
  const positions = chosenSets();
  const board = prepared(boardOf(positions));
  const alone = positions.map((position) => prepared(boardOf([position])));
  const costs = (metric) => {
    const known = board ? [board.costs[metric]] : alone.map((one) => one.costs[metric]);
    if (!known.length || known.some((cost) => !cost)) return [null, null];
    // the speed on equally many pairs of each dataset: times add up
    const speeds = known.map((cost) => cost[0]), prices = known.map((cost) => cost[1]);
    return [
      speeds.includes(null) ? null : speeds.length / speeds.reduce((sum, speed) => sum + 1 / speed, 0),
      prices.includes(null) ? null : prices.reduce((sum, price) => sum + price, 0) / prices.length,
    ];
  };
  const rows = [];
  data.metrics.forEach((metric, index) => {
    const [speed, price] = costs(index);
    const on = alone.filter((one) => one.numberOf(index));
    const fits = `${metric.name} ${metric.short}`.toLowerCase().includes(state.q.trim().toLowerCase()) &&
      (!state.kind || metric.kind === state.kind) &&
      (!state.speed || (speed !== null && speed >= Number(state.speed))) &&
      (!state.price || (price !== null && price <= Number(state.price)));
    if (!fits || !(on.length || alone.some((one) => one.others[index]))) return;
    let number = board?.numberOf(index);
    // without tests over exactly these datasets there is still a mean
    if (!board && on.length === alone.length && on.length)
      number = [on.reduce((sum, one) => sum + one.numberOf(index)[0], 0) / on.length, null, null];
    rows.push({ index, metric, number, speed, price, on: on.length, best: 0, highest: 0 });
  });
  const shownMetrics = new Set(rows.map((row) => row.index));
  const bestOn = alone.map((one) => new Set(bestOf(one, shownMetrics)));
  const highestOn = alone.map((one) => one.ranked.find((metric) => shownMetrics.has(metric)));
  const couldBeBest = new Set(board ? bestOf(board, shownMetrics) : []);
  const ranked = rows.filter((row) => row.number);
  for (const row of rows) {
    row.best = bestOn.filter((best) => best.has(row.index)).length;
    row.highest = highestOn.filter((metric) => metric === row.index).length;
    row.couldBeBest = couldBeBest.has(row.index);
    if (!row.number) continue;
    const outcomes = board ? ranked.map((other) => board.outcome(row.index, other.index)) : [];
    row.rank = 1 + ranked.filter((other) => other.number[0] > row.number[0]).length;
    row.span = board && [1 + outcomes.filter((sign) => sign === -1).length, ranked.length - outcomes.filter((sign) => sign === 1).length];
  }
  return { positions, board, alone, rows, bestOn, highestOn };
}

// Tables

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = (value) => (value == null ? "–" : value.toFixed(3).replace("-", "−").replace("0.", "."));
const span = (low, high) => (low == null ? "" : ` [${short(low)}, ${short(high)}]`);
const speedText = (value) => (value == null ? "–" : whole.format(value) === "0" ? shown(value) : whole.format(value));
const namesOf = (metrics) => [...metrics].map((metric) => data.metrics[metric].short).join(", ");

/**
 * Draw a table: columns have key, head, what to sort by, and the cell; the first is the head of the row. A click on a
 * head sorts by it, and its place in the state remembers that.
 */
function drawTable(id, place, columns, rows) {
  const columnOf = (chosen) => columns.find((column) => column.key && column.key === chosen.replace(/^-/, ""));
  // a column that an address names may not be in this view
  const chosen = columnOf(state[place]) ? state[place] : START[place], sorted = columnOf(chosen);
  if (sorted) {
    const sign = chosen.startsWith("-") ? -1 : 1;
    const values = new Map(rows.map((row) => [row, sorted.by(row)]));
    const absent = (value) => value === null || value === undefined;
    rows = [...rows].sort((one, other) => {
      const [a, b] = [values.get(one), values.get(other)];
      // unknown values stand last, however it is sorted
      if (absent(a) || absent(b)) return absent(a) - absent(b);
      return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
    });
  }
  const heads = columns.map((column) => {
    const head = make("th", { scope: "col", class: column.number ? "number" : "" });
    if (column.by) {
      const button = make("button", { type: "button", class: "sorter" }, column.head);
      button.addEventListener("click", () => {
        const down = column === sorted ? !chosen.startsWith("-") : Boolean(column.number);
        change({ [place]: (down ? "-" : "") + column.key });
        byId(id).querySelectorAll("thead th")[columns.indexOf(column)].querySelector("button").focus();
      });
      if (column === sorted) head.ariaSort = chosen.startsWith("-") ? "descending" : "ascending";
      head.append(button);
    } else head.append(make("span", { class: "hidden" }, column.head));
    return head;
  });
  const body = rows.map((row) => {
    const line = make("tr", { class: row.couldBeBest ? "best" : "" });
    for (const column of columns) {
      const attributes = { class: `${column.number ? "number" : ""} ${column.class?.(row) ?? ""}`.trim() };
      if (column.shade) attributes.style = `--shade: ${column.shade(row)}`;
      const cell = column.isName ? make("th", { scope: "row", ...attributes }) : make("td", attributes);
      const content = column.cell(row);
      cell.append(...(Array.isArray(content) ? content : [content]));
      line.append(cell);
    }
    return line;
  });
  byId(id).replaceChildren(byId(id).caption, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body));
}

/** Return an SVG element. */
function drawn(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  element.append(...children);
  return element;
}

function drawMetrics(view) {
  const bounds = view.rows.flatMap((row) => row.number ?? []).filter((value) => value !== null);
  const [least, most] = [Math.min(...bounds), Math.max(...bounds)];
  const x = (value) => 5 + (110 * (value - least)) / (most - least || 1);
  const bar = (row) => {
    if (!row.number) return "";
    const [value, low, high] = row.number;
    const parts = [];
    if (least < 0 && most > 0) parts.push(drawn("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: 16 }));
    if (low !== null) parts.push(drawn("line", { class: "range", x1: x(low), x2: x(high), y1: 8, y2: 8 }));
    return drawn("svg", { viewBox: "0 0 120 16", "aria-hidden": "true" }, ...parts, drawn("circle", { cx: x(value), cy: 8, r: 4 }));
  };
  const compared = comparedMetrics();
  const tick = (row) => {
    const box = make("input", { type: "checkbox", "aria-label": `Compare ${row.metric.short}` });
    box.checked = compared.includes(row.index);
    box.addEventListener("change", () => {
      const others = comparedMetrics().filter((metric) => metric !== row.index).slice(-1);
      const names = (box.checked ? [...others, row.index] : others).map((metric) => data.metrics[metric].name);
      change({ compare: names.length ? JSON.stringify(names) : "" });
      byId("metrics").querySelector(`[aria-label="${CSS.escape(`Compare ${row.metric.short}`)}"]`)?.focus();
    });
    return box;
  };
  const several = view.positions.length > 1;
  const symbol = data.statistics.find((one) => one.name === state.statistic).symbol;
  const fresh = (row) => view.board?.freshOf(row.index)?.map((bound) => bound ?? null) ?? [];
  const columns = [
    { head: "Compare", cell: tick },
    { key: "rank", head: "rank", number: true, by: (row) => row.rank && -row.rank, cell: (row) => (!row.rank ? "–" : `${row.rank}${row.span && row.span[0] !== row.span[1] ? ` (${row.span[0]}–${row.span[1]})` : ""}`) },
    { key: "name", head: "metric", isName: true, by: (row) => row.metric.short, cell: (row) => [make("span", { title: row.metric.name }, row.metric.short), ...(row.couldBeBest ? [make("span", { class: "badge" }, "best?")] : [])] },
    { key: "value", head: several ? `mean ${symbol}` : symbol, number: true, by: (row) => row.number?.[0] ?? null, cell: (row) => (row.number ? short(row.number[0]) + span(row.number[1], row.number[2]) : "–") },
    { head: "interval", class: () => "bar-cell", cell: bar },
    ...(view.board?.letters.length ? [{ key: "alike", head: "alike", by: (row) => view.board.letterOf(row.index), cell: (row) => view.board.letterOf(row.index) || "–" }] : []),
  ];
  if (several) {
    const of = (count) => `${count} of ${view.positions.length}`;
    columns.push({ key: "best", head: "could be best on", number: true, by: (row) => row.best, cell: (row) => of(row.best) });
    columns.push({ key: "highest", head: "highest on", number: true, by: (row) => row.highest, cell: (row) => String(row.highest) });
    if (view.board?.fresh.length) columns.push({ key: "fresh", head: "on a dataset not seen", number: true, by: (row) => fresh(row)[0] ?? null, cell: (row) => (fresh(row)[0] == null ? "–" : `${short(fresh(row)[0])} to ${short(fresh(row)[1])}`) });
    if (view.rows.some((row) => row.on < view.positions.length)) columns.push({ key: "on", head: "scored", number: true, by: (row) => row.on, cell: (row) => of(row.on) });
  }
  if (view.rows.some((row) => row.speed !== null)) columns.push({ key: "speed", head: "pairs/s", number: true, by: (row) => row.speed, cell: (row) => speedText(row.speed) });
  if (view.rows.some((row) => row.price)) columns.push({ key: "price", head: "price per 1,000", number: true, by: (row) => row.price, cell: (row) => (row.price === null ? "–" : shown(row.price)) });
  if (new Set(data.metrics.map((metric) => metric.kind)).size > 1) columns.push({ key: "kind", head: "kind", by: (row) => row.metric.kind, cell: (row) => row.metric.kind });
  drawTable("metrics", "sort", columns, view.rows);
  const reasons = view.board ? view.rows.filter((row) => view.board.others[row.index]) : [];
  byId("others").textContent = reasons.map((row) => `${row.metric.short}: ${view.board.others[row.index]}.`).join(" ");
}

/** Say what the table says, in words. */
function drawAnswer(view) {
  const counted = `${view.positions.length} ${view.positions.length === 1 ? "dataset" : "datasets"}`;
  const parts = [`${view.rows.length} of ${data.metrics.length} metrics on ${counted} of ${data.sets.length}`];
  if (view.board) parts[0] += `, ${whole.format(view.board.n)} pairs`;
  const first = view.rows.filter((row) => row.rank === 1)[0];
  if (first) parts.push(`The highest is ${first.metric.short}, ${short(first.number[0])}${span(first.number[1], first.number[2])}`);
  const isTested = !view.board || view.board.ranked.length < 2 || /[^.]/.test(view.board.signs);
  const others = view.rows.filter((row) => row.couldBeBest && row !== first).sort((one, other) => one.rank - other.rank);
  if (!isTested) parts.push("Too few pairs or groups of pairs for a test, so that no metric is ruled out");
  else if (others.length) parts.push(`Could be the best, too: ${namesOf(others.map((row) => row.index))}`);
  else if (first?.couldBeBest && view.rows.length > 1) parts.push("No other could be the best");
  if (!view.board && view.positions.length > 1) parts.push("No test was made over exactly these datasets: their means have no intervals and ties are unknown");
  byId("answer").textContent = `${parts.join(". ")}.`;
}

function drawSets(view) {
  const rows = view.positions.map((position, at) => {
    const highest = view.highestOn[at], board = view.alone[at];
    return { set: data.sets[position], board, highest, number: highest === undefined ? null : board.numberOf(highest), best: view.bestOn[at] };
  });
  const tied = (row) => [...row.best].filter((metric) => metric !== row.highest);
  drawTable("sets", "sets", [
    { key: "name", head: "dataset", isName: true, by: (row) => row.set.title, cell: (row) => row.set.title },
    { key: "highest", head: "highest", by: (row) => (row.number ? namesOf([row.highest]) : null), cell: (row) => (row.number ? namesOf([row.highest]) : "–") },
    { key: "value", head: data.statistics.find((one) => one.name === state.statistic).symbol, number: true, by: (row) => row.number?.[0] ?? null, cell: (row) => (row.number ? short(row.number[0]) + span(row.number[1], row.number[2]) : "–") },
    { key: "ties", head: "could be best, too", by: (row) => tied(row).length, cell: (row) => namesOf(tied(row)) || "–" },
    { key: "task", head: "task", by: (row) => row.set.tasks.join(", "), cell: (row) => row.set.tasks.join(", ") || "–" },
    { key: "language", head: "language", by: (row) => row.set.language, cell: (row) => row.set.language || "–" },
    { key: "pairs", head: "pairs", number: true, by: (row) => row.board.n, cell: (row) => whole.format(row.board.n) },
    { key: "licence", head: "licence", by: (row) => row.set.licence, cell: (row) => make("span", { title: row.set.terms }, row.set.licence || "–") },
  ], rows);
}

function drawMatrix(view) {
  if (!byId("matrix").open) return;
  const columns = view.positions.map((position, at) => ({
    key: `set${position}`, head: data.sets[position].title, number: true,
    by: (row) => view.alone[at].numberOf(row.index)?.[0] ?? null,
    cell: (row) => short(view.alone[at].numberOf(row.index)?.[0]),
    class: (row) => (view.bestOn[at].has(row.index) ? "best" : ""),
    shade: (row) => Math.round(30 * Math.max(0, view.alone[at].numberOf(row.index)?.[0] ?? 0)),
  }));
  const name = { key: "name", head: "metric", isName: true, by: (row) => row.metric.short, cell: (row) => row.metric.short };
  const byRank = [...view.rows].sort((one, other) => (one.rank ?? 1e9) - (other.rank ?? 1e9));
  drawTable("cells", "cells", [name, ...columns], byRank);
}

// The file of the table

/** Return the shown numbers as CSV: the means first, then each dataset. */
function csv(view) {
  const quoted = (value) => (/[",\n\r]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  const lines = [["dataset", "bucket", "metric", "statistic", "value", "low", "high", "n", "could_be_best"]];
  const add = (title, row, number, n, best) => number && lines.push([title, state.bucket, row.metric.name, state.statistic, ...number, n, best]);
  if (view.positions.length > 1)
    for (const row of view.rows) add(`mean over ${view.positions.length} datasets`, row, row.number, view.board?.n, view.board ? row.couldBeBest : "");
  view.positions.forEach((position, at) => {
    for (const row of view.rows) add(data.sets[position].title, row, view.alone[at].numberOf(row.index), view.alone[at].n, view.bestOn[at].has(row.index));
  });
  return lines.map((line) => line.map(quoted).join(",") + "\r\n").join("");
}

// Filters and the address

function makeFilters() {
  const distinct = (values) => [...new Set(values)].filter(Boolean).sort((one, other) => one.localeCompare(other));
  const every = (values, word) => [["", word], ...distinct(values).map((value) => [value, value])];
  const list = (key, label, choices) => choices.length > 1 && make("label", {}, label, make("select", { name: key }, ...choices.map(([value, text]) => make("option", { value }, text))));
  const number = (key, label) => make("label", {}, label, make("input", { name: key, type: "number", min: "0", step: "any" }));
  const everyBoard = Object.values(data.boards).flatMap((one) => Object.values(one)).flatMap((one) => Object.values(one));
  const everyCost = everyBoard.flatMap((board) => Object.values(board.costs));
  byId("filters").append(...[
    list("task", "Task", every(data.sets.flatMap((set) => set.tasks), "all tasks")),
    list("language", "Language", every(data.sets.map((set) => set.language), "all languages")),
    list("licence", "Licence of the data", every(data.sets.map((set) => set.licence), "all licences")),
    list("set", "Dataset", every(data.sets.map((set) => set.title), "all datasets")),
    list("bucket", "Pairs", Object.keys(data.boards).map((name) => [name, name === "all" ? "all pairs" : name])),
    list("statistic", "Statistic", data.statistics.map((one) => [one.name, one.title])),
    list("kind", "Kind of metric", every(data.metrics.map((metric) => metric.kind), "all kinds")),
    make("label", {}, "Metric contains", make("input", { name: "q", type: "search" })),
    everyCost.some((cost) => cost[0] !== null) && number("speed", "Pairs/s, at least"),
    everyCost.some((cost) => cost[1]) && number("price", "Price per 1,000, at most"),
    make("button", { type: "button", id: "clear" }, "Clear"),
  ].filter(Boolean));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", (event) => change({ [event.target.name]: event.target.value }));
  byId("clear").addEventListener("click", () => change(START));
}

/** The values of the address that are of no filter; what they name and the page lacks is passed over when it is drawn. */
const WITHOUT_FIELD = ["sort", "sets", "duels", "cells", "compare"];

/** Return the state that the address holds; filters that the page lacks, and values that a filter refuses, are left out. */
function readAddress() {
  const named = new URLSearchParams(location.hash.slice(1));
  const read = { ...START };
  for (const key in START) {
    const field = byId("filters").elements[key];
    const value = named.get(key);
    if (value === null || !(field || WITHOUT_FIELD.includes(key))) continue;
    if (field) {
      // a list is empty after a value that it lacks, and a number after anything else
      field.value = value;
      if (field.value !== value || !field.checkValidity()) continue;
    }
    read[key] = value;
  }
  return read;
}

function change(changes) {
  state = { ...state, ...changes };
  const named = new URLSearchParams();
  for (const key in START) if (state[key] !== START[key]) named.set(key, state[key]);
  history.replaceState(null, "", `#${named}`);
  draw();
}

function draw() {
  for (const key in START) {
    const field = byId("filters").elements[key];
    if (field && field.value !== state[key]) field.value = state[key];
  }
  const view = selected();
  drawAnswer(view);
  drawMetrics(view);
  drawSets(view);
  drawMatrix(view);
  drawDuel(view);
  reach();
}

addEventListener("DOMContentLoaded", async () => {
  data = await load("board");
  START.bucket = "all" in data.boards ? "all" : Object.keys(data.boards)[0];
  START.statistic = data.statistics[0].name;
  makeFilters();
  state = readAddress();
  byId("matrix").addEventListener("toggle", () => drawMatrix(selected()));
  byId("download").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([csv(selected())], { type: "text/csv" }));
    make("a", { href: address, download: "leaderboard.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });
  addEventListener("hashchange", () => {
    state = readAddress();
    draw();
  });
  draw();
  document.body.dataset.ready = "";
});
