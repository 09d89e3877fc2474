// The live connection of a session's page: one websocket that says by number what is new, and HTTP that fetches it.
//
// The socket tells {"type": "snapshot" | "event" | "heartbeat" | "resync", "seq": n}. Whatever it says, the page asks
// for everything after the last event it has shown, so a lost message costs nothing and a gap closes itself. Silence
// longer than two heartbeats means that the connection is dead although nobody said so. The page pauses while it is
// hidden or offline and catches up when it is looked at again. Some close codes, and some answers to what is fetched,
// end the connection for good.

import { keepPlace, topItem } from "./place.js";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const REFRESH_EVERY_MS = 1_500;
// The site says something every 15 seconds.
const SILENCE_MS = 40_000;
const LISTEN_EVERY_MS = 5_000;
// A request into a connection that is dead would wait for ever, and with it all that come after.
const ANSWER_WITHIN_MS = 30_000;
// After a broken connection of the site all pages are told to catch up, and should not do so in the same moment.
const RESYNC_WITHIN_MS = 1_000;
// Codes after which trying again can't help: no such session, deleted, not logged in, not allowed.
const TERMINAL = new Map([
  [4401, "denied"],
  [4403, "denied"],
  [4404, "ended"],
  [4410, "deleted"],
  [401, "denied"],
  [403, "denied"],
  [404, "ended"],
  [410, "deleted"],
]);

// How long to wait before the next attempt. Full jitter: the pages that lost one server must not come back at once.
export function pauseMs(failures, chance = Math.random()) {
  const most = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 16));
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS / 4 + chance * most);
}

class Badge {
  constructor(element) {
    this.element = element;
  }

  show(state) {
    if (!this.element) return;
    this.element.hidden = false;
    this.element.dataset.state = state;
    this.element.querySelector(".word-of-state").textContent = this.element.dataset[state];
    const shapes = { connected: "dot dot-live", waiting: "dot dot-wait", offline: "dot dot-off" };
    this.element.querySelector(".dot").className = shapes[state] ?? "dot dot-ended";
  }
}

export class LiveConnection {
  constructor(page) {
    this.page = page;
    this.badge = new Badge(document.getElementById("connection"));
    this.socket = null;
    this.failures = 0;
    this.timer = 0;
    this.heardAt = 0;
    this.isOver = false;
  }

  start() {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.pause() : this.resume()));
    document.addEventListener("live-refused", (event) => this.end(event.detail));
    addEventListener("online", () => this.resume());
    addEventListener("offline", () => this.cutOff());
    addEventListener("pagehide", () => this.pause());
    addEventListener("pageshow", (event) => event.persisted && this.resume());
    setInterval(() => this.listen(), LISTEN_EVERY_MS);
    if (!document.hidden) this.open();
  }

  open() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws/s/${this.page.id}/`);
    this.socket = socket;
    this.heardAt = Date.now();
    socket.addEventListener("message", (event) => socket === this.socket && this.hear(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => socket === this.socket && this.lost(event.code));
  }

  hear(message) {
    this.heardAt = Date.now();
    if (message.type === "snapshot") {
      this.failures = 0;
      this.badge.show("connected");
    }
    if (message.kind === "replay") document.dispatchEvent(new CustomEvent("run-progress", { detail: message.ids }));
    else if (message.kind === "answer") document.dispatchEvent(new CustomEvent("answer-moves", { detail: message.ids }));
    else if (message.type === "resync") setTimeout(() => this.page.catchUp(), Math.random() * RESYNC_WITHIN_MS);
    else if (message.kind === "turn" || message.seq > this.page.seq) this.page.catchUp();
  }

  // By the clock and not by a timer of its own: timers stand still while the machine sleeps.
  listen() {
    if (!this.socket || Date.now() - this.heardAt < SILENCE_MS) return;
    this.pause();
    this.lost();
  }

  lost(code) {
    this.socket = null;
    if (TERMINAL.has(code)) {
      this.end(TERMINAL.get(code));
      return;
    }
    if (document.hidden) return;
    this.badge.show(navigator.onLine === false ? "offline" : "waiting");
    this.timer = setTimeout(() => this.open(), pauseMs(this.failures));
    this.failures += 1;
  }

  end(state) {
    if (this.isOver) return;
    this.isOver = true;
    this.pause();
    this.badge.show(state);
    sayOver(state);
  }

  cutOff() {
    this.pause();
    if (!this.isOver) this.badge.show("offline");
  }

  pause() {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    // A socket that is still connecting can't be closed without a warning on the console; it is closed once it is open.
    if (socket?.readyState === WebSocket.CONNECTING) socket.addEventListener("open", () => socket.close(1000));
    else socket?.close(1000);
  }

  resume() {
    if (this.isOver || this.socket || document.hidden) return;
    this.failures = 0;
    this.open();
  }
}

// Why nothing moves any more, where the reader is, with the way back. What asks again and again has nothing to ask for.
function sayOver(state) {
  for (const part of document.querySelectorAll('[hx-trigger^="every"]')) {
    const still = part.cloneNode(true);
    still.removeAttribute("hx-trigger");
    still.removeAttribute("hx-get");
    part.replaceWith(still);
  }
  const note = document.getElementById("page-over");
  if (!note) return;
  note.querySelector("span").textContent = note.dataset[state];
  note.hidden = false;
}

export class LivePage {
  constructor(body) {
    this.id = body.dataset.live;
    this.address = body.dataset.updates;
    this.seq = Number(body.dataset.seq);
    this.rows = document.getElementById("rows");
    this.isBusy = false;
    this.isBehind = false;
    this.failures = 0;
    this.retryTimer = 0;
    this.refreshTimer = 0;
  }

  // One catch-up at a time; what is heard meanwhile asks for one more, and one that failed is made up for later.
  async catchUp() {
    this.isBehind = true;
    if (this.isBusy) return;
    this.isBusy = true;
    clearTimeout(this.retryTimer);
    try {
      while (this.isBehind) {
        this.isBehind = false;
        await this.fetchUpdates();
      }
      this.failures = 0;
    } catch {
      this.failures += 1;
      this.retryTimer = setTimeout(() => this.catchUp(), pauseMs(this.failures));
    } finally {
      this.isBusy = false;
    }
  }

  async fetchUpdates() {
    const answer = await ask(`${this.address}&after=${this.seq}`);
    if (!answer) return;
    const root = parse(await answer.text()).querySelector("[data-seq]");
    const isPlain = root.dataset.plain === "yes";
    this.swapParts(root);
    if (this.rows && this.rows.dataset.filter !== "archived" && isPlain) this.append(root.querySelector("[data-items]"));
    else if (!isPlain || !this.rows) this.refreshSoon();
    this.seq = Number(root.dataset.seq);
    document.dispatchEvent(new CustomEvent("session-updated", { detail: { seq: this.seq, isPlain } }));
  }

  swapParts(root) {
    for (const part of root.querySelectorAll("[data-swap]")) {
      const old = document.getElementById(part.id);
      if (!old || (part.id === "row-tools" && this.rows?.dataset.filter !== "all")) continue;
      keepTyped(old, part);
      if (old.outerHTML !== part.outerHTML && !old.contains(document.activeElement)) replace(old, part);
    }
  }

  // New rows go behind the last one, unless the page does not reach to the end: then its gap says what is missing.
  append(items) {
    if (this.rows.lastElementChild?.matches("[data-gap]")) return;
    const wasAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
    let added = 0;
    for (const item of [...items.children]) {
      const old = document.getElementById(item.id);
      if (old) replace(old, item);
      else {
        if (!this.rows.querySelector(".item")) this.rows.replaceChildren();
        this.rows.append(document.importNode(item, true));
        globalThis.htmx?.process(this.rows.lastElementChild);
        added += 1;
      }
    }
    if (!added) return;
    if (wasAtEnd) scrollTo({ top: document.documentElement.scrollHeight });
    else announce(added);
  }

  refreshSoon() {
    clearTimeout(this.refreshTimer);
    this.refreshTimer = setTimeout(() => this.refresh(), this.rows ? 0 : REFRESH_EVERY_MS);
  }

  // Parts that can't be mended row by row are read anew from this very address; what was open stays open.
  async refresh() {
    let fresh;
    try {
      fresh = await freshPage(location.href);
      const here = this.rows && topItem(this.rows);
      // Readers who have scrolled out of what the address shows get the rows around them.
      const isElsewhere = fresh && here?.position && !fresh.getElementById(here.id);
      if (isElsewhere) fresh = (await freshPage(addressAt(here.position))) ?? fresh;
    } catch {
      this.refreshTimer = setTimeout(() => this.refresh(), pauseMs(4));
      return;
    }
    if (!fresh) return;
    for (const old of document.querySelectorAll("[data-refresh]")) {
      const part = fresh.getElementById(old.id);
      if (!part || old.contains(document.activeElement?.closest("input, select, textarea"))) continue;
      const opened = [...old.querySelectorAll("details[open][id]")].map((details) => details.id);
      const place = topItem(old);
      replace(old, part);
      for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
      keepPlace(place);
    }
    this.rows = document.getElementById("rows");
    document.dispatchEvent(new CustomEvent("rows-replaced"));
  }
}

// The answer; null when it says that the page has nothing to ask for any more. Raises an error when asking again may help.
async function ask(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  // Sent elsewhere: to the login.
  const refusal = answer.redirected ? "denied" : TERMINAL.get(answer.status);
  if (refusal) document.dispatchEvent(new CustomEvent("live-refused", { detail: refusal }));
  else if (!answer.ok) throw new Error(`the site answered ${answer.status}`);
  return refusal ? null : answer;
}

// The page read anew, null when there is nothing to ask for any more.
async function freshPage(address) {
  const text = await (await ask(address))?.text();
  return text ? parse(text) : null;
}

function addressAt(position) {
  const address = new URL(location.href);
  address.searchParams.set("row", position);
  return address.href;
}

// What a reader has put into a field of the page stays there when the part around it is replaced.
function keepTyped(old, part) {
  const [typed, field] = [old, part].map((one) => one.querySelector("input[name=row]"));
  if (typed?.value) field?.setAttribute("value", typed.value);
}

function parse(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

function replace(old, part) {
  const fresh = document.importNode(part, true);
  old.replaceWith(fresh);
  globalThis.htmx?.process(fresh);
}

function announce(added) {
  const news = document.getElementById("news");
  if (!news) return;
  const total = Number(news.dataset.count ?? 0) + added;
  news.dataset.count = total;
  news.querySelector("b").textContent = total;
  news.hidden = false;
}

function hideNewsAtEnd() {
  const news = document.getElementById("news");
  if (!news || news.hidden) return;
  if (innerHeight + scrollY < document.documentElement.scrollHeight - 80) return;
  news.hidden = true;
  news.dataset.count = 0;
}

export function startLive() {
  if (!document.body.dataset.live) return;
  addEventListener("scroll", hideNewsAtEnd, { passive: true });
  document.getElementById("news")?.addEventListener("click", (event) => {
    event.preventDefault();
    scrollTo({ top: document.documentElement.scrollHeight });
  });
  const page = new LivePage(document.body);
  // Whoever has changed something asks for it at once instead of waiting to hear of it.
  document.addEventListener("catch-up", () => page.catchUp());
  new LiveConnection(page).start();
}
