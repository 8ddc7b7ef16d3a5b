// Design monorepo: load a repository, look at its tree and its map, tick sources, preview, map.

import { call, path } from '../api.js';
import { draw, html, keep, reload, resource, stale, store, tell } from '../store.js';
import { Answer, bytes, Command, Empty, Field, number, plural, Problem, Section, short, someOf, State, text } from '../parts.js';
import { Buttons, closeDialog, openDialog, propose } from '../dialogs.js';
import { DESTINATIONS, INGESTED } from '../words.js';
import { go, withQuery } from '../routes.js';
import { Treemap } from '../treemap.js';
import { Patch } from '../diff.js';

const opened = new Set(['.']); // directories that are open, so that drawing again keeps them
const previews = { key: null, report: null, error: null, busy: false };

/** Returns what a request asks for. This repository is asked at HEAD, unless another branch or commit is named. */
function wanted({ origin_url, branch, commit }) {
  if (origin_url) return { origin_url, branch, commit };
  const here = resource('/state').value?.current_branch;
  return { branch: branch === here ? undefined : branch, commit: commit === 'HEAD' ? undefined : commit };
}

export function Design({ route }) {
  const colony = resource('/colonies/default/design-monorepo');
  const state = resource('/state');
  const asked = { origin_url: route.query.get('origin_url') ?? '', branch: route.query.get('branch'), commit: route.query.get('commit') ?? 'HEAD' };
  const known = colony.value ?? {};
  const branch = known.origin_url ? known.branch : state.value?.current_branch;
  const initial = asked.branch ? asked : { origin_url: known.origin_url, branch: branch ?? 'main', commit: known.commit ?? 'HEAD' };
  // A problem belongs to the page on which it came: another address has none of it.
  const problem = loadProblem?.route === route ? loadProblem.error : null;
  return html`<h1>Design monorepo</h1>
    <form class="load" key=${`${text(initial.origin_url)}|${text(initial.branch)}|${text(initial.commit)}`} onSubmit=${load}>
      <${Field} label="URL">
        <input name="origin_url" spellcheck="false" autocomplete="off" placeholder="this repository" defaultValue=${text(initial.origin_url)} /><//>
      <${Field} label="Branch"><input name="branch" required spellcheck="false" defaultValue=${text(initial.branch)} /><//>
      <${Field} label="Commit"><input name="commit" required spellcheck="false" defaultValue=${text(initial.commit)} /><//>
      <button type="submit" class="primary" disabled=${loading}>${loading ? 'Loading …' : 'Load'}</button>
    </form>
    <${Problem} error=${problem} />
    ${asked.branch ? html`<${Answer} of=${state}>${() =>
      html`<${Loaded} asked=${asked} route=${route} problem=${problem} />`}<//>` : !problem && html`<${Empty} title="Nothing is loaded">
      <p>Load shows the files and the sources of the map. Without a URL it is this repository.</p><//>`}`;
}

let loading = false;
let loadProblem = null;

async function load(event) {
  event.preventDefault();
  const values = Object.fromEntries([...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value).trim()]));
  loading = true;
  loadProblem = null;
  draw();
  try {
    // Only this button fetches; a change of tab shows the last answer.
    const map = await call('GET', path('/repo-map', { ...wanted(values), fresh: true }));
    keep(path('/repo-map', wanted(values)), map.value);
    await reload(path('/repo-map/tree', wanted(values)));
    go(path('/design', values));
    tell(`loaded ${text(map.value.origin_url) || 'this repository'} at ${short(map.value.resolved_commit)}`);
  } catch (error) {
    loadProblem = { error, route: store.route };
  } finally {
    loading = false;
    draw();
  }
}

function Loaded({ asked, route, problem }) {
  const map = resource(path('/repo-map', wanted(asked)));
  // Counting the tokens of a large repository takes a while: until then the sizes are bytes.
  const plain = resource(path('/repo-map/tree', wanted(asked)));
  const counted = plain.value ? resource(path('/repo-map/tree', { ...wanted(asked), tokens: true })) : plain;
  const tree = counted.value ? counted : plain;
  const off = new Set(route.query.getAll('without'));
  const treemap = route.query.get('view') === 'treemap';
  const view = html`<a class="button" href=${withQuery({ view: treemap ? null : 'treemap' })}>${treemap ? 'As a tree' : 'As a treemap'}</a>`;
  // Map and tree fail for one reason.
  const [first] = [map.error, tree.error].filter(Boolean);
  if (map.value === undefined && tree.value === undefined && first) {
    return first.message === problem?.message ? null : html`<${Problem} error=${first} />`;
  }
  return html`<div class="halves">
    <${Section} id="files" title="Files" aside=${tree.value && view}>
      <${Answer} of=${tree} lines=${8}>${(value) => html`
        ${treemap ? html`<${Map_} root=${value.root} at=${route.query.get('dir') ?? '.'} />`
          : html`<div class="tree"><${Branch} node=${value.root} /></div>`}
        ${value.truncated && html`<p class="hint">Truncated at ${plural(value.count, 'entry', 'entries')}.</p>`}`}<//>
    <//>
    <div>
      <${Answer} of=${map} lines=${6}>${(value) => html`<${Sources} map=${value} off=${off} asked=${asked} />`}<//>
    </div>
  </div>
  ${map.value && html`<${Preview} map=${map.value} off=${off} asked=${asked} />`}`;
}

// The tree

const nameOf = (node) => text(node.path).split('/').pop();
const sizeOf = (node) => (Number.isFinite(node.tokens) ? node.tokens : node.bytes ?? (node.children ?? []).reduce((sum, child) => sum + sizeOf(child), 0));
const sizeText = (node) => (Number.isFinite(node.tokens) ? `${number(node.tokens)} t` : bytes(sizeOf(node)));

/** Directories come first, each by name, whether tokens have been counted or not. */
function inOrder(children) {
  const byName = (a, b) => (nameOf(a) < nameOf(b) ? -1 : 1);
  return [...children].sort((a, b) => Number(b.is_dir) - Number(a.is_dir) || byName(a, b));
}

function Branch({ node }) {
  return html`<ul>${inOrder(node.children ?? []).map((child) => html`<li key=${text(child.path)}>
    ${child.is_dir ? html`<${Directory} node=${child} />` : html`<span class="leaf"><span class="path">${nameOf(child)}</span>
    <span class="size">${sizeText(child)}</span></span>`}
  </li>`)}</ul>`;
}

function Directory({ node }) {
  const key = text(node.path);
  const toggle = (event) => {
    event.stopPropagation();
    if (event.currentTarget.open === opened.has(key)) return;
    if (event.currentTarget.open) opened.add(key);
    else opened.delete(key);
    draw();
  };
  return html`<details open=${opened.has(key)} onToggle=${toggle}>
    <summary data-row><span class="path">${nameOf(node)}/</span><span class="size">${sizeText(node)}</span></summary>
    ${opened.has(key) && html`<${Branch} node=${node} />`}
  </details>`;
}

function Map_({ root, at }) {
  const node = find(root, at) ?? root;
  const items = (node.children ?? []).map((child) => ({ key: text(child.path), size: sizeOf(child), isDirectory: child.is_dir, node: child }));
  const up = text(node.path).split('/').slice(0, -1).join('/') || '.';
  const cell = (tile, roomy) => {
    const label = `${nameOf(tile.node)}${tile.isDirectory ? '/' : ''} ${sizeText(tile.node)}`;
    const inside = roomy ? html`<span class="path">${nameOf(tile.node)}${tile.isDirectory ? '/' : ''}</span>
      <span class="size">${sizeText(tile.node)}</span>` : null;
    if (tile.isDirectory) return html`<a data-row href=${withQuery({ dir: tile.key })} title=${label} aria-label=${label}>${inside}</a>`;
    return html`<div title=${label}>${inside ?? html`<span class="sr">${label}</span>`}</div>`;
  };
  return html`<p class="crumbs">${text(node.path) === '.' ? 'All files'
    : html`<a href=${withQuery({ dir: up })}>↑ up</a> <span class="path">${text(node.path)}/</span>`} <span class="size">${sizeText(node)}</span></p>
    <${Treemap} items=${items} cell=${cell} label="Sizes of files" />`;
}

function find(node, at) {
  if (node.path === at) return node;
  for (const child of node.children ?? []) {
    if (child.is_dir && (at === child.path || at.startsWith(`${child.path}/`))) return find(child, at);
  }
  return null;
}

// The map

function Sources({ map, off, asked }) {
  const rows = map.sources ?? [];
  const ticked = rows.filter((row) => !off.has(text(row.name)));
  return html`
    <${Section} id="sources" title="Sources" aside=${html`<span class="faint">${ticked.length} of ${rows.length} selected</span>`}>
      ${!map.has_repo_map_file && html`<p class="hint">No map file: one source of the whole tree. <code>git colony init</code> writes one.</p>`}
      ${map.map_uncommitted && html`<p class="hint">The map has uncommitted changes; the committed one counts.</p>`}
      <ul class="sources">${rows.map((row) => html`<${Source} key=${text(row.name)} row=${row} off=${off} />`)}</ul>
      <${Findings} rows=${map.problems} tone="bad" sign="✕" /><${Findings} rows=${map.warnings} tone="busy" sign="!" />
      ${map.raw_yaml && html`<details class="raw"><summary>.colony/repo_map.yaml</summary><pre tabindex="0">${text(map.raw_yaml)}</pre></details>`}
    <//>
    <${Routing} rows=${map.knowledge_routing ?? []} here=${!asked.origin_url} />`;
}

function Source({ row, off }) {
  const name = text(row.name);
  const knobs = [
    row.start_dir && `${text(row.start_dir)}/`,
    row.include_globs?.length && someOf(row.include_globs.map(text), 3),
    row.submodule && `submodule ${text(row.submodule)}`,
    row.origin_url && text(row.origin_url),
    row.static && 'static',
    row.flush_threshold && plural(row.flush_threshold, 'record'),
    row.flush_token_budget && plural(row.flush_token_budget, 'token'),
    row.chunk_target_tokens && `${number(row.chunk_target_tokens)} tokens a chunk`,
    row.pinned && 'pinned',
  ].filter(Boolean);
  const toggle = (event) => {
    const rest = new Set(off);
    if (event.currentTarget.checked) rest.delete(name);
    else rest.add(name);
    go(withQuery({ without: [...rest] }), 'replace');
  };
  return html`<li><label>
    <input type="checkbox" data-row checked=${!off.has(name)} onChange=${toggle} />
    <span><span class="name">${name}</span> <span class="tag">${text(row.type)}</span>
    <br /><span class="faint">${knobs.join(' · ') || 'the whole tree'}</span></span>
  </label></li>`;
}

function Findings({ rows, tone, sign }) {
  if (!rows?.length) return null;
  const words = (row) => (typeof row === 'string' ? row : `${row.line ? `${row.line}:${row.column ?? 1} ` : ''}${text(row.message ?? row.problem ?? row.text)}`);
  return html`<ul class="findings">${rows.map((row, index) =>
    html`<li key=${index}><${State} tone=${tone} sign=${sign}>${words(row)}<//></li>`)}</ul>`;
}

function Routing({ rows, here }) {
  if (!rows.length) return null;
  const off = store.who.read_only;
  const aside = here && html`<button type="button" disabled=${off} onClick=${ingest}>Ingest …</button>`;
  return html`<${Section} id="routing" title="Documents" aside=${aside}>
    <ol class="sources routing">${rows.map((row, index) => html`<li key=${index}>
      <span class="faint num">${index + 1}</span>
      <span class="path">${(row.paths ?? []).map(text).join(', ')}</span>
      <${Destination} of=${row.ingest_to} />
      ${here && html`<button type="button" disabled=${off} onClick=${() => move(row.ingest_to === 'vcm' ? DEMOTE : PROMOTE, row, index + 1)}>${row.ingest_to === 'vcm' ? 'Demote …' : 'Promote …'}</button>
        <button type="button" disabled=${off} onClick=${() => clear(index + 1)}>Clear KB chunks …</button>`}
    </li>`)}</ol>
  <//>`;
}

function Destination({ of }) {
  const [tone, sign, name] = DESTINATIONS[of] ?? ['', '·', text(of)];
  return html`<${State} tone=${tone} sign=${sign}>${name}<//>`;
}

const PROMOTE = { title: 'Promote to VCM', path: '/promote', done: 'Promoted' };
const DEMOTE = { title: 'Demote to the knowledge base', path: '/demote', done: 'Demoted' };

/** Moves documents between the knowledge base and VCM: the file or directory is typed, and the change of the map is shown. */
async function move(way, route, row) {
  const prefix = text(route.paths?.[0]).split(/[*?[]/)[0];
  // What the knowledge base has of the row is offered. Other documents can be typed.
  const known = way === PROMOTE ? ((await call('GET', '/knowledge')).value.sources ?? []).map((each) => text(each.path)) : [];
  const documents = known.filter((each) => each.startsWith(prefix));
  const directories = [...new Set(documents.map((each) => each.split('/').slice(0, -1).join('/')).filter(Boolean))];
  const suggestions = [...directories, ...documents];
  const first = suggestions[0] ?? prefix.replace(/\/$/, '');
  propose({
    title: way.title, verb: 'Commit', path: way.path, body: {}, first: 'dry_run', wide: true, waits: true,
    options: (body, set) => html`<${Documents} set=${set} first=${first} suggestions=${suggestions} row=${row} />`,
    lines: (report) => html`${report.diff && html`<${Patch} patch=${text(report.diff)} label="Change of the map" />`}
      ${(report.unread ?? []).length > 0 && html`<p class="hint">No literature source reads ${plural(report.unread.length, 'file')} of these, so pages have them only by another source.</p>`}`,
    blocked: (report) => (report.diff ? null : 'There is nothing to move.'),
    done: (report) => {
      stale('/repo-map', '/knowledge', '/ops', '/state', '/fleet');
      tellNext(way, report);
    },
  });
}

function Documents({ set, first, suggestions, row }) {
  const show = (event) => {
    event.preventDefault();
    set({ paths: [String(new FormData(event.currentTarget).get('path')).trim()] });
  };
  return html`<form class="ask" onSubmit=${show}>
    <${Field} label="File or directory" hint=${`Of row ${row}, or another one. The map changes by a commit, which is shown first.`}>
      <input name="path" list="documents" required autofocus spellcheck="false" autocomplete="off" defaultValue=${first} />
    <//>
    <datalist id="documents">${suggestions.map((each) => html`<option key=${each} value=${each}></option>`)}</datalist>
    <button type="submit">Show the change</button>
  </form>`;
}

/** Says the next step: the chunks of what was promoted stay in the knowledge base until they are cleared. */
function tellNext(way, report) {
  const commands = (report.clear ?? []).map(text);
  // Since the commit the documents are those of the row that keeps them out of the knowledge base.
  const rows = [...new Set((report.paths ?? []).filter((file) => file.ingest_to === 'vcm').map((file) => number(file.row)))];
  const button = rows.length ? `Clear KB chunks (row ${rows.join(', ')})` : 'Clear KB chunks';
  const body = () => html`<p>${text(report.message)}.</p>
    <p>${way === PROMOTE ? 'Map to VCM makes pages of what moved.' : 'Ingest puts what moved into the knowledge base.'}</p>
    ${commands.length > 0 && html`<p>The old chunks stay in the knowledge base until they are cleared: by ${button}, or by</p>
      ${commands.map((line) => html`<p key=${line}><${Command} line=${line} /></p>`)}`}
    <${Buttons} cancel="Close" />`;
  openDialog({ title: way.done, body });
}

/** Ingests what the map routes to the knowledge base. */
function ingest() {
  propose({
    title: 'Ingest documents', verb: 'Ingest', path: '/ingest', body: {}, first: 'dry_run', wide: true,
    lines: (report) => html`<p class="faint">These are the documents of the commit at HEAD that the rows give to the knowledge base. Undo on Timeline takes it back.</p>
      <${Ingested} rows=${report.records} />`,
    blocked: (report) => ((report.records ?? []).some((row) => row.status !== 'unchanged') ? null : 'There is nothing to ingest.'),
    done: (report) => {
      stale('/knowledge', '/ops', '/state', '/search', '/context');
      openDialog({ title: 'Ingested', wide: true, body: () => html`<p>${text(report.message)}.</p><${Ingested} rows=${report.records} /><${Buttons} cancel="Close" />` });
    },
  });
}

function Ingested({ rows }) {
  const changed = (rows ?? []).filter((row) => row.status !== 'unchanged');
  return html`<ul class="plain">${changed.slice(0, 200).map((row) => {
    const [tone, sign, word] = INGESTED[row.status] ?? ['', '·', text(row.status)];
    return html`<li key=${text(row.source_uri)}><${State} tone=${tone} sign=${sign}>${word}<//> <span class="path">${text(row.path)}</span> <span class="faint">${row.error ? text(row.error) : row.chunks ? plural(row.chunks, 'chunk') : ''}</span></li>`;
  })}
    ${changed.length > 200 && html`<li class="faint">and ${number(changed.length - 200)} more</li>`}</ul>`;
}

function clear(row) {
  propose({
    title: `Clear KB chunks (row ${row})`, verb: 'Clear', danger: true, method: 'DELETE', path: '/knowledge', body: { row }, first: 'dry_run',
    lines: (report) => html`<ul class="plain">${(report.cleared ?? report.sources ?? report.documents ?? []).slice(0, 50).map((each) =>
      html`<li class="path" key=${text(each.source_uri ?? each)}>${text(each.path ?? each.source_uri ?? each)}</li>`)}</ul>`,
    blocked: (report) => (report.count === 0 ? 'The knowledge base has no chunks of this row.' : null),
    done: () => stale('/knowledge', '/ops', '/state', '/search'),
  });
}

// Preview and map

/** Returns the body of a request: the list is left out if all are ticked. */
function request(map, off, asked) {
  const names = (map.sources ?? []).map((row) => text(row.name));
  const ticked = names.filter((name) => !off.has(name));
  const body = { ...wanted(asked) };
  if (ticked.length < names.length) body.enabled_sources = ticked;
  return { body, ticked };
}

function Preview({ map, off, asked }) {
  const { body, ticked } = request(map, off, asked);
  const key = JSON.stringify([body, map.resolved_commit]);
  const report = previews.key === key ? previews.report : null;
  const nothing = ticked.length === 0;
  return html`<${Section} id="preview" title="Mapping" aside=${html`
      <button type="button" disabled=${nothing || previews.busy} onClick=${() => preview(key, body)}>Preview mmap calls</button>
      <button type="button" class="primary" disabled=${nothing || store.who.read_only} onClick=${() => confirmMap(map, asked, body, ticked)}>Map to VCM</button>`}>
    ${nothing && html`<p class="hint">Tick a source to map it.</p>`}
    ${previews.key === key && html`<${Problem} error=${previews.error} />`}
    ${!report && !nothing && html`<p class="faint">The preview shows the scope and every knob of each source, and changes nothing.</p>`}
    ${report && html`<div class="calls">${(report.sources ?? []).map((row) => html`<${Call} key=${text(row.name)} row=${row} />`)}</div>`}
  <//>`;
}

function Call({ row }) {
  const kwargs = row.mmap_kwargs ?? {};
  if (kwargs.error || row.error) return html`<article class="call"><h3>${text(row.name)}</h3>
    <${State} tone="bad" sign="✕">${text(kwargs.error ?? row.error)}<//></article>`;
  const shown = (value) => (Array.isArray(value) ? value.map(text).join(', ') || 'none' : value === null ? 'none' : text(value));
  return html`<article class="call"><h3>${text(row.name)}</h3>
    <dl>${Object.entries(kwargs).map(([name, value]) => html`<div key=${name} class=${value === null ? 'unset' : ''}><dt>${name}</dt>
    <dd>${shown(value)}</dd></div>`)}</dl>
  </article>`;
}

async function preview(key, body) {
  Object.assign(previews, { key, report: null, error: null, busy: true });
  draw();
  try {
    previews.report = (await call('POST', '/repo-map/preview', body)).value;
  } catch (error) {
    previews.error = error;
  } finally {
    previews.busy = false;
    draw();
  }
}

function confirmMap(map, asked, body, ticked) {
  const state = { error: null, busy: false, operation: null };
  const map_ = async () => {
    Object.assign(state, { busy: true, error: null });
    draw();
    try {
      state.operation = (await call('POST', '/vcm/map', body)).value;
      stale('/vcm');
    } catch (error) {
      state.error = error;
    } finally {
      state.busy = false;
      draw();
    }
  };
  const follow = () => {
    closeDialog();
    go('/vcm');
  };
  const summary = html`<dl class="facts">
    <div><dt>Repository</dt><dd class="path">${text(body.origin_url ?? map.origin_url) || 'this repository'}</dd></div>
    <div><dt>Branch</dt><dd>${text(asked.branch)}</dd></div>
    <div><dt>Commit</dt><dd class="mono">${text(asked.commit)} ${map.resolved_commit && `(${short(map.resolved_commit)})`}</dd></div>
    <div><dt>Sources</dt><dd>${ticked.join(', ')}${body.enabled_sources ? '' : ' (all)'}</dd></div>
  </dl>`;
  const dialog = () => html`${summary}<${Problem} error=${state.error} />
    ${state.operation
      ? html`<p><${State} tone="good" sign="✓">${text(state.operation.op_id)} has begun<//></p>
        <div class="buttons"><button type="button" onClick=${closeDialog}>Stay here</button>
        <button type="button" class="primary" onClick=${follow}>Follow it in VCM</button></div>`
      : html`<p class="faint">The mapping runs in the background. VCM shows its progress and the pages.</p>
        <${Buttons} verb="Map" busy=${state.busy} onApply=${map_} />`}`;
  openDialog({ title: 'Map to VCM', body: dialog });
}
