// How a transcript is looked at: dense or roomy, with the calls folded or open. The density is kept in this browser.

const DENSITY_KEY = "hermes-sessions-density";

function showDensity(value) {
  const root = document.documentElement;
  if (value === "compact") root.dataset.density = "compact";
  else delete root.dataset.density;
  for (const button of document.querySelectorAll("[data-density-switch]")) {
    button.setAttribute("aria-pressed", String(value === "compact"));
  }
}

// Long results are loaded when their call is opened; opening all calls must not ask for all of them at once.
function fold(isOpen) {
  for (const details of document.querySelectorAll("#rows .row details")) {
    if (!isOpen || !details.querySelector(".later")) details.open = isOpen;
  }
}

export function startView() {
  document.documentElement.dataset.scripts = "yes";
  showDensity(localStorage.getItem(DENSITY_KEY));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-fold], [data-density-switch]");
    if (!button) return;
    if (button.dataset.fold) return fold(button.dataset.fold === "open");
    const value = document.documentElement.dataset.density === "compact" ? "roomy" : "compact";
    localStorage.setItem(DENSITY_KEY, value);
    showDensity(value);
  });
  document.addEventListener("session-updated", () => showDensity(localStorage.getItem(DENSITY_KEY)));
}
