// Keeps an open page up to date. Without it, pages show what was known when they were loaded.
"use strict";

const body = document.body;
const spoken = document.querySelector("[data-spoken]");
const dot = document.querySelector("[data-dot]");
const connection = document.querySelector("[data-connection]");

const parsed = (html) => new DOMParser().parseFromString(html, "text/html");

const find = (id) => [...document.querySelectorAll("[data-event]")].find((card) => card.dataset.event === id);

function put(card) {
  const list = document.querySelector("[data-events]");
  const old = find(card.id);
  if (old && Number(old.dataset.sequence) >= card.sequence) return;
  const fresh = parsed(card.html).querySelector("[data-event]");
  if (old) {
    const focused = old.contains(document.activeElement);
    old.replaceWith(fresh);
    if (focused) fresh.querySelector("a").focus();
  } else if (card.state !== "ended") {
    list.prepend(fresh);
    fresh.classList.add("arrived");
    spoken.textContent = `Breaking: ${fresh.querySelector("h2").textContent.trim()}`;
  }
  document.querySelector("[data-none]").hidden = list.children.length > 0;
}

// Someone reads, writes or has opened something here: what stands there stays.
function isInUse(main) {
  const active = document.activeElement;
  return (main.contains(active) && active !== main) || main.querySelector("details[open]") || !getSelection().isCollapsed;
}

let loading = false;
let again = false;
let stream = null;

async function load(event) {
  const main = document.querySelector("main");
  if (document.hidden || (!event && isInUse(main))) return;
  if (loading) { again = again || Boolean(event); return; }
  loading = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = parsed(await answer.text());
    if (isInUse(main)) return;
    const shown = new Map([...document.querySelectorAll("[data-event]")].map((card) => [card.dataset.event, card]));
    main.replaceChildren(...page.querySelector("main").childNodes);
    for (const card of document.querySelectorAll("[data-event]")) {
      const old = shown.get(card.dataset.event);
      if (old && Number(old.dataset.sequence) > Number(card.dataset.sequence)) card.replaceWith(old);
    }
    const pulse = page.querySelector("[data-pulse]");
    if (pulse) document.querySelector("[data-pulse]").textContent = pulse.textContent;
    const freshDot = page.querySelector("[data-dot]");
    if (freshDot) dot.className = freshDot.className;
  } catch {
    // The next one will do.
  } finally {
    loading = false;
  }
  if (again) { again = false; load(true); }
}

function tell(words, wrong) {
  if (!connection) return;
  connection.hidden = !words;
  connection.textContent = words ? `${words} · ` : "";
  if (wrong) dot.classList.add("wrong");
  else dot.classList.remove("wrong");
}

function follow() {
  const query = body.dataset.since ? `&since=${encodeURIComponent(body.dataset.since)}` : "";
  stream = new EventSource(body.dataset.live + query);
  stream.addEventListener("open", () => { body.dataset.connected = "yes"; tell("live", false); });
  stream.addEventListener("error", () => {
    body.dataset.connected = "no";
    tell("connecting again", true);
    if (stream?.readyState === EventSource.CLOSED) setTimeout(() => { if (stream) follow(); }, 5000);
  });
  stream.addEventListener("position", (message) => { body.dataset.since = message.lastEventId; });
  stream.addEventListener("card", (message) => {
    const card = JSON.parse(message.data);
    body.dataset.sequence = card.sequence;
    if (card.html) put(card);
    else load(true);
  });
}

if (body.dataset.live) follow();
if (body.dataset.refresh) {
  const period = 1000 * Number(body.dataset.refresh);
  setInterval(load, period * (0.9 + 0.2 * Math.random()), null);
}
// A browser has few connections for one server: pages that nobody sees hold none, and catch up when they are seen again.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stream?.close();
    stream = null;
    return;
  }
  if (body.dataset.live && stream === null) follow();
  if (body.dataset.refresh) load();
});
