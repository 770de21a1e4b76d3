// Two metrics against each other: a point a pair, colour and shape by label.

const MOST_POINTS = 2000;
const shapes = [
  (x, y) => `M${x - 3.2} ${y}a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0`,
  (x, y) => `M${x - 4} ${y - 4}l8 8m0-8l-8 8`,
  (x, y) => `M${x} ${y - 4.5}l4.2 7.5h-8.4z`,
  (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
  (x, y) => `M${x} ${y - 4.5}v9m-4.5-4.5h9`,
  (x, y) => `M${x} ${y - 4.5}l4 4.5l-4 4.5l-4-4.5z`,
  (x, y) => `M${x} ${y + 4.5}l4.2-7.5h-8.4z`,
];

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  made.append(...children);
  return made;
}

function startScatter() {
  const at = (name) => document.getElementById("scatter-" + name);
  const unit = at("unit");
  let data, points;

  async function choose() {
    data = await load(unit.value);
    const metrics = data.metrics.map((metric, number) => [number, metric.short]);
    const [best, second] = data.ranking;
    const otherKind = data.ranking.find((one) => data.metrics[one].kind !== data.metrics[best].kind);
    fill(at("x"), metrics, otherKind ?? second);
    fill(at("y"), metrics, best);
    fill(at("bucket"), [["", "all"], ...data.buckets.map((bucket, number) => [number, bucket])]);
    draw();
  }

  function draw() {
    if (!data.metrics.length) return;
    const [x, y] = ["x", "y"].map((name) => data.columns["score-" + at(name).value]);
    const inside = at("bucket").value === "" ? null : data.columns["bucket-" + at("bucket").value];
    const rows = [];
    for (let row = 0; row < data.n; row++) {
      if ((!inside || inside[row]) && Number.isFinite(x[row]) && Number.isFinite(y[row])) rows.push(row);
    }
    const step = Math.ceil(rows.length / MOST_POINTS);
    points = rows.filter((_, number) => number % step === 0);
    const names = ["x", "y"].map((name) => data.metrics[at(name).value].short);
    at("figure").replaceChildren(picture(points, x, y, names));
    const count = (number) => number.toLocaleString("en");
    const left = (inside ? inside.reduce((sum, one) => sum + one, 0) : data.n) - rows.length;
    at("said").textContent =
      (step > 1 ? `${count(points.length)} of ${count(rows.length)} pairs: one in ${step}, in the order of the data.` : `All ${count(rows.length)} pairs.`) +
      (left ? ` ${count(left)} without one of the scores left out.` : "") + " Colour and shape give the human label.";
    table();
  }

  function picture(rows, x, y, names) {
    const [wide, high, left, bottom] = [640, 460, 60, 44];
    const across = axis(rows, x, left, wide - 130);
    const up = axis(rows, y, high - bottom, 12);
    const title = drawn("title", { id: "scatter-title" }, `${names[1]} against ${names[0]}`);
    const about = drawn("desc", { id: "scatter-about" }, `A point for each of ${rows.length} pairs; colour and shape give the human label.`);
    const svg = drawn("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-labelledby": "scatter-title scatter-about" }, title, about);
    for (const mark of across.marks) {
      svg.append(drawn("line", { class: "grid", x1: across.place(mark), x2: across.place(mark), y1: 12, y2: high - bottom }));
      svg.append(drawn("text", { class: "muted", x: across.place(mark), y: high - bottom + 16, "text-anchor": "middle" }, shown(mark)));
    }
    for (const mark of up.marks) {
      svg.append(drawn("line", { class: "grid", y1: up.place(mark), y2: up.place(mark), x1: left, x2: wide - 130 }));
      svg.append(drawn("text", { class: "muted", x: left - 8, y: up.place(mark) + 4, "text-anchor": "end" }, shown(mark)));
    }
    svg.append(drawn("text", { x: wide - 130, y: high - 6, "text-anchor": "end" }, names[0] + " →"));
    svg.append(drawn("text", { x: -12, y: 14, "text-anchor": "end", transform: "rotate(-90)" }, names[1] + " →"));
    svg.append(drawn("text", { class: "muted", x: wide - 112, y: 24 }, "human label"));
    data.classes.forEach((name, code) => {
      const own = rows.filter((row) => data.columns.class[row] === code);
      const shape = shapes[code % shapes.length];
      const style = { class: "points", stroke: `var(--class-${code})` };
      const path = own.map((row) => shape(round(across.place(x[row])), round(up.place(y[row])))).join("");
      svg.append(drawn("path", { ...style, d: path }));
      svg.append(drawn("path", { ...style, d: shape(wide - 106, 42 + 20 * code) }));
      svg.append(drawn("text", { x: wide - 94, y: 46 + 20 * code }, `${name} (${own.length.toLocaleString("en")})`));
    });
    return svg;
  }

  function table() {
    const behind = at("behind");
    if (!behind.open) return;
    const columns = [at("x").value, at("y").value];
    const heads = ["pair", ...columns.map((one) => data.metrics[one].name), "label"];
    const body = make("tbody", {});
    for (const row of points) {
      const cells = [data.ids[row], ...columns.map((one) => shown(data.columns["score-" + one][row])), shown(data.columns.label[row])];
      body.append(make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
    }
    const head = make("thead", {}, make("tr", {}, ...heads.map((one) => make("th", { scope: "col" }, one))));
    behind.querySelector(".scroll").replaceChildren(make("table", {}, make("caption", {}, "Points of the scatter"), head, body));
  }

  unit.addEventListener("change", choose);
  for (const name of ["x", "y", "bucket"]) at(name).addEventListener("change", draw);
  at("behind").addEventListener("toggle", table);
  const section = document.getElementById("scatter");
  for (const part of section.querySelectorAll("form, figure")) part.hidden = false;
  return choose();
}

const round = (value) => Math.round(value * 10) / 10;

/** Return where values stand between two coordinates, and round numbers to mark. */
function axis(rows, values, from, to) {
  let low = Infinity, high = -Infinity;
  for (const row of rows) {
    low = Math.min(low, values[row]);
    high = Math.max(high, values[row]);
  }
  if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 0.5, low + 0.5] : [0, 1];
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
  const marks = Array.from({ length: last - first + 1 }, (_, number) => (first + number) * step);
  const place = (value) => from + ((value - first * step) / ((last - first) * step)) * (to - from);
  return { marks, place };
}
