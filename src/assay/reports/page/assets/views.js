// Sections with several views of the same thing show those that their lists pick.

function startViews(section) {
  const form = section.querySelector("form");
  const lists = [...form.querySelectorAll("[data-pick]")];
  const views = [...section.querySelectorAll(".view")];
  const fits = (view, list) => {
    const own = view.dataset[list.dataset.pick];
    return own === undefined || list.value === "" || own === list.value;
  };
  const show = () => {
    for (const list of lists) keepPossible(list, lists, views);
    for (const view of views) view.toggleAttribute("data-alternative", !lists.every((list) => fits(view, list)));
  };
  form.hidden = lists.length === 0 && !form.querySelector("input");
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const list of lists) list.addEventListener("change", show);
  show();
}

/** Open what is folded where a link leads. */
function startFolds() {
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target?.closest("section")?.querySelector(":scope > .fold");
    if (fold) fold.open = true;
  };
  addEventListener("hashchange", open);
  // a second click on a link changes no address
  document.addEventListener("click", (event) => event.target.closest("a[href^='#']") && setTimeout(open));
  open();
}

/** Let a list offer only what the dataset chosen beside it has. */
function keepPossible(list, lists, views) {
  const units = lists.find((one) => one.dataset.pick === "unit");
  const key = list.dataset.pick;
  if (!units || list === units || !views.some((view) => view.dataset[key] !== undefined)) return;
  const unit = units.value;
  const having = new Set(
    views.filter((view) => unit === "" || !view.dataset.unit || view.dataset.unit === unit).map((view) => view.dataset[key])
  );
  if (unit !== "" && !having.has(list.value) && views.some((view) => view.dataset.unit && view.dataset[key])) {
    list.value = [...list.options].map((option) => option.value).find((value) => having.has(value)) ?? list.value;
  }
  for (const option of list.options) option.disabled = option.value !== "" && !having.has(option.value);
}
