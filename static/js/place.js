// The place of the reader on a page of rows: after items came or went, what was under their eyes is there again.

// The first item the reader sees, and where.
export function topItem(root) {
  const item = [...root.querySelectorAll(".item[id]")].find((one) => one.getBoundingClientRect().bottom > 0);
  return item ? { id: item.id, top: item.getBoundingClientRect().top, position: item.dataset.position } : null;
}

export function keepPlace(place) {
  const item = place && document.getElementById(place.id);
  if (item) scrollBy({ top: item.getBoundingClientRect().top - place.top, behavior: "instant" });
}
