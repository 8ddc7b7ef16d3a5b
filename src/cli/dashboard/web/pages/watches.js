// Watches: which files are watched and what a change does; and the events of the colony as they come.

import { call, segments } from '../api.js';
import { change, html, resource, stale, store } from '../store.js';
import { Answer, Empty, Field, number, plural, Section, short, State, Table, text, When, Windowed } from '../parts.js';
import { act, form } from '../dialogs.js';
import { go, withQuery } from '../routes.js';
import { MODES } from '../words.js';
import { scopeName, scopesOf } from './vcm.js';

const ROW = 30;
const refresh = () => stale('/watches');

export function Watches({ route }) {
  const watches = resource('/watches');
  const add = html`<button type="button" disabled=${store.who.read_only} onClick=${start}>+ Watch</button>`;
  return html`<h1>Watches</h1>
    <${Section} id="watches" title="Watches" aside=${add}>
      <${Answer} of=${watches}>${(value) => (value.watches ?? []).length
        ? html`${value.running === false && html`<p class="hint">No watcher is running: <code>git colony watch --resume --detach</code></p>`}
          <${Table} label="Watches" heads=${['Watch', 'Scope', 'Paths', 'On change', '#Fired', '~Last', '']}>
            ${value.watches.map((row) => html`<${Row} key=${text(row.watch_id)} row=${row} />`)}<//>`
        : html`<${Empty} title="Nothing is watched"><p>A watch writes an event when files change, or maps them again.</p>
          <button type="button" disabled=${store.who.read_only} onClick=${start}>Start a watch</button><//>`}<//>
    <//>
    <${Events} query=${route.query.get('q') ?? ''} />`;
}

function Row({ row }) {
  return html`<tr>
    <th scope="row" class="mono">${text(row.watch_id)}</th>
    <td title=${text(row.scope_id)}>${text(row.row ?? scopeName(row.scope_id))}</td>
    <td class="grow"><span class="path">${(row.paths ?? []).map(text).join(', ')}</span></td>
    <td><select aria-label=${`Mode of ${text(row.watch_id)}`} disabled=${store.who.read_only} onChange=${(event) => remode(row, event.currentTarget.value)}>
      ${Object.entries(MODES).map(([mode, word]) =>
        html`<option key=${mode} value=${mode} selected=${mode === row.on_change}>${word}</option>`)}</select></td>
    <td class="num">${number(row.fire_count)}</td>
    <td class="less">${row.last_fired_at ? html`<${When} at=${row.last_fired_at} />` : html`<span class="faint">never</span>`}</td>
    <td class="actions"><button type="button" data-row disabled=${store.who.read_only} onClick=${() => act('DELETE', `/watches${segments(row.watch_id)}`, undefined, refresh)}>Stop</button></td>
  </tr>`;
}

/** A watch has one mode for life: it ends, and another of the same id begins. */
async function remode(row, mode) {
  await act('DELETE', `/watches${segments(row.watch_id)}`, undefined);
  await act('POST', '/watches', { watch_id: row.watch_id, scope_id: row.scope_id, paths: row.paths, debounce_seconds: row.debounce_seconds, on_change: mode }, refresh);
  refresh();
}

function start() {
  const scopes = () => scopesOf(resource('/vcm/scopes').value);
  form({
    title: 'Start a watch',
    verb: 'Start',
    fields: () => html`
      <${Field} label="Scope"><select name="scope_id" required>${scopes().map((row) =>
        html`<option key=${text(row.scope_id)} value=${text(row.scope_id)}>${scopeName(row.scope_id)}</option>`)}</select><//>
      ${!scopes().length && html`<p class="hint">No scope is mapped yet: map a source on Design monorepo.</p>`}
      <${Field} label="Paths" hint="Files and directories, one a line; they need not exist yet">
        <textarea name="paths" rows="2" required spellcheck="false"></textarea><//>
      <${Field} label="On change"><select name="on_change">${Object.entries(MODES).map(([mode, word]) =>
        html`<option key=${mode} value=${mode}>${word}</option>`)}</select><//>
      <div class="fields"><${Field} label="Quiet for" hint="seconds">
        <input name="debounce_seconds" type="number" min="0.1" step="0.1" defaultValue="5" required /><//>
      <${Field} label="Name" hint="may be empty"><input name="watch_id" autocomplete="off" spellcheck="false" /><//></div>`,
    submit: async (values) => {
      const body = { scope_id: values.scope_id, on_change: values.on_change, debounce_seconds: Number(values.debounce_seconds) };
      body.paths = values.paths.split('\n').map((each) => each.trim()).filter(Boolean);
      if (values.watch_id) body.watch_id = values.watch_id;
      const { value } = await call('POST', '/watches', body);
      refresh();
      return value;
    },
  });
}

// Events

const plainWords = (words) => words.toLowerCase().replaceAll('_', ' ').replace(/:\s*$/, '');

/** What a filter looks at: the key as it is shown and as programs write it, what the event says, and its agent. */
const haystack = (row) => plainWords([row.key, ...about(row.value), row.agent ?? ''].map(text).join(' '));

function Events({ query }) {
  const all = store.paused ?? store.events;
  const words = plainWords(query);
  const rows = all.filter((row) => !query || haystack(row).includes(words));
  const filter = (event) => go(withQuery({ q: event.currentTarget.value.trim() || null }), 'replace');
  const head = html`<div class="event-row page-head" aria-hidden="true"><span>When</span><span>Event</span><span>Of</span><span>What it says</span><span>Agent</span></div>`;
  const pause = html`<button type="button" aria-pressed=${store.paused ? 'true' : 'false'} onClick=${() => change({ paused: store.paused ? null : store.events })}>${store.paused ? 'Go on' : 'Pause'}</button>`;
  return html`<${Section} id="events" title="Events" aside=${html`<${State} tone=${store.live && !store.paused ? 'good' : ''} sign=${store.live && !store.paused ? '●' : '○'}>${store.paused ? 'paused' : store.live ? 'as they come' : 'not connected'}<//> ${pause}`}>
    <div class="filters"><${Field} label="Filter">
      <input type="search" data-filter placeholder="watch fired" spellcheck="false" defaultValue=${query} onInput=${filter} /><//>
    <span class="faint">${plural(rows.length, 'event')}</span></div>
    ${rows.length ? html`<${Windowed} rows=${rows} height=${ROW} shown=${14} row=${EventRow} label="Events" className="events" head=${head} />`
      : html`<p class="faint">${all.length ? 'No event matches.' : 'No event yet.'}</p>`}
  <//>`;
}

// Fields that the key has already, and those for programs only.
const LEFT_OUT = new Set(['ts', 'scope_id', 'checkpoint_id', 'source_event_key', 'branch', 'watch_id', 'name', 'old_sha', 'source_type']);

function about(value) {
  const words = [];
  for (const [name, each] of Object.entries(value ?? {})) {
    if (LEFT_OUT.has(name) || each === null) continue;
    if (Array.isArray(each)) words.push(`${name} ${each.map(text).join(', ')}`);
    else if (typeof each !== 'object') words.push(`${name.replaceAll('_', ' ')} ${/^[0-9a-f]{40}$/.test(each) ? short(each) : text(each)}`);
  }
  return words;
}

/** Whom a key is about: a scope by its name, else the last part. */
const subject = (key) => (/^(mapped|unmapped|reindexed):/.test(key) ? scopeName(key.slice(key.indexOf(':') + 1)) : key.includes(':') ? key.split(':').pop() : '');

function EventRow(row) {
  const key = text(row.key);
  const at = key.indexOf(':');
  const words = about(row.value);
  return html`<div class="event-row row" key=${text(row.position)}>
    <span class="faint"><${When} at=${row.ts} clock /></span><span class="cut name">${at < 0 ? key : key.slice(0, at).replaceAll('_', ' ')}</span>
    <span class="cut path" title=${key}>${subject(key)}</span>
    <span class="cut faint" title=${words.join('\n')}>${words.join(' · ')}</span>
    <span class="cut">${text(row.agent)}</span>
  </div>`;
}
