// The replay's player: steps change without a reload, Space plays, the speed is kept in this browser. Every step is a
// page of its own, so without this module the same links load it.

const STEP_MS = 3_200;
const SPEED_KEY = "hermes-sessions-replay-speed";

let timer = 0;
let isPlaying = false;
let isLoading = false;
// Keys pressed while a step is still on its way, in order; few, so that a held key can't run away.
const waiting = [];
const MOST_WAITING = 12;

const byId = (id) => document.getElementById(id);

function speed() {
  const kept = Number(localStorage.getItem(SPEED_KEY));
  return [1, 2, 4].includes(kept) ? kept : 1;
}

function showControls() {
  byId("play").hidden = false;
  byId("speed-field").hidden = false;
  byId("speed").value = String(speed());
  const label = byId("play").querySelector("span");
  label.textContent = isPlaying ? byId("play").dataset.pause : byId("play").dataset.play;
  byId("play").querySelector("use").setAttribute("href", isPlaying ? "#i-pause" : "#i-play");
  byId("play").disabled = !nextLink();
}

function nextLink() {
  return document.querySelector('a[data-key="ArrowRight"]');
}

async function load(href, push) {
  isLoading = true;
  try {
    const answer = await fetch(href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("replay");
    if (!answer.ok || !fresh) {
      location.href = href;
      return;
    }
    show(page, fresh, push ? answer.url : null);
  } finally {
    isLoading = false;
  }
  const link = document.querySelector(`a[data-key="${waiting.shift()}"]`);
  if (link) await load(link.href, true);
}

function show(page, fresh, address) {
  const place = scrollY;
  const focused = document.activeElement?.closest("#replay [data-key], #play, .steps a");
  const key = focused?.dataset.key ?? (focused?.id === "play" ? "play" : null);
  byId("replay").replaceWith(document.importNode(fresh, true));
  document.title = page.title;
  if (address) history.pushState({ replay: true }, "", address);
  showControls();
  for (const button of document.querySelectorAll("#replay [data-copied][hidden]")) button.hidden = !navigator.clipboard;
  scrollTo({ top: Math.min(place, document.documentElement.scrollHeight) });
  if (key === "play") byId("play").focus({ preventScroll: true });
  else if (key) document.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
}

function tick() {
  const link = nextLink();
  if (!link) return stop();
  if (isLoading) return schedule();
  load(link.href, true).then(() => isPlaying && schedule());
}

function schedule() {
  clearTimeout(timer);
  if (nextLink()) timer = setTimeout(tick, STEP_MS / speed());
  else stop();
}

function stop() {
  isPlaying = false;
  clearTimeout(timer);
  showControls();
}

function toggle() {
  if (isPlaying) return stop();
  if (!nextLink()) return;
  isPlaying = true;
  showControls();
  schedule();
}

document.addEventListener("click", (event) => {
  if (event.target.closest("#play")) return toggle();
  const link = event.target.closest("#replay a[data-step], #replay .scrub a");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (isLoading) {
    if (link.dataset.key && waiting.length < MOST_WAITING) waiting.push(link.dataset.key);
    return;
  }
  load(new URL(link.getAttribute("href"), location.href).href, true).then(() => isPlaying && schedule());
});

document.addEventListener("change", (event) => {
  if (event.target.id !== "speed") return;
  localStorage.setItem(SPEED_KEY, event.target.value);
  if (isPlaying) schedule();
});

// Space plays and pauses wherever the focus is, except on something that Space itself operates.
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (document.querySelector("dialog[open]") || event.target.closest("input, textarea, select, summary, button")) return;
  event.preventDefault();
  toggle();
});

addEventListener("popstate", () => {
  waiting.length = 0;
  load(location.href, false);
});
document.addEventListener("visibilitychange", () => document.hidden && isPlaying && stop());

showControls();
