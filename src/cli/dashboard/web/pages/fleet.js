// Fleet: who works where, what would clash, what to merge or land next; and one agent with its log and its diff.

import { call, segments } from '../api.js';
import { draw, html, resource, stale, store } from '../store.js';
import { Answer, Command, Empty, Field, number, plural, Section, short, someOf, State, Table, text, When } from '../parts.js';
import { act, form, propose } from '../dialogs.js';
import { go, to, withQuery } from '../routes.js';
import { Diff } from '../diff.js';
import { begin, Trains } from './trains.js';
import { UNDO } from '../undo.js';
import { ACTIVITIES, BLOCKED, OUTCOMES } from '../words.js';

const MANY = 300;
let drawn = MANY;
const refresh = () => stale('/fleet', '/agents', '/state', '/ops', '/checkpoints', '/diff');

export function Fleet({ route }) {
  const fleet = resource('/fleet');
  if (route.parts[1]) return html`<${Worker} name=${route.parts[1]} fleet=${fleet} tab=${route.query.get('tab') ?? 'log'} />`;
  const off = store.who.read_only;
  const names = namesMarked(fleet.value?.agents ?? []);
  const some = names.length ? ` ${names.length}` : '';
  const start = (kind) => begin(kind, names, () => marked.clear());
  return html`<div class="title"><h1>Fleet</h1><span class="space"></span>
      <button type="button" disabled=${off} onClick=${() => start('try')}>${`Try${some} …`}</button>
      <button type="button" disabled=${off} onClick=${() => start('land')}>${`Land${some} …`}</button>
      <button type="button" disabled=${off} onClick=${newAgent}>+ New agent</button></div>
    <${Answer} of=${fleet} lines=${6}>${(value) => html`<${Overview} fleet=${value} query=${route.query.get('q') ?? ''} />`}<//>`;
}

const marked = new Set(); // the names of the rows that are marked

/** Those of the marked rows that still have something to merge. */
const namesMarked = (rows) => rows.filter((row) => marked.has(nameOf(row)) && mergeable(row)).map(nameOf);

function mark(name, wanted) {
  if (wanted) marked.add(name);
  else marked.delete(name);
  draw();
}

const nameOf = (row) => text(row.agent ?? row.fork);

function Overview({ fleet, query }) {
  const found = (fleet.agents ?? []).filter((row) => !query || `${nameOf(row)} ${text(row.fork)}`.includes(query));
  // Among a hundred agents, those who ask and those with work come first.
  const rows = [...found.filter(hasWork), ...found.filter((row) => !hasWork(row))];
  const filter = (event) => go(withQuery({ q: event.currentTarget.value.trim() || null }), 'replace');
  return html`
    <p class="facts-line">${text(fleet.message)}</p>
    <${Next} fleet=${fleet} />
    <${Trains} />
    ${(fleet.clashes ?? []).length > 0 && html`<${Clashes} rows=${fleet.clashes} />`}
    ${(fleet.agents ?? []).length > 12 &&
      html`<div class="filters"><${Field} label="Filter">
        <input type="search" data-filter placeholder="agent or fork" defaultValue=${query} onInput=${filter} /><//></div>`}
    ${(fleet.agents ?? []).length
      ? html`<${Table} label="Agents and forks" heads=${['Agent', 'Work', '~Seen', '~State', 'Into its base', '']}>
        ${rows.slice(0, drawn).map((row) => html`<${Row} key=${text(row.fork)} row=${row} />`)}<//>`
      : html`<${Empty} title="No agents"><p>Each agent works in a clone of its own, on a fork of its own.</p>
        <${Command} line="git colony agents new ada" /><//>`}
    ${rows.length > drawn && html`<button type="button" onClick=${more}>Show ${number(rows.length - drawn)} more</button>`}
    <${Removed} />`;
}

const hasWork = (row) => row.state === 'asks' || row.commits > 0 || row.unsaved > 0;

function more() {
  drawn += MANY;
  stale('/fleet');
}

function Next({ fleet }) {
  const next = fleet.next;
  if (!next?.command) return null;
  // The command may keep a state first, name a branch, or open conflicts, which the dialog of a merge settles.
  const source = text(next.command).match(/\bcolony merge ([^\s'"]+)/)?.[1];
  const row = source && fleet.agents.find((each) => isNamed(each, source) && mergeable(each));
  return html`<div class="next"><span class="label">Next</span> <${Command} line=${next.command} />
    ${row && html`<button type="button" class="primary" disabled=${store.who.read_only} onClick=${() => merge(source)}>${row.into.outcome === 'conflicted' ? 'Settle and merge …' : 'Merge …'}</button>`}
    ${(next.paths ?? []).length > 0 && html`<span class="path">${someOf(next.paths.map(text), 5)}</span>`}
    ${next.or && html`<span class="faint">or let ${text(next.or.agent)} settle it:</span> <${Command} line=${next.or.command} />`}
    ${next.ends?.abort && html`<span class="faint">or give it up:</span> <${Command} line=${next.ends.abort} />`}</div>`;
}

const isNamed = (row, name) => nameOf(row) === name || row.fork === name || row.fork === `fork/${name}`;


const withoutFork = (name) => text(name).replace(/^fork\//, '');

/** The clashes by path: who meets there. Pairs that cannot be compared come as they are. */
export function byPath(clashes) {
  const at = new Map();
  for (const clash of clashes) {
    for (const name of (clash.paths ?? []).map(text)) {
      const forks = at.get(name) ?? new Set();
      at.set(name, forks.add(withoutFork(clash.a)).add(withoutFork(clash.b)));
    }
  }
  const groups = new Map();
  for (const [name, forks] of at) {
    const who = [...forks].sort();
    const group = groups.get(who.join(' ')) ?? { paths: [], forks: who };
    group.paths.push(name);
    groups.set(who.join(' '), group);
  }
  const unknown = clashes.filter((clash) => !clash.paths?.length).map((clash) => ({ paths: [], forks: [clash.a, clash.b].map(withoutFork) }));
  return [...groups.values()].sort((a, b) => b.forks.length - a.forks.length).concat(unknown);
}

const SHOWN_CLASHES = 5;
const SHOWN_NAMES = 8;

function Clashes({ rows }) {
  const groups = byPath(rows);
  const rest = groups.slice(SHOWN_CLASHES, 200);
  return html`<ul class="clashes" aria-label="Clashes">${groups.slice(0, SHOWN_CLASHES).map(ClashLine)}</ul>
    ${rest.length > 0 && html`<details class="more"><summary>${plural(groups.length - SHOWN_CLASHES, 'more clash', 'more clashes')}</summary>
      <ul class="clashes">${rest.map(ClashLine)}${groups.length > SHOWN_CLASHES + rest.length &&
        html`<li class="faint">and ${number(groups.length - SHOWN_CLASHES - rest.length)} more</li>`}</ul></details>`}`;
}

function ClashLine({ paths, forks }) {
  const more = forks.length - SHOWN_NAMES;
  return html`<li key=${`${forks.join(' ')} ${paths[0] ?? ''}`}>
    <${State} tone="bad" sign="✕">${paths.length ? 'clash' : 'not compared'}<//> <span class="path">${someOf(paths, 5)}</span>
    <span class="faint">between</span> ${forks.slice(0, SHOWN_NAMES).map((name) => html`<a key=${name} href=${to(['fleet', name])}>${name}</a>`)}
    ${more > 0 && html`<span class="faint">and ${number(more)} more</span>`}</li>`;
}

function Row({ row }) {
  return html`<tr>
    <th scope="row" class="breaks"><a data-row href=${to(['fleet', nameOf(row)])}>${nameOf(row)}</a>
    ${row.agent && row.fork !== `fork/${row.agent}` && html`<br /><span class="faint path">${text(row.fork)}</span>`}</th>
    <td class="wrap"><${Work} row=${row} /></td>
    <td class="less"><${When} at=${row.last_seen_at} /></td>
    <td class="less"><${Activity} row=${row} /></td>
    <td class="grow"><${Into} row=${row} /></td>
    <td class="actions">${mergeable(row) &&
      html`<input type="checkbox" aria-label=${`Mark ${nameOf(row)}`} checked=${marked.has(nameOf(row))} onChange=${(event) => mark(nameOf(row), event.currentTarget.checked)} />
        <button type="button" disabled=${store.who.read_only} onClick=${() => merge(nameOf(row))}>Merge …</button>`}</td>
  </tr>`;
}

/** Its readiness, who works in its clone, and the operation in progress there. */
function Activity({ row }) {
  const [tone, sign] = ACTIVITIES[row.state] ?? ['', ''];
  const lines = [row.state === 'asks' && [tone, sign, 'asks'], readiness(row), row.held_by && ['busy', '◐', `held by ${text(row.held_by.command ?? row.held_by.session)}`],
    row.operation && ['bad', '!', text(row.operation?.kind ?? row.operation)]].filter(Boolean);
  if (!lines.length && sign) lines.push([tone, sign, text(row.state)]);
  if (!lines.length) return html`<span class="faint">${text(row.state)}</span>`;
  return lines.map(([of, by, words], at) => html`${at > 0 && html`<br />`}<${State} key=${words} tone=${of} sign=${by}>${words}<//>`);
}

function readiness({ held, tested, done }) {
  if (held) return ['busy', '‖', 'held back'];
  if (tested?.holds) return ['bad', '✕', tested.conflicted ? 'left out' : 'tests failed'];
  return done ? ['good', '✓', 'done'] : null;
}

const mergeable = (row) => row.into && row.into.outcome !== 'up_to_date' && row.into.outcome !== 'unrelated';

function Work({ row }) {
  const parts = [];
  if (row.commits) parts.push(plural(row.commits, 'commit'), plural(row.files, 'file'));
  if (row.unsaved) parts.push(`${number(row.unsaved)} uncommitted`);
  // A part stays on its line.
  const words = parts.map((part) => part.replace(' ', '\u00a0'));
  return parts.length ? html`<span>${words.join(', ')}</span>` : html`<span class="faint">${row.merged ? 'merged' : text(row.work)}</span>`;
}

function Into({ row }) {
  if (!row.into) return null;
  if (row.lost_with) return html`<${State} tone="bad" sign="✕">lost by a revert<//>`;
  const branch = text(row.into.branch);
  const paths = (row.into.paths ?? []).map(text);
  const [tone, sign, before, after] = OUTCOMES[row.into.outcome] ?? ['busy', '!', text(row.into.outcome).replaceAll('_', ' '), ''];
  if (row.into.outcome === 'conflicted') return html`<${State} tone=${tone} sign=${sign}>${before}<//> <span class="path">${someOf(paths, 3)}</span>`;
  return html`<${State} tone=${tone} sign=${sign}>${[before, branch, after].filter(Boolean).join(' ')}<//>`;
}

function Removed() {
  const removed = resource('/agents').value?.removed ?? [];
  if (!removed.length) return null;
  return html`<${Section} id="removed" title="Removed agents">
    <${Table} label="Removed agents" heads=${['Agent', 'Removed', '']}>${removed.map((row) => html`<tr key=${`${text(row.agent)} ${text(row.removed_at)}`}>
      <th scope="row">${text(row.agent)}</th><td class="grow"><${When} at=${row.removed_at} /></td>
      <td class="actions"><button type="button" disabled=${store.who.read_only} onClick=${() => act('POST', `${segments('agents', row.agent)}/restore`, {}, refresh)}>Restore</button></td></tr>`)}<//>
  <//>`;
}

function newAgent() {
  form({
    title: 'New agent',
    verb: 'Create',
    fields: () => html`<${Field} label="Name" hint="Letters, digits, '.', '_' and '-'">
      <input name="name" required autofocus autocomplete="off" spellcheck="false" /><//>
      <${Field} label="From" hint="A branch, fork, checkpoint or commit; empty: HEAD">
        <input name="from" autocomplete="off" spellcheck="false" /><//>`,
    submit: async ({ name, from }) => {
      const { value } = await call('POST', '/agents', from ? { name, from } : { name });
      refresh();
      return value;
    },
  });
}

// Merge

/** Shows how a merge would end; each conflict can be settled by whole paths. */
export function merge(source) {
  propose({
    title: `Merge ${source}`, verb: 'Merge', path: '/merge', body: { source }, first: 'dry_run', wide: true,
    options: (body, set, report) => html`<${MergeOptions} body=${body} set=${set} report=${report} />`,
    lines: (report) => html`<${MergeLines} report=${report} />`,
    blocked: (report) => BLOCKED[report.outcome],
    done: refresh, after: UNDO,
  });
}

const conflictPaths = new Map(); // paths that a merge had in conflict before they were settled

function MergeOptions({ body, set, report }) {
  const known = conflictPaths.get(body) ?? new Set();
  for (const conflict of report?.conflicts ?? []) known.add(text(conflict.path));
  conflictPaths.clear();
  conflictPaths.set(body, known);
  const choice = (name) => ['ours', 'theirs', 'both'].find((side) => body[side]?.includes(name)) ?? 'open';
  const choose = (name, side) => {
    const fields = {};
    for (const each of ['ours', 'theirs', 'both']) {
      const rest = (body[each] ?? []).filter((other) => other !== name);
      fields[each] = each === side ? [...rest, name] : rest;
    }
    set(Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, value.length ? value : undefined])));
  };
  const words = { ours: `as in ${text(report?.into) || 'the target'}`, theirs: `as in ${text(report?.source ?? body.source)}`, both: 'both', open: 'open' };
  return html`${[...known].map((name) => html`<fieldset class="choice" key=${name}><legend class="path">${name}</legend>
      ${Object.entries(words).map(([side, word]) =>
        html`<label key=${side}><input type="radio" name=${`settle-${name}`} checked=${choice(name) === side} onChange=${() => choose(name, side)} /> ${word}</label>`)}
    </fieldset>`)}
    <label class="check"><input type="checkbox" checked=${Boolean(body.squash)} onChange=${(event) => set({ squash: event.currentTarget.checked || undefined })} /> one ordinary commit instead of a merge (squash)</label>`;
}

function MergeLines({ report }) {
  return html`
    ${report.files_changed > 0 && html`<p>${plural(report.files_changed, 'file')} would change in ${text(report.into)}.</p>`}
    ${report.uncommitted &&
      html`<p><${State} tone="busy" sign="!">${plural(report.uncommitted.paths, 'uncommitted path')} of ${text(report.uncommitted.agent)} would not come along<//></p>`}
    ${report.outcome === 'conflicted' && report.hint && html`<${Command} line=${report.hint} />`}`;
}

// One agent or fork

function Worker({ name, fleet, tab }) {
  const row = fleet.value?.agents?.find((each) => isNamed(each, name));
  const crumbs = html`<p class="crumbs"><a href="/fleet">Fleet</a></p>`;
  if (fleet.value && !row) return html`${crumbs}<h1>${name}</h1>
    <${Empty} title="No agent or fork has this name">It may have been merged or removed. <a href="/fleet">Back to the fleet</a><//>`;
  if (!row) return html`${crumbs}<h1>${name}</h1><${Answer} of=${fleet}>${() => null}<//>`;
  const tabs = [['log', 'Log'], ['diff', 'Diff since it left'], ['agent', 'About']];
  return html`${crumbs}<div class="title"><h1>${nameOf(row)}</h1>${row.agent &&
    html`<span class="faint path">${text(row.fork)}</span>`}<span class="space"></span>
      ${mergeable(row) && html`<button type="button" class="primary" disabled=${store.who.read_only} onClick=${() => merge(nameOf(row))}>Merge …</button>`}
      ${row.agent && html`<button type="button" disabled=${store.who.read_only} onClick=${() => remove(row.agent, row)}>Remove …</button>`}</div>
    <p class="facts-line"><${Work} row=${row} /> <span class="faint">seen <${When} at=${row.last_seen_at} /></span> <${Into} row=${row} /></p>
    ${(row.outside_scope ?? []).length > 0 &&
      html`<p><${State} tone="bad" sign="!">outside of its allowed paths:<//> <span class="path">${row.outside_scope.map(text).join(', ')}</span></p>`}
    <nav class="tabs" aria-label="Parts">${tabs.map(([id, word]) =>
      html`<a key=${id} href=${withQuery({ tab: id })} aria-current=${id === tab ? 'true' : null}>${word}</a>`)}</nav>
    ${tab === 'diff' ? html`<${Diff} a=${text(row.into?.branch) || 'main'} b=${text(row.fork)} />` : tab === 'agent'
      ? html`<${About} row=${row} />` : html`<${Log} row=${row} />`}`;
}

function Log({ row }) {
  const entry = resource(`${segments('agents', nameOf(row))}/log`);
  return html`<${Answer} of=${entry}>${(value) => (value.commits ?? []).length
    ? html`<p class="faint">${text(value.message)}</p>
      <${Table} label="Commits" heads=${['Commit', 'Subject', 'Author', 'When']}>${value.commits.map((commit) => html`<tr key=${text(commit.sha)}>
        <td class="mono">${short(commit.sha)}</td>
        <th scope="row" class="grow">${text(commit.subject)}</th>
        <td>${text(commit.author)}</td>
        <td><${When} at=${commit.authored_at} /></td></tr>`)}<//>
        ${value.truncated && html`<p class="hint">Older commits are left out.</p>`}`
    : html`<${Empty} title="No commit of its own">${text(value.message)}<//>`}<//>`;
}

function About({ row }) {
  const agent = resource('/agents').value?.agents?.find((each) => each.agent === row.agent);
  const at = (moment) => moment && html`<${When} at=${moment} clock />`;
  const facts = [['Branch', text(row.fork)], ['Clone', text(agent?.path)], ['Created', at(agent?.created_at)], ['Last checkpoint', at(row.last_checkpoint_at)], ['Held by', row.held_by && `${text(row.held_by.command)} (process ${text(row.held_by.pid)})`]];
  return html`<dl class="facts">${facts.filter(([, value]) => value).map(([name, value]) => html`<div key=${name}><dt>${name}</dt>
    <dd class="path">${value}</dd></div>`)}</dl>
    ${row.agent && html`<${Command} line=${`cd "$(git colony agents path ${text(row.agent)})"`} />`}`;
}

/** What of the work of an agent is not on the branch here. A squashed commit is there, by another name. */
function leftOver(report, row) {
  const commits = plural(report.unmerged_commits ?? 0, 'unmerged commit');
  const squashed = row?.merged && report.unmerged_commits > 0;
  const first = squashed ? `${plural(report.unmerged_commits, 'commit')}, squashed into ${text(row.into?.branch) || 'its base'}` : commits;
  return `${first}; ${plural(report.unsaved ?? 0, 'uncommitted path')}: kept`;
}

function remove(name, row) {
  propose({
    title: `Remove ${text(name)}`, verb: 'Remove', danger: true, path: `${segments('agents', name)}/remove`, body: {}, first: 'preview',
    lines: (report) => html`<ul class="plain"><li>${leftOver(report, row)}</li>
      <li class="path">${text(report.path)}</li></ul>
      <p class="faint">Restore brings it back.</p>`,
    done: () => {
      refresh();
      go('/fleet');
    },
    after: { name: 'Restore', run: () => act('POST', `${segments('agents', name)}/restore`, {}, refresh) },
  });
}
