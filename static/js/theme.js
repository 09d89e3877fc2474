// The theme switch without a reload. The form does the same on its own: it posts the next theme and comes back.

const ORDER = ["auto", "light", "dark"];

function show(theme, words) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const next = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
  for (const form of document.querySelectorAll("[data-theme-form]")) {
    form.elements.theme.value = next;
    form.querySelector("button").textContent = words.get(theme) ?? theme;
  }
  document.dispatchEvent(new CustomEvent("theme-changed"));
}

async function change(event) {
  event.preventDefault();
  const form = event.currentTarget;
  const theme = form.elements.theme.value;
  const answer = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
  if (answer.type === "opaqueredirect" || answer.ok) show(theme, wordsOf(form));
  else form.submit();
}

function wordsOf(form) {
  return new Map(ORDER.map((theme) => [theme, form.dataset[theme]]));
}

export function startThemeSwitch() {
  for (const form of document.querySelectorAll("[data-theme-form]")) form.addEventListener("submit", change);
}
