// The session list's filters: parameters that say nothing stay out of the address.

function isSilent(name, value) {
  return value === "" || (name === "sort" && value === "activity");
}

document.addEventListener("htmx:configRequest", (event) => {
  const { elt, formData } = event.detail;
  if (!elt.matches?.("[data-filters]") || !formData) return;
  for (const [name, value] of [...formData.entries()]) if (isSilent(name, value)) formData.delete(name);
});
