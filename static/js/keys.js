// Keys: j k items, J K user rows, c C passes, [ ] sessions, / search, ? help, Esc close. Never inside fields, never
// with modifiers (Shift only where the sign needs it). A page says what the keys mean by attributes: `data-item` on
// what j and k walk over, `data-user-item` for J and K, `data-pass-item` for c and C, and `data-key="c"` on plain
// links to follow where nothing is left to walk to.

import { mark } from "./permalinks.js";

const WALKS = new Map([
  ["j", ["[data-item]", 1]],
  ["k", ["[data-item]", -1]],
  ["J", ["[data-user-item]", 1]],
  ["K", ["[data-user-item]", -1]],
  ["c", ["[data-pass-item]", 1]],
  ["C", ["[data-pass-item]", -1]],
]);

let current = null;

function isTyping(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  const target = event.target;
  return target.isContentEditable || target.matches?.("input, textarea, select");
}

function isVisible(element) {
  return element.getClientRects().length > 0;
}

// The first item past the place where the reader is: the item last walked to, else the top of the window.
function neighbour(selector, direction) {
  const items = [...document.querySelectorAll(selector)].filter(isVisible);
  const here = current?.isConnected && isVisible(current) ? current : null;
  const isPast = (item) => {
    if (!here) return item.getBoundingClientRect().top >= 0;
    const place = here.compareDocumentPosition(item);
    return Boolean(place & (direction > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING));
  };
  if (direction < 0) items.reverse();
  return here ? items.find((item) => item !== here && isPast(item)) : items.find(isPast) ?? items[0];
}

function walkTo(item) {
  current = item;
  mark(item);
  const focusable = item.matches("a, summary, [tabindex]") ? item : item.querySelector("a, summary, [tabindex]");
  focusable?.focus({ preventScroll: true });
  const tall = item.getBoundingClientRect().height > innerHeight * 0.8;
  item.scrollIntoView({ block: tall ? "start" : "nearest" });
}

function follow(key) {
  const link = document.querySelector(`a[data-key="${CSS.escape(key)}"]`);
  link?.click();
  return Boolean(link);
}

function walk(key) {
  const [selector, direction] = WALKS.get(key);
  const item = neighbour(selector, direction);
  if (item) walkTo(item);
  return item ? true : follow(key);
}

function focusSearch() {
  const field = document.querySelector("[data-search]");
  field?.focus();
  field?.select();
  return Boolean(field);
}

function showHelp() {
  const help = document.getElementById("help");
  help?.showModal();
  return Boolean(help);
}

function act(key) {
  if (WALKS.has(key)) return walk(key);
  if (key === "/") return focusSearch();
  if (key === "?") return showHelp();
  return follow(key);
}

export function startKeys() {
  // What was searched for is on its way: the next keys are for what is found.
  document.addEventListener("keyup", (event) => {
    if (event.key === "Enter" && event.target.matches?.("[data-search]")) event.target.blur();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches?.("[data-search]")) event.target.blur();
    if (event.defaultPrevented || isTyping(event) || document.querySelector("dialog[open]")) return;
    const focusesControl = event.target.closest?.("button, a, summary") && [" ", "Enter"].includes(event.key);
    if (!focusesControl && act(event.key)) event.preventDefault();
  });
}
