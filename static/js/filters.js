// The session list: parameters of its filters that say nothing stay out of the address, and its lines are kept up to date.

function isSilent(name, value) {
  return value === "" || (name === "sort" && value === "activity");
}

document.addEventListener("htmx:configRequest", (event) => {
  const { elt, formData } = event.detail;
  if (!elt.matches?.("[data-filters]") || !formData) return;
  for (const [name, value] of [...formData.entries()]) if (isSilent(name, value)) formData.delete(name);
});

// Lines of the list are kept up to date in their place: dots, counts and times. The order stays as it was read, and a
// search is not made again by itself.
const REFRESH_EVERY_MS = 15_000;

function refreshLine(line, fresh) {
  for (const [index, cell] of [...line.cells].entries()) {
    const part = fresh.cells[index];
    const isOld = part && cell.innerHTML !== part.innerHTML && !cell.contains(document.activeElement);
    if (isOld) cell.replaceWith(document.importNode(part, true));
  }
}

async function refreshLines() {
  if (document.hidden || new URL(location.href).searchParams.get("q")) return;
  const answer = await fetch(location.href, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(`<body>${await answer.text()}`, "text/html");
  for (const line of document.querySelectorAll("tr[data-session]")) {
    const part = fresh.querySelector(`tr[data-session="${CSS.escape(line.dataset.session)}"]`);
    if (part) refreshLine(line, part);
  }
}

setInterval(refreshLines, REFRESH_EVERY_MS);
document.addEventListener("visibilitychange", refreshLines);
