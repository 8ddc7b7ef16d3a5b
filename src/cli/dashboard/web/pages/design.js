// Design monorepo: load a repository, look at its tree and its map, tick sources, preview, map.

import { call, path } from '../api.js';
import { draw, html, keep, reload, resource, stale, store, tell } from '../store.js';
import { Answer, bytes, copy, Empty, Field, number, plural, Problem, Section, short, State, text } from '../parts.js';
import { Buttons, closeDialog, openDialog, propose } from '../dialogs.js';
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
  return html`<h1>Design monorepo</h1>
    <form class="load" key=${`${text(initial.origin_url)}|${text(initial.branch)}|${text(initial.commit)}`} onSubmit=${load}>
      <${Field} label="URL">
        <input name="origin_url" spellcheck="false" autocomplete="off" placeholder="this repository" defaultValue=${text(initial.origin_url)} /><//>
      <${Field} label="Branch"><input name="branch" required spellcheck="false" defaultValue=${text(initial.branch)} /><//>
      <${Field} label="Commit"><input name="commit" required spellcheck="false" defaultValue=${text(initial.commit)} /><//>
      <button type="submit" class="primary" disabled=${loading}>${loading ? 'Loading …' : 'Load'}</button>
    </form>
    <${Problem} error=${loadProblem} />
    ${asked.branch ? html`<${Answer} of=${state}>${() =>
      html`<${Loaded} asked=${asked} route=${route} />`}<//>` : !loadProblem && html`<${Empty} title="Nothing is loaded">
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
    loadProblem = error;
  } finally {
    loading = false;
    draw();
  }
}

function Loaded({ asked, route }) {
  const map = resource(path('/repo-map', wanted(asked)));
  // Counting the tokens of a large repository takes a while: until then the sizes are bytes.
  const plain = resource(path('/repo-map/tree', wanted(asked)));
  const counted = plain.value ? resource(path('/repo-map/tree', { ...wanted(asked), tokens: true })) : plain;
  const tree = counted.value ? counted : plain;
  const off = new Set(route.query.getAll('without'));
  const treemap = route.query.get('view') === 'treemap';
  const view = html`<a class="button" href=${withQuery({ view: treemap ? null : 'treemap' })}>${treemap ? 'As a tree' : 'As a treemap'}</a>`;
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
  return html`<${Section} id="routing" title="Documents">
    <ol class="sources routing">${rows.map((row, index) => html`<li key=${index}>
      <span class="faint num">${index + 1}</span>
      <span class="path">${(row.paths ?? []).map(text).join(', ')}</span>
      ${row.ingest_to === 'vcm' ? html`<${State} tone="good" sign="▣">VCM<//>` : html`<${State} sign="▤">knowledge base<//>`}
      ${here && row.ingest_to !== 'vcm' && html`<button type="button" disabled=${off} onClick=${() => choose(index + 1, row)}>Promote …</button>`}
      ${here && html`<button type="button" disabled=${off} onClick=${() => clear(index + 1)}>Clear KB chunks …</button>`}
    </li>`)}</ol>
  <//>`;
}

/** Promoting takes files or directories, so the documents of the row that the knowledge base has are offered. */
async function choose(row, route) {
  const { value } = await call('GET', '/knowledge');
  const prefix = text(route.paths?.[0]).split(/[*?[]/)[0];
  const documents = (value.sources ?? []).map((each) => text(each.path)).filter((each) => each.startsWith(prefix));
  const directories = [...new Set(documents.map((each) => each.split('/').slice(0, -1).join('/')).filter(Boolean))];
  const suggestions = [...directories, ...documents];
  const next = (event) => {
    event.preventDefault();
    const target = String(new FormData(event.currentTarget).get('path')).trim();
    promote(target);
  };
  const body = () => html`<form class="plan" onSubmit=${next}>
    <${Field} label="File or directory" hint=${`Row ${row}. The next step shows the change of the map.`}>
      <input name="path" list="documents" required autofocus spellcheck="false" autocomplete="off" defaultValue=${suggestions[0] ?? prefix.replace(/\/$/, '')} />
    <//>
    <datalist id="documents">${suggestions.map((each) => html`<option key=${each} value=${each}></option>`)}</datalist>
    <${Buttons} verb="Next" />
  </form>`;
  openDialog({ title: 'Promote to VCM', body });
}

function promote(target) {
  propose({
    title: `Promote ${target}`, verb: 'Commit', path: '/promote', body: { paths: [target] }, first: 'dry_run', wide: true,
    lines: (report) => report.diff && html`<${Patch} patch=${text(report.diff)} label="Change of the map" />`,
    blocked: (report) => (report.count === 0 ? 'There is nothing to move.' : null),
    done: (report) => {
      stale('/repo-map', '/knowledge', '/ops', '/state', '/fleet');
      offerClearing(report);
    },
  });
}

/** The chunks of what was promoted stay in the knowledge base until they are cleared. */
function offerClearing(report) {
  const commands = (report.clear ?? []).map(text);
  if (!commands.length) return;
  const body = () => html`<p>${text(report.message)}. The old chunks stay in the knowledge base until they are cleared, by Clear KB chunks or by:</p>
    ${commands.map((line) =>
      html`<p key=${line}><code>${line}</code> <button type="button" class="quiet" onClick=${() => copy(line)}>Copy</button></p>`)}
    <${Buttons} cancel="Close" />`;
  openDialog({ title: 'Promoted', body });
}

function clear(row) {
  propose({
    title: `Clear the chunks of row ${row}`, verb: 'Clear', danger: true, method: 'DELETE', path: '/knowledge', body: { row }, first: 'dry_run',
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
