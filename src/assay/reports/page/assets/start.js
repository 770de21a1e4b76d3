// Starts what needs no data at once, and what needs it as soon as it is there.

for (const section of document.querySelectorAll("[data-views]")) startViews(section);
for (const table of document.querySelectorAll("table.sortable")) startSorting(table);
startFilter(document.getElementById("agreement"));
reach();
startFolds();

addEventListener("DOMContentLoaded", async () => {
  if (!document.querySelector("[id^=data-unit-]")) return;
  await startExplorer();
  performance.mark("ready");
  await startScatter();
});
