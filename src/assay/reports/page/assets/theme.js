// Light or dark colours, and the keyboard where something has to be scrolled sideways.

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

/** Let the keyboard reach what has to be scrolled sideways. */
function reach() {
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);
