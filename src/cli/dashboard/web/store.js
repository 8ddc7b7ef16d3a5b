// The one store of the page, and the answers of the server that it keeps.
//
// A page asks for an answer while it is drawn: `resource('/fleet')` returns the known answer, or fetches it. An event
// marks answers as stale; only those that the page shows are fetched again.

import { h, render } from './vendor/preact.mjs';
import htm from './vendor/htm.module.js';
import { call, Refusal } from './api.js';

export const html = htm.bind(h);

export const store = {
  who: null, // the answer of the login, without the code
  loginProblem: null,
  route: null, // {path, parts, query}
  gone: false, // the server does not answer
  live: false, // the stream of events is open
  notice: null, // {text, action}: what was done last, for the status line
  dialog: null, // {title, body, wide}
  events: [], // newest first
  paused: null, // the events shown while the list is paused
};

const MAX_EVENTS = 500;
const RESOURCE_LIFETIME = 120_000;
const NOTICE_TIME = 12_000;
const resources = new Map();
let root = null;
let view = null;
let drawing = false;

export function begin(component) {
  root = document.getElementById('app');
  root.replaceChildren();
  view = component;
  draw();
}

/** Draws the page once before the next frame, however often it is called. */
export function draw() {
  if (drawing || !view) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    render(h(view), root);
  });
}

export function change(fields) {
  Object.assign(store, fields);
  draw();
}

let hiding = null;

/** Says what was done, for a while; `action` is `{name, run}`. */
export function tell(text, action = null) {
  clearTimeout(hiding);
  hiding = setTimeout(() => change({ notice: null }), NOTICE_TIME);
  change({ notice: text ? { text, action } : null });
}

/** Returns the known part of an answer: `{value, error, running}`. */
export function resource(path) {
  let entry = resources.get(path);
  if (!entry) {
    entry = { path, value: undefined, error: null, etag: null, stale: true, running: null };
    resources.set(path, entry);
  }
  entry.usedAt = Date.now();
  if (entry.stale && !entry.running && !store.gone) entry.running = fetchInto(entry);
  return entry;
}

async function fetchInto(entry) {
  entry.stale = false;
  try {
    const answer = await call('GET', entry.path, undefined, entry.etag);
    entry.changed = answer.status !== 304;
    if (entry.changed) Object.assign(entry, { value: answer.value, etag: answer.etag });
    entry.error = null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // Without the server nothing is known; the page keeps what it shows and asks again when the server is back.
    if (error.code === 'server-gone') entry.stale = true;
    else entry.error = error;
  } finally {
    entry.running = null;
    draw();
  }
}

/** Fetches an answer again, and resolves when it is there. */
export function reload(path) {
  const entry = resource(path);
  entry.stale = true;
  return resource(path).running;
}

/** Puts an answer that another request has brought. */
export function keep(path, value) {
  const entry = resources.get(path) ?? { path };
  resources.set(path, Object.assign(entry, { value, error: null, etag: null, stale: false, running: null, usedAt: Date.now() }));
  draw();
}

/** Marks answers as stale whose path begins with one of these; without any, all. */
export function stale(...prefixes) {
  for (const [path, entry] of resources) {
    if (prefixes.length && !prefixes.some((prefix) => path.startsWith(prefix))) continue;
    entry.stale = true;
  }
  draw();
}

/** Forgets answers that no page has asked for in a while. */
export function forgetUnused() {
  const oldest = Date.now() - RESOURCE_LIFETIME;
  for (const [path, entry] of resources) if (entry.usedAt < oldest && !entry.running) resources.delete(path);
}

export function forgetAll() {
  resources.clear();
}

export function addEvents(rows) {
  const known = new Set(store.events.map((row) => row.position));
  const fresh = rows.filter((row) => !known.has(row.position));
  store.events = [...fresh.reverse(), ...store.events].slice(0, MAX_EVENTS);
  draw();
}
