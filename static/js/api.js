// The page of the API follows the system's theme where the reader chose none: its styles know dark by a class.
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");

function follow() {
  root.classList.toggle("dark-mode", dark.matches);
}

if (root.dataset.theme === "auto") {
  follow();
  dark.addEventListener("change", follow);
}
