// The settings form while it is typed into: fields in error are marked as such, the group in sight is marked in the list of
// groups, and leaving with changes that are not saved asks first. The figures come from the server (htmx).

const form = document.querySelector("[data-settings]");

function markOptions() {
  for (const option of form.querySelectorAll("[data-option]")) {
    const field = document.getElementById(option.dataset.option);
    const isInvalid = option.querySelector(".opt-error") !== null;
    if (isInvalid) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    option.classList.toggle("is-set", option.querySelector(".tag:not(.tag-summary)") !== null);
    option.classList.toggle("is-idle", option.querySelector(".opt-idle") !== null);
  }
}

function fieldsOf(element) {
  return new URLSearchParams(
    [...new FormData(element)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && typeof value === "string"),
  ).toString();
}

function markGroupInSight() {
  const links = [...form.querySelectorAll(".toc a")];
  const groups = links.map((link) => document.querySelector(link.getAttribute("href")));
  const mark = () => {
    const passed = groups.filter((group) => group.getBoundingClientRect().top < innerHeight / 3);
    const current = groups.indexOf(passed.at(-1) ?? groups[0]);
    links.forEach((link, index) => (index === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}

if (form) {
  document.documentElement.classList.add("with-scripts");
  const saved = fieldsOf(form);
  let isSaving = false;
  form.addEventListener("submit", () => (isSaving = true));
  form.querySelector("[data-discard]")?.addEventListener("click", () => (isSaving = true));
  addEventListener("beforeunload", (event) => {
    if (!isSaving && form.dataset.leave && fieldsOf(form) !== saved) event.preventDefault();
  });
  document.addEventListener("htmx:afterSettle", markOptions);
  document.querySelector("[data-refused]")?.focus();
  markGroupInSight();
}
