// What the theme makes when a page is opened, named for screen readers and reachable by the keyboard.
const name = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  // a corner of a table without words heads nothing
  document.querySelectorAll("th:empty:not([role])").forEach((corner) => corner.setAttribute("role", "cell"));
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((buttons) => {
    buttons.setAttribute("aria-label", `Code ${1 + [...document.querySelectorAll(".md-code__nav")].indexOf(buttons)}`);
  });
  document.querySelectorAll("nav[data-md-level]:not([aria-label])").forEach((part) => {
    const title = part.querySelector(".md-nav__title")?.textContent.trim() ?? "";
    part.removeAttribute("aria-labelledby");
    part.setAttribute("aria-label", `${title}, ${[...document.querySelectorAll("nav[data-md-level]")].indexOf(part) + 1}`);
  });
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) wide.setAttribute("tabindex", "0");
};
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
name();
