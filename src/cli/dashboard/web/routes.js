// The address is the state of a page. Links are made of fixed words and encoded segments, never of data alone.

import { path, segments } from './api.js';
import { change, forgetUnused, stale, store } from './store.js';

/** Reads the address. */
export function current() {
  const parts = location.pathname.split('/').filter(Boolean).map(decoded);
  return { path: location.pathname, parts, query: new URLSearchParams(location.search) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the address of a page: `to(['fleet', 'ada'], {tab: 'diff'})`. */
export const to = (parts, query) => path(segments(...parts), query);

/** Returns the address of this page with another query. */
export function withQuery(fields) {
  const query = {};
  for (const name of store.route.query.keys()) query[name] = store.route.query.getAll(name);
  return path(store.route.path, { ...query, ...fields });
}

const lists = new Map(); // the last address of each page that has others below it, with its filter

/** Returns where Back from something below a page leads: the page as it was. */
export const listOf = (page) => lists.get(page) ?? segments(page);

/** Goes to an address; there `focus` gets the focus, as a selector. */
export function go(address, how = 'push', focus = 'main') {
  if (how === 'replace') history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  arrive(null, focus);
}

/** Shows the page of the address. Another page takes the focus, so that the keyboard goes on there. */
export function arrive(_event, focus = 'main') {
  const before = store.route?.path;
  change({ route: current() });
  const { parts } = store.route;
  if (parts.length === 1) lists.set(parts[0], location.pathname + location.search);
  if (before === store.route.path) return;
  forgetUnused();
  stale();
  scrollTo(0, 0);
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector(focus)?.focus({ preventScroll: true })));
}

/** Turns clicks on links of this page into changes of the address. */
export function catchLinks() {
  addEventListener('popstate', arrive);
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href^="/"]');
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || event.defaultPrevented) return;
    event.preventDefault();
    go(link.getAttribute('href'));
  });
}
