// Pictures that are stored in a row: shown in their place on a click, from this site. Without this module the link opens
// the picture by itself.

export function startPictures() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-picture]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const picture = document.createElement("img");
    picture.src = link.href;
    picture.alt = link.dataset.picture;
    link.replaceWith(picture);
  });
}
