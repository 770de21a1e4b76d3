// Two metrics on the shown datasets: a scatter of the datasets, and where each wins.

/** Return the positions of the metrics that are ticked, at most two. */
function comparedMetrics() {
  let names = [];
  try {
    names = JSON.parse(state.compare || "[]");
  } catch {
    // an address that somebody cut
  }
  if (!Array.isArray(names)) return [];
  const known = names.map((name) => data.metrics.findIndex((metric) => metric.name === name)).filter((index) => index >= 0);
  return [...new Set(known)].slice(0, 2);
}

function drawDuel(view) {
  const compared = comparedMetrics();
  const highest = view.rows.filter((row) => row.rank).sort((one, other) => one.rank - other.rank);
  // one ticked metric is compared with the highest other one
  if (compared.length === 1) compared.push(...highest.map((row) => row.index).filter((index) => index !== compared[0]).slice(0, 1));
  byId("duel").hidden = compared.length < 2;
  if (compared.length < 2) return;
  const [first, second] = compared;
  const [a, b] = compared.map((index) => data.metrics[index].short);
  const rows = [];
  view.positions.forEach((position, at) => {
    const [one, other] = compared.map((index) => view.alone[at].numberOf(index)?.[0]);
    if (one === undefined || other === undefined) return;
    rows.push({ set: data.sets[position].title, one, other, difference: one - other, outcome: view.alone[at].outcome(first, second) });
  });
  const wins = (sign) => rows.filter((row) => row.outcome === sign).length;
  const higher = rows.filter((row) => row.difference > 0).length, lower = rows.filter((row) => row.difference < 0).length;
  byId("duel-head").textContent = `${a} and ${b}`;
  const parts = [
    `${a} is known to be better on ${wins(1)} of ${rows.length} datasets, ${b} on ${wins(-1)}`,
    ...(rows.length > 1 ? ["These tests are corrected within each dataset, not across datasets, so that of many datasets one or the other may be by chance"] : []),
    `By its value ${a} is higher on ${higher}, ${b} on ${lower}`,
  ];
  const overall = view.positions.length > 1 ? view.board?.outcome(first, second) : undefined;
  if (overall) parts.push(`By the mean over all of them ${overall > 0 ? a : b} is known to be better`);
  else if (overall === 0) parts.push("By the mean over all of them they cannot be told apart");
  byId("duel-said").textContent = `${parts.join(". ")}.`;
  byId("duel-figure").replaceChildren(scatter(rows, a, b));
  const outcome = (row) => (row.outcome === 1 ? a : row.outcome === -1 ? b : row.outcome === 0 ? "cannot tell" : "not tested");
  drawTable("duels", "duels", [
    { key: "set", head: "dataset", isName: true, by: (row) => row.set, cell: (row) => row.set },
    { key: "one", head: a, number: true, by: (row) => row.one, cell: (row) => short(row.one) },
    { key: "other", head: b, number: true, by: (row) => row.other, cell: (row) => short(row.other) },
    { key: "difference", head: "difference", number: true, by: (row) => row.difference, cell: (row) => (row.difference > 0 ? "+" : "") + short(row.difference) },
    { key: "outcome", head: "known to be better", by: outcome, cell: outcome },
  ], rows);
}

/** Return the drawing of datasets as points: a across, b up; on the line both agree equally with people. */
function scatter(rows, a, b) {
  const values = rows.flatMap((row) => [row.one, row.other]);
  const least = Math.floor(10 * Math.min(0, ...values)) / 10, most = Math.ceil(10 * Math.max(...values, least + 0.1)) / 10;
  const [left, top, side] = [46, 12, 340];
  const x = (value) => left + (side * (value - least)) / (most - least);
  const y = (value) => top + side - (side * (value - least)) / (most - least);
  const parts = [drawn("title", {}, `${b} against ${a} on ${rows.length} datasets`)];
  const step = most - least > 0.8 ? 0.2 : 0.1;
  for (let tick = Math.ceil(least / step - 1e-9) * step; tick <= most + 1e-9; tick += step) {
    const text = short(tick).replace(/(\.\d)00$/, "$1").replace(/^−?\.0$/, "0").replace(/\.000$/, "");
    parts.push(drawn("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: top + side }));
    parts.push(drawn("line", { class: "grid", x1: left, x2: left + side, y1: y(tick), y2: y(tick) }));
    parts.push(drawn("text", { x: x(tick), y: top + side + 16, "text-anchor": "middle" }, text));
    parts.push(drawn("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, text));
  }
  parts.push(drawn("line", { class: "diagonal", x1: x(least), y1: y(least), x2: x(most), y2: y(most) }));
  const mark = (row) => {
    const title = drawn("title", {}, `${row.set}: ${a} ${short(row.one)}, ${b} ${short(row.other)}`);
    if (row.outcome === 1) return drawn("circle", { class: "first", cx: x(row.one), cy: y(row.other), r: 5 }, title);
    if (row.outcome === -1) return drawn("rect", { class: "second", x: x(row.one) - 4.5, y: y(row.other) - 4.5, width: 9, height: 9 }, title);
    return drawn("circle", { class: "open", cx: x(row.one), cy: y(row.other), r: 4 }, title);
  };
  parts.push(...rows.map(mark));
  parts.push(drawn("text", { x: left + side, y: top + side + 34, "text-anchor": "end" }, `${a} →`));
  parts.push(drawn("text", { x: left + 4, y: top + 12, class: "name" }, `↑ ${b}`));
  const key = [["first", `${a} is better`], ["second", `${b} is better`], ["open", "cannot tell"]];
  key.forEach(([kind, text], index) => {
    const at = top + side + 58 + 18 * index;
    parts.push(kind === "second"
      ? drawn("rect", { class: kind, x: left - 0.5, y: at - 8.5, width: 9, height: 9 })
      : drawn("circle", { class: kind, cx: left + 4, cy: at - 4, r: kind === "first" ? 5 : 4 }));
    parts.push(drawn("text", { x: left + 16, y: at }, text));
  });
  return drawn("svg", { viewBox: `0 0 ${left + side + 14} ${top + side + 106}`, role: "img" }, ...parts);
}
