// The chat page: what is typed is sent without leaving the page, the answer is followed as it comes, and what passes do
// with it is read out. Everything shown is the server's: the answer's text arrives rendered, and once it is a row the
// page's live connection brings it like any other. Without this module the same forms work with reloads.

const MOST_LOST = 5;

function parse(html) {
  return new DOMParser().parseFromString(html, "text/html").body;
}

// An id for one sending. crypto.randomUUID needs a secure context, which a site in a local network has not.
function newId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function isAtEnd() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - 120;
}

function toEnd() {
  scrollTo({ top: document.documentElement.scrollHeight });
}

class Composer {
  constructor(form, words) {
    this.form = form;
    this.words = words;
    this.field = form.querySelector("textarea");
    this.error = form.querySelector("#chat-error");
    this.isBusy = false;
  }

  start() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.field.addEventListener("keydown", (event) => this.pressed(event));
    this.field.addEventListener("input", () => this.say(""));
  }

  // Enter that confirms a candidate of an input method is part of typing. On a touch screen Enter begins a line.
  pressed(event) {
    if (event.key !== "Enter" || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.isComposing || event.keyCode === 229 || matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    this.send();
  }

  say(message) {
    this.error.textContent = message;
    this.error.hidden = !message;
    if (message) this.field.setAttribute("aria-invalid", "true");
    else this.field.removeAttribute("aria-invalid");
    this.field.setAttribute("aria-describedby", message ? "chat-error chat-hint" : "chat-hint");
  }

  async send() {
    if (this.isBusy) return;
    if (!this.field.value.trim()) {
      this.say(this.words.empty);
      this.field.focus();
      return;
    }
    this.isBusy = true;
    this.form.setAttribute("aria-busy", "true");
    const sent = this.field.value;
    this.say("");
    const refusal = await post(this.form, this.words);
    this.isBusy = false;
    this.form.removeAttribute("aria-busy");
    if (refusal !== null) this.say(refusal);
    else this.accepted(sent);
    this.field.focus();
  }

  // What was typed while it was on its way stays; the next sending has another id.
  accepted(sent) {
    if (this.field.value.startsWith(sent)) this.field.value = this.field.value.slice(sent.length);
    this.form.elements.client_id.value = newId();
    announce(this.words.answering);
    toEnd();
  }
}

// Sends a form as a script does; returns null when it was taken, else what to tell people.
async function post(form, words) {
  let answer;
  try {
    // Not form.action: a field of the form has that name.
    answer = await fetch(form.getAttribute("action"), {
      method: "POST",
      body: new FormData(form),
      headers: { Accept: "application/json" },
    });
  } catch {
    return words.lost;
  }
  if (answer.redirected || answer.status === 403) return words.loggedOut;
  if (!answer.ok) return (await answer.json().catch(() => ({}))).error ?? words.failed;
  document.dispatchEvent(new CustomEvent("catch-up"));
  return null;
}

function announce(message) {
  const place = document.getElementById("chat-says");
  if (place && message && place.textContent !== message) place.textContent = message;
}

// Follows the answer that comes, whoever asked for it: this page, this page before a reload, or another one.
class Following {
  constructor(words) {
    this.words = words;
    this.stream = null;
    this.address = "";
    this.lost = 0;
  }

  // Looks whether an answer comes and is not followed yet.
  look() {
    const address = document.getElementById("chat-answer")?.dataset.stream ?? "";
    if (address === this.address) return;
    this.close();
    if (address) this.open(address);
  }

  open(address) {
    this.address = address;
    this.stream = new EventSource(address);
    this.stream.addEventListener("text", (event) => this.show(JSON.parse(event.data)));
    this.stream.addEventListener("end", (event) => this.end(JSON.parse(event.data)));
    this.stream.addEventListener("error", () => this.failed());
  }

  close() {
    this.stream?.close();
    this.stream = null;
    this.address = "";
    this.lost = 0;
  }

  show({ html, thinking }) {
    this.lost = 0;
    const text = document.getElementById("coming-text");
    const words = document.getElementById("coming-words");
    if (!text) return;
    const wasAtEnd = isAtEnd();
    text.replaceChildren(...[...parse(html).childNodes].map((node) => document.importNode(node, true)));
    // Before anything has come, the page knows better what is waited for.
    if (thinking || html) words.textContent = thinking ? words.dataset.thinking : words.dataset.writing;
    if (wasAtEnd) toEnd();
  }

  end({ status }) {
    this.close();
    leaveAnswer();
    if (status === "done") announce(this.words.answered);
    document.dispatchEvent(new CustomEvent("catch-up"));
  }

  // The browser tries again by itself; when that does not help, what is stored says how things are.
  failed() {
    this.lost += 1;
    if (this.lost < MOST_LOST && this.stream?.readyState !== EventSource.CLOSED) return;
    this.close();
    setTimeout(() => document.dispatchEvent(new CustomEvent("catch-up")), 1000);
  }
}

// The part with the answer is replaced only while the focus is elsewhere.
function leaveAnswer() {
  if (document.getElementById("chat-answer")?.contains(document.activeElement)) {
    document.getElementById("chat-text")?.focus();
  }
}

function startChat(root) {
  const words = root.dataset;
  const following = new Following(words);
  const form = document.getElementById("composer");
  if (form) new Composer(form, words).start();
  following.look();
  document.addEventListener("session-updated", () => {
    following.look();
    announce(document.getElementById("chat-turn-end")?.dataset.say);
  });
  document.addEventListener("answer-moves", () => {
    if (!following.address) document.dispatchEvent(new CustomEvent("catch-up"));
  });
  // Stop, and ask again: sent in place, so that what is typed stays.
  root.addEventListener("submit", async (event) => {
    if (!event.target.matches("[data-chat-form]")) return;
    event.preventDefault();
    leaveAnswer();
    const refusal = await post(event.target, words);
    if (refusal) announce(refusal);
  });
  toEnd();
}

// The form of a new chat: Enter sends there as well.
function startNewChat(form) {
  form.querySelector("textarea").addEventListener("keydown", (event) => {
    const isPlain = !(event.shiftKey || event.altKey || event.ctrlKey || event.metaKey);
    if (event.key !== "Enter" || !isPlain || event.isComposing || event.keyCode === 229) return;
    if (matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

const chat = document.getElementById("chat");
const newChat = document.getElementById("new-chat");
if (chat) startChat(chat);
if (newChat) startNewChat(newChat);
