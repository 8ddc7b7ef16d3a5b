// Events as they come: a stream that `fetch` reads, since an `EventSource` cannot send the token.
//
// Only a visible tab holds the stream (a browser allows six connections to a host). Hidden, it drops the stream; visible
// again, it goes on at the position that it had, so no event is missed.

import { call, headers, Refusal, remember } from './api.js';
import { addEvents, change, draw, reload, resource, stale, store } from './store.js';
import { isOpen } from './words.js';

const MAX_WAIT = 30_000;
const GATHER = 300;
let position = null;
let stream = null; // the AbortController of the open stream
let retry = null;
let waiting = new Set();
let gathering = null;

/** Which answers an event makes stale, by the beginning of its key. */
const STALE = [
  [/^(branch_|checkpoint_|convergence:|train_)/, ['/fleet', '/agents', '/state', '/ops', '/checkpoints', '/diff', '/repo-map']],
  [/^(mapped|unmapped|reindexed):/, ['/vcm/scopes', '/vcm/pages', '/vcm/stats', '/vcm/working-set', '/knowledge', '/state']],
  [/^watch_fired:/, ['/watches']],
  [/^page_fault:/, ['/vcm/working-set', '/vcm/stats']],
];

/** Which answers an operation that maps makes stale. */
const MAPPED = ['/vcm/map/operations', '/vcm/scopes', '/vcm/pages', '/vcm/stats'];

/** Takes up a login: keeps it, shows the newest events, and follows those that come after them. */
export async function enter(who) {
  remember(who);
  change({ who, loginProblem: null, gone: false });
  try {
    const { value } = await call('GET', '/events?limit=100');
    addEvents(value.events ?? []);
    position = value.position ?? null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The page works without them; a refused login has shown itself.
  }
  settle();
}

export function follow() {
  document.addEventListener('visibilitychange', settle);
  settle();
}

export function settle() {
  if (document.visibilityState === 'visible' && store.who) open(1000);
  else close();
}

function close() {
  clearTimeout(retry);
  stream?.abort();
  stream = null;
  change({ live: false });
}

async function open(wait) {
  clearTimeout(retry);
  if (stream) return;
  const mine = new AbortController();
  stream = mine;
  const since = position ? `?since=${encodeURIComponent(position)}` : '';
  try {
    const options = { headers: headers({ Accept: 'text/event-stream' }), cache: 'no-store', signal: mine.signal };
    const response = await fetch(`/api/v1/events${since}`, options);
    if (!response.ok || !response.body) throw new Error(String(response.status));
    change({ live: true });
    wait = 1000;
    await read(response.body);
  } catch {
    // A stream that ends, whyever, is opened again below.
  }
  if (stream !== mine) return;
  stream = null;
  change({ live: false });
  if (document.visibilityState !== 'visible' || !store.who) return;
  // This request fails if the server has ended.
  stale('/state');
  retry = setTimeout(() => open(Math.min(wait * 2, MAX_WAIT)), wait);
}

async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split('\n\n');
    rest = frames.pop();
    for (const frame of frames) take(frame);
  }
}

function take(frame) {
  const fields = { id: '', event: 'message', data: '' };
  for (const line of frame.split('\n')) {
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data' && fields.data) fields.data += `\n${value}`;
    else fields[name] = value;
  }
  if (fields.id) position = fields.id;
  const data = parsed(fields.data);
  if (fields.event === 'colony' && data) colony(data);
  if (fields.event === 'operation') later(data?.kind === 'map' ? MAPPED : ['/operations']);
  if (fields.event === 'lost') stale();
}

const asking = new Map(); // the timer of each list of operations

/** Asks a list of operations again while something in it runs and a page shows it; `ended` is called when less runs. */
export function followOperations(list, page, ended) {
  const open = () => resource(list).value?.operations?.filter(isOpen).length ?? 0;
  const before = open();
  if (asking.has(list) || !before) return;
  const ask = async () => {
    asking.delete(list);
    if (store.route.parts[0] !== page || document.visibilityState !== 'visible') return;
    await reload(list);
    if (open() !== before) ended();
    draw();
  };
  asking.set(list, setTimeout(ask, 1000));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function colony(row) {
  addEvents([row]);
  for (const [pattern, prefixes] of STALE) if (pattern.test(String(row.key))) later(prefixes);
}

/** Gathers what became stale for a moment: one merge writes several events. */
function later(prefixes) {
  for (const prefix of prefixes) waiting.add(prefix);
  gathering ??= setTimeout(() => {
    const all = [...waiting];
    waiting = new Set();
    gathering = null;
    stale(...all);
  }, GATHER);
}
