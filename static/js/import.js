// The import form's drop area: names of the chosen files, and files that are dropped on it.

const form = document.querySelector(".import-form");

function show(input, list) {
  list.replaceChildren();
  for (const file of input.files) {
    const item = document.createElement("li");
    item.textContent = `${file.name}, ${(file.size / 1000).toLocaleString("en", { maximumFractionDigits: 1 })} kB`;
    list.append(item);
  }
  list.hidden = input.files.length === 0;
}

if (form) {
  const area = form.querySelector("[data-drop]");
  const input = form.querySelector("input[type=file]");
  const list = form.querySelector("[data-chosen]");
  input.addEventListener("change", () => show(input, list));
  for (const name of ["dragover", "dragenter"]) {
    area.addEventListener(name, (event) => {
      event.preventDefault();
      area.classList.add("is-over");
    });
  }
  for (const name of ["dragleave", "drop"]) area.addEventListener(name, () => area.classList.remove("is-over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    show(input, list);
  });
}
