// Starts what needs no data at once, and what needs it as soon as it is there.

const theme = document.getElementById("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => (theme.textContent = isDark() ? "Light colours" : "Dark colours");
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
dark.addEventListener("change", nameTheme);
theme.hidden = false;
nameTheme();

for (const section of document.querySelectorAll("[data-views]")) startViews(section);
for (const table of document.querySelectorAll("table.sortable")) startSorting(table);
startFilter(document.getElementById("agreement"));

/** Let the keyboard reach what has to be scrolled sideways. */
function reach() {
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);
reach();

addEventListener("DOMContentLoaded", async () => {
  if (!document.querySelector("[id^=data-unit-]")) return;
  await startExplorer();
  performance.mark("ready");
  await startScatter();
});
