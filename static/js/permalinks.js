// Permalinks inside a page: a click marks the row and puts its address into the address bar without a reload, when the
// row is on the page. Otherwise the plain link loads the part of the session where it lies.

let marked = null;

export function mark(element) {
  marked?.classList.remove("is-target");
  marked = element;
  element?.classList.add("is-target");
}

function openAround(element) {
  for (let box = element.closest("details"); box; box = box.parentElement?.closest("details")) box.open = true;
}

function markFromAddress() {
  const element = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (!element) return;
  openAround(element);
  mark(element);
  element.scrollIntoView({ block: "center" });
}

export function startPermalinks() {
  markFromAddress();
  addEventListener("hashchange", markFromAddress);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-permalink]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const element = document.getElementById(new URL(link.href).hash.slice(1));
    if (!element) return;
    event.preventDefault();
    history.pushState(null, "", link.href);
    openAround(element);
    mark(element);
  });
}
