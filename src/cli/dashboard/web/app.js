// The frame: login, navigation, keys, and which page is shown.

import { login, onGone, onLoginRequired, remember, remembered, call, Refusal, startAgain } from './api.js';
import { begin, change, draw, forgetAll, html, reload, resource, stale, store, tell } from './store.js';
import { enter, follow, settle } from './live.js';
import { arrive, catchLinks, current, go, listOf } from './routes.js';
import { closeDialog, DialogHost, notDone, openDialog } from './dialogs.js';
import { Answer, Command, Empty, State, plural, text, When } from './parts.js';
import { Landing } from './pages/landing.js';
import { Login } from './pages/login.js';
import { Design } from './pages/design.js';
import { Vcm } from './pages/vcm.js';
import { Fleet } from './pages/fleet.js';
import { Timeline } from './pages/timeline.js';
import { Search } from './pages/search.js';
import { Watches } from './pages/watches.js';

/** The pages: address, name, key after `g`, and whether they need a session. */
const PAGES = [
  { at: '', name: 'Home', key: 'l', view: Landing },
  { at: 'design', name: 'Design monorepo', key: 'd', view: Design, session: true },
  { at: 'vcm', name: 'VCM', key: 'v', view: Vcm, session: true },
  { at: 'fleet', name: 'Fleet', key: 'f', view: Fleet },
  { at: 'timeline', name: 'Timeline', key: 't', view: Timeline },
  { at: 'search', name: 'Search', key: 's', view: Search },
  { at: 'watches', name: 'Watches', key: 'w', view: Watches, session: true },
];
const LOOK_INTERVAL = 5_000;
const QUIET_INTERVAL = 60_000;
const QUIET_AFTER = 600_000;
const RETRY_INTERVAL = 2_000;

function App() {
  if (!store.who) return html`<${Login} />`;
  const page = PAGES.find((each) => each.at === (store.route.parts[0] ?? ''));
  document.title = `${page?.name ?? 'Not found'} · ${text(store.who.repository)}`;
  const state = resource('/state');
  const sessions = openSessions(state.value);
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <${Top} state=${state.value} />
    <div class="frame">
      <nav aria-label="Pages">${PAGES.filter((each) => !each.session || sessions > 0).map(
        (each) => html`<a key=${each.at} href=${`/${each.at}`} aria-current=${each === page ? 'page' : null}>${each.name}</a>`,
      )}</nav>
      <main id="main" tabindex="-1">
        ${store.gone && html`<${Gone} />`}
        ${page ? shown(page, sessions, state) : html`<h1>Not found</h1><p>No page has this address.</p>`}
      </main>
    </div>
    <div class="status" role="status" aria-live="polite">${store.notice && html`<${Notice} notice=${store.notice} />`}</div>
    <${DialogHost} />`;
}

function shown(page, sessions, state) {
  if (page.session && sessions === 0) return html`<h1>${page.name}</h1>
    <${Answer} of=${state}>${() => html`<${NeedsSession} name=${page.name} />`}<//>`;
  return html`<${page.view} route=${store.route} key=${page.at} />`;
}

/** How many sessions are open. Until the state is there, as many as before: links must not come late. */
function openSessions(state) {
  const known = 'colony-sessions';
  if (!state) return Number(sessionStorage.getItem(known) ?? 0);
  const open = Array.isArray(state.sessions_open) ? state.sessions_open.length : Number(state.sessions_open ?? 0);
  sessionStorage.setItem(known, String(open));
  return open;
}

function skip(event) {
  event.preventDefault();
  document.getElementById('main').focus();
}

function Top({ state }) {
  const changes = state?.changes;
  const changed = changes ? changes.staged + changes.changed + changes.untracked + changes.conflicts : null;
  return html`<header class="top">
    <a class="brand" href="/"><span class="mark" aria-hidden="true">⬢</span> ${text(store.who.repository)}</a>
    ${state && html`<span class="branch" title="branch">${text(state.current_branch)}</span>
      <${State} tone=${changed ? 'busy' : 'good'} sign=${changed ? '●' : '✓'}>${changed ? `${plural(changed, 'path')} uncommitted` : 'clean'}<//>
      ${state.in_progress && html`<${State} tone="bad" sign="!">${text(state.in_progress?.kind ?? state.in_progress)} in progress<//>`}`}
    <span class="space"></span>
    ${store.who.read_only && html`<${State} sign="◦">read-only<//>`}
    ${store.who.agent && html`<span class="faint">as ${text(store.who.agent)}</span>`}
    ${store.gone ? html`<${State} tone="bad" sign="✕">ended<//>`
      : html`<${State} tone=${store.live ? 'good' : ''} sign=${store.live ? '●' : '○'}>${store.live ? 'live' : 'paused'}<//>`}
    <button type="button" class="quiet" aria-label="Keys" onClick=${help}>?</button>
  </header>`;
}

function NeedsSession({ name }) {
  const all = resource('/sessions?all=true').value?.sessions ?? [];
  const [ended] = all.filter((row) => row.state === 'ended').sort((a, b) => Date.parse(b.last_at) - Date.parse(a.last_at));
  return html`<${Empty} title="Begin a session first">
    ${ended && html`<p>The last session, <span class="mono">${text(ended.session_id)}</span>, ended <${When} at=${ended.last_at} />.</p>`}
    <p>${name} is part of a session. <a href="/">Begin one on the home page</a>, or in a terminal:</p>
    <${Command} line="git colony session new" />
  <//>`;
}

function Notice({ notice: { text: words, action } }) {
  return html`<span>${words}</span>
    ${action && html`<button type="button" class="quiet" onClick=${action.run}>${action.name}</button>`}
    <button type="button" class="quiet" aria-label="Dismiss" onClick=${() => tell('')}>✕</button>`;
}

function Gone() {
  return html`<div class="band" role="alert"><span>The dashboard has ended. Start it again:</span> <${Command} line=${startAgain()} />
    <span>Then this address works again, and asks for a new link.</span></div>`;
}

function help() {
  const keys = [
    ...PAGES.map((page) => [`g ${page.key}`, page.name]),
    ['/', 'filter or search'], ['j k', 'next or previous row'], ['Enter', 'open the row'], ['Esc', 'close, or back'], ['?', 'this list'],
  ];
  const body = () => html`<dl class="keys">${keys.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <div class="buttons"><button type="button" onClick=${closeDialog}>Close</button></div>`;
  openDialog({ title: 'Keys', body });
}

let afterG = false;

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !store.who || store.dialog) return;
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && !/^(checkbox|radio)$/.test(event.target.type);
  if (event.key === 'Escape') return typing ? event.target.blur() : back();
  if (typing) return;
  if (afterG) {
    afterG = false;
    const page = PAGES.find((each) => each.key === event.key);
    if (page) go(`/${page.at}`);
    return;
  }
  const keys = { g: () => (afterG = true), '?': help, '/': focusFilter, j: () => step(1), k: () => step(-1) };
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function back() {
  if (store.route.parts.length > 1) go(listOf(store.route.parts[0]));
}

function focusFilter() {
  const filter = document.querySelector('main [data-filter]');
  if (filter) filter.focus();
  else go('/search', 'push', 'main [data-filter]');
}

function step(by) {
  const rows = [...document.querySelectorAll('main [data-row]')];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row === document.activeElement || row.closest('tr, li, .row')?.contains(document.activeElement));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

// The life of the page

let lastChange = Date.now();

/** Uncommitted work writes no event, so the state and the fleet are asked for again, seldom when nothing moves. */
async function look() {
  const quiet = Date.now() - lastChange > QUIET_AFTER;
  setTimeout(look, quiet ? QUIET_INTERVAL : LOOK_INTERVAL);
  if (!store.who || store.gone || document.visibilityState !== 'visible') return;
  for (const path of store.route.parts[0] === 'fleet' ? ['/state', '/fleet'] : ['/state']) {
    await reload(path);
    if (resource(path).changed) lastChange = Date.now();
  }
}

async function retryServer() {
  try {
    await call('GET', '/state');
    change({ gone: false });
    stale();
    settle();
  } catch (error) {
    if (error instanceof Refusal && error.code !== 'server-gone') change({ gone: false });
    else setTimeout(retryServer, RETRY_INTERVAL);
  }
}

onGone(() => {
  if (store.gone) return;
  change({ gone: true });
  setTimeout(retryServer, RETRY_INTERVAL);
});

const ENDED = { code: 'login-required', message: 'This login has ended. Its dashboard was started again, or ended all logins.' };

onLoginRequired(() => {
  remember(null);
  forgetAll();
  change({ who: null, gone: false, dialog: null, loginProblem: store.who ? ENDED : store.loginProblem });
});

/** Takes the code of a link out of the address, and logs in with it. */
async function takeCode() {
  const code = location.hash.slice(1);
  if (!code) return;
  // The code must not stay in the address: it would be in the history and in copied links.
  history.replaceState(null, '', location.pathname.replace(/^\/+/, '/') + location.search);
  await login(code).then(enter, (error) => (store.who ? notDone(error) : change({ loginProblem: error })));
  stale();
}

// A tab gives its token to no other: a page that another program served at this port may still be open.
async function start() {
  const taken = takeCode();
  store.route = current();
  catchLinks();
  document.addEventListener('keydown', onKey);
  // A link that is pasted into this tab changes only the code.
  addEventListener('hashchange', takeCode);
  addEventListener('unhandledrejection', (event) => {
    if (event.reason instanceof Refusal) {
      event.preventDefault();
      notDone(event.reason);
    }
  });
  await taken;
  const known = remembered();
  if (!store.who && known) await enter(known).catch(() => {});
  begin(App);
  arrive();
  follow();
  look();
  setInterval(draw, 30_000);
}

start();
