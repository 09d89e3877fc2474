// The page of a transcript: rows come as the reader scrolls to them and go again when they are far away, so that the
// page stays the same size however long the session is; and what was looked for is marked.
//
// A gap stands for rows that are not on the page: it knows the keys of the rows around it, and its links load from
// either end. Without this module the links are followed by hand, and nothing is ever taken away.

import { keepPlace, topItem } from "./place.js";

// Items further away than this are taken off the page once there are more than so many.
const NEAR_PX = 2_500;
const MOST_ITEMS = 220;
const LOAD_AHEAD = "700px 0px";
const MOST_MARKS = 2_000;

const gapTemplate = document.getElementById("gap-template");
let place = null;
let watcher = null;
const near = new Set();
let isSettling = false;
let isGoingUp = false;
// When the reader asked for the head of the page: on the way there nothing is loaded above, or it would stop them.
let askedForHeadAt = -Infinity;
const WAY_TO_HEAD_MS = 1_000;

function rows() {
  return document.getElementById("rows");
}

const isOnTheWayToHead = () => performance.now() - askedForHeadAt < WAY_TO_HEAD_MS;

function load(gap) {
  const { top, bottom } = gap.getBoundingClientRect();
  // Who has gone up to the head of the page wants to read that: rows would push it away.
  if (gap === rows().firstElementChild && (top >= 0 || isOnTheWayToHead())) return;
  const isBelow = top + bottom > innerHeight;
  const [first, second] = isBelow ? ["next", "previous"] : ["previous", "next"];
  const link = gap.querySelector(`a[data-load-${first}]`) ?? gap.querySelector(`a[data-load-${second}]`);
  if (!link || gap.dataset.loading) return;
  gap.dataset.loading = "yes";
  link.click();
}

function watchGaps() {
  watcher.disconnect();
  near.clear();
  for (const gap of rows()?.querySelectorAll(":scope > [data-gap]") ?? []) watcher.observe(gap);
}

// Rows that came twice, and the name of a zone in the middle of it: pieces are made without knowing their neighbours.
function tidy() {
  const seen = new Set();
  let zone = "";
  for (const item of [...rows().children]) {
    if (item.dataset.zoneLabel === zone || (item.id && seen.has(item.id))) {
      item.remove();
      continue;
    }
    if (item.id) seen.add(item.id);
    const name = item.className.match(/\bz-(head|middle|tail|none)\b/)?.[1];
    if (name) zone = name;
  }
}

function isFar(item) {
  const { top, bottom } = item.getBoundingClientRect();
  return bottom < -NEAR_PX || top > innerHeight + NEAR_PX;
}

// The items from one end of the page that are far away, up to one that knows its key.
function farItems(items) {
  const far = [];
  for (const item of items) {
    if (!isFar(item) || item.contains(document.activeElement)) break;
    far.push(item);
  }
  return far;
}

function position(key, change) {
  return key ? Number(key.split("-")[0]) + change : null;
}

function makeGap(after, before, lastPosition) {
  const gap = gapTemplate.content.firstElementChild.cloneNode(true);
  const first = position(after, 1) ?? 0;
  const last = position(before, -1) ?? lastPosition;
  gap.dataset.after = after;
  gap.dataset.before = before;
  const words = gapTemplate.dataset.words;
  const shown = (number) => number.toLocaleString("en");
  gap.querySelector(".gap-words").textContent = words.replace("{first}", shown(first)).replace("{last}", shown(last));
  const range = `${after ? `&after=${after}` : ""}${before ? `&before=${before}` : ""}`;
  const [next, previous] = ["next", "previous"].map((name) => gap.querySelector(`a[data-load-${name}]`));
  prepare(next, after, first, range);
  prepare(previous, before, last, `&end=on${range}`);
  return gap;
}

function prepare(link, key, row, range) {
  if (!key) return link.remove();
  link.href = `?row=${row}`;
  link.setAttribute("hx-get", gapTemplate.dataset.address + range);
  link.setAttribute("hx-target", "closest .gap");
  link.setAttribute("hx-swap", "outerHTML");
}

// What is far away on one side becomes one gap. It begins and ends at items that know their keys, and what belongs to
// such an item (a summary behind its rows, a pass in front of them) goes and comes with it.
function drop(items, isAbove) {
  const far = farItems(items);
  const run = isAbove ? far : far.reverse();
  if (isAbove) while (run.length && !run.at(-1).nextElementSibling?.dataset.key) run.pop();
  else while (run.length && !run[0].dataset.key && !("gap" in run[0].dataset)) run.shift();
  if (run.length < 10) return;
  const [first, last] = [run[0], run.at(-1)];
  const after = "gap" in first.dataset ? first.dataset.after : keyBefore(first);
  const before = "gap" in last.dataset ? last.dataset.before : (last.nextElementSibling?.dataset.key ?? "");
  const gap = makeGap(after, before, Number(rows().dataset.last));
  last.after(gap);
  for (const item of run) item.remove();
  globalThis.htmx?.process(gap);
}

function keyBefore(item) {
  for (let one = item.previousElementSibling; one; one = one.previousElementSibling) {
    if (one.dataset.end) return one.dataset.end;
  }
  return "";
}

// Only on the side that the reader leaves: what has just come may be far away, too.
function dropFarItems() {
  const box = rows();
  if (!gapTemplate || box.children.length <= MOST_ITEMS) return;
  const here = topItem(box);
  if (isGoingUp) drop([...box.children].reverse(), false);
  else drop([...box.children], true);
  keepPlace(here);
}

function settle() {
  isSettling = false;
  tidy();
  if (!isOnTheWayToHead()) keepPlace(place);
  place = null;
  dropFarItems();
  watchGaps();
  markFound();
}

// Once for all that one answer brings, and before anything of it is painted.
function settleSoon() {
  if (isSettling) return;
  isSettling = true;
  requestAnimationFrame(settle);
}

// Words that were looked for are marked without touching the page's elements, where the browser can do that.
function patterns() {
  return [...document.querySelectorAll("#find-marks li")].map((mark) => {
    const words = mark.textContent.trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const isSpaced = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d]/u.test(mark.textContent);
    const before = isSpaced ? "(?<![\\p{L}\\p{N}])" : "";
    const behind = isSpaced && mark.dataset.begins === "no" ? "(?![\\p{L}\\p{N}])" : "";
    return new RegExp(before + words.join("[\\s_]+") + behind, "giu");
  });
}

function markFound() {
  if (!globalThis.Highlight || !document.getElementById("find-marks")) return;
  const ranges = [];
  const texts = document.createTreeWalker(rows(), NodeFilter.SHOW_TEXT);
  const wanted = patterns();
  while (texts.nextNode() && ranges.length < MOST_MARKS) {
    for (const pattern of wanted) {
      for (const found of texts.currentNode.data.matchAll(pattern)) {
        const range = new Range();
        range.setStart(texts.currentNode, found.index);
        range.setEnd(texts.currentNode, found.index + found[0].length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

// A hit in the result of a tool call is folded away: it is opened, which also loads a long one.
function openHit() {
  if (!document.querySelector("#find[data-find]") || !location.hash) return;
  const target = document.getElementById(location.hash.slice(1));
  if (target?.matches("li")) target.querySelector("details")?.setAttribute("open", "");
}

function start() {
  if (!rows()) return;
  watcher = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) isIntersecting ? near.add(target) : near.delete(target);
      near.forEach(load);
    },
    { rootMargin: LOAD_AHEAD },
  );
  addEventListener("scroll", () => near.forEach(load), { passive: true });
  addEventListener("keydown", ({ key }) => (askedForHeadAt = key === "Home" ? performance.now() : -Infinity));
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!rows().contains(event.target)) return;
    place = topItem(rows());
    isGoingUp = Boolean(event.detail.requestConfig?.elt?.matches("[data-load-previous]"));
    settleSoon();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const gap = event.target.closest?.("[data-gap]");
    if (gap) gap.dataset.loading = "";
  });
  document.addEventListener("rows-replaced", settleSoon);
  openHit();
  markFound();
  // Gaps next to where the page opens are filled once the place is found that the address names.
  if (document.readyState === "complete") watchGaps();
  else addEventListener("load", () => requestAnimationFrame(watchGaps));
}

start();
