// Copy buttons: `data-copy="#id"` copies that element's text, `data-copy-text` its own value, `data-copy-row` its row. They are hidden where the
// browser has no clipboard (plain HTTP on another host), so none of them is ever dead.

const SHOWN_MS = 1600;

function textFor(button) {
  if (button.dataset.copyText !== undefined) return button.dataset.copyText;
  if (button.dataset.copyAddress !== undefined) return new URL(button.dataset.copyAddress, location.href).href;
  if (button.dataset.copyRow !== undefined) return button.closest(".row").querySelector(".row-body").innerText.trim();
  return document.querySelector(button.dataset.copy)?.textContent ?? "";
}

async function copy(button) {
  await navigator.clipboard.writeText(textFor(button));
  const label = button.textContent;
  button.textContent = button.dataset.copied;
  setTimeout(() => (button.textContent = label), SHOWN_MS);
}

function reveal(root) {
  for (const button of root.querySelectorAll("[data-copied][hidden]")) button.hidden = false;
}

export function startCopyButtons() {
  if (!navigator.clipboard) return;
  reveal(document);
  document.addEventListener("htmx:afterSwap", (event) => reveal(event.target.isConnected ? event.target : document));
  document.addEventListener("session-updated", () => reveal(document));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copied]");
    if (button && button.textContent !== button.dataset.copied) copy(button);
  });
}
