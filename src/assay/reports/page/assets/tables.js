// Tables that are sorted by their heads, and the filter of the agreement tables.

function startSorting(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make("button", { type: "button", class: "sorter" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const text = head.dataset.sort === "text";
      const down = head.ariaSort ? head.ariaSort === "ascending" : !text;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.ariaSort = down ? "descending" : "ascending";
      sortRows(table.tBodies[0], column, text, down ? -1 : 1);
    });
  });
}

function sortRows(body, column, text, sign) {
  const key = (row) => {
    const cell = row.cells[column];
    return text ? cell.textContent : cell.dataset.value === "" ? null : Number(cell.dataset.value);
  };
  const compare = (one, other) => {
    if (text) return sign * one[0].localeCompare(other[0]);
    // undefined values stand last, however it is sorted
    if (one[0] === null || other[0] === null) return (one[0] === null) - (other[0] === null);
    return sign * (one[0] - other[0]);
  };
  body.append(...[...body.rows].map((row) => [key(row), row]).sort(compare).map((pair) => pair[1]));
}

function startFilter(section) {
  const metric = section.querySelector("[data-filter=metric]");
  const bucket = section.querySelector("[data-pick=bucket]");
  const said = section.querySelector(".said");
  const rows = [...section.querySelectorAll("tr[data-metric]")];
  const names = new Set(rows.map((row) => row.dataset.metric));
  const filter = () => {
    const wanted = metric.value.trim().toLowerCase();
    const fits = (name) => name.toLowerCase().includes(wanted);
    for (const row of rows) row.hidden = !fits(row.dataset.metric);
    for (const line of section.querySelectorAll("svg [data-metric]")) line.classList.toggle("dim", !fits(line.dataset.metric));
    const other = (one) => bucket.value !== "" && one.dataset.bucket !== bucket.value;
    for (const cell of section.querySelectorAll("th[data-bucket], td[data-bucket]")) cell.hidden = other(cell);
    for (const panel of section.querySelectorAll("svg[data-bucket]")) panel.toggleAttribute("hidden", other(panel));
    const left = [...names].filter(fits).length;
    said.textContent = wanted ? `${left} of ${names.size} metrics` : "";
  };
  metric.addEventListener("input", filter);
  bucket.addEventListener("change", filter);
}
