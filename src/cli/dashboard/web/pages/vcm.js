// VCM: mapping operations, scopes, the page catalog, the working set and its locks.

import { path, segments } from '../api.js';
import { html, resource, stale, store } from '../store.js';
import { Answer, bytes, Empty, Field, number, plural, Section, short, State, Table, text, When, Windowed } from '../parts.js';
import { act, propose } from '../dialogs.js';
import { go, to, withQuery } from '../routes.js';
import { followOperations } from '../live.js';
import { isOpen, OPERATIONS as TONES } from '../words.js';

const OPERATIONS = '/vcm/map/operations';
const PAGES = path('/vcm/pages', { limit: 50_000 });
const ROW = 34;
const LOCK_SECONDS = 300;

export function Vcm({ route }) {
  if (route.parts.length > 2) return html`<${Page} scope=${route.parts[1]} id=${route.parts[2]} />`;
  const scope = route.query.get('scope') ?? '';
  const pages = resource(PAGES);
  // Pages of uncommitted files are listed by their scope only.
  const listed = scope.endsWith(WORKTREE) ? resource(path('/vcm/pages', { limit: 50_000, scope })) : pages;
  return html`<h1>VCM</h1>
    <${Operations} />
    <${Scopes} />
    <${Catalog} pages=${listed} query=${route.query.get('q') ?? ''} scope=${scope} />
    <${WorkingSet} pages=${pages.value} agent=${route.query.get('agent') ?? ''} />`;
}

const WORKTREE = '@worktree';

/** The row of a scope. Its id is that of the repository, a colon and the row; the row of a map of one source adds nothing. */
export function rowOf(id) {
  const [committed] = text(id).split(WORKTREE);
  const [, name] = committed.match(/:([^:/]+)$/) ?? [];
  return name ?? 'default';
}

/** A scope is called by the name of its row. */
export const scopeName = (id) => rowOf(id) + (text(id).endsWith(WORKTREE) ? ' (uncommitted)' : '');

const baseOf = (id) => text(id).split(WORKTREE)[0].replace(/:[^:/]+$/, '');

/** The scopes, each once: one that was mapped by its URL as well has two records. */
export function scopesOf(answer) {
  const scopes = new Map();
  for (const row of answer?.mappings ?? []) {
    const known = scopes.get(row.scope_id);
    const shared = known?.syscontext?.shared || row.syscontext?.shared;
    scopes.set(row.scope_id, known ? { ...known, stale: known.stale || row.stale, syscontext: { ...row.syscontext, shared } } : row);
  }
  return [...scopes.values()];
}

const refresh = () => stale('/vcm', '/ops', '/state', '/watches');

// Operations

function Operations() {
  const entry = resource(OPERATIONS);
  const all = entry.value?.operations ?? [];
  followOperations(OPERATIONS, 'vcm', refresh);
  const shown = store.route.query.get('operations') === 'all' ? all : all.slice(0, 5);
  const more = all.length > 5 &&
    html`<a href=${withQuery({ operations: shown === all ? null : 'all' })}>${shown === all ? 'The newest only' : `All ${number(all.length)}`}</a>`;
  return html`<${Section} id="operations" title="Operations" aside=${more}>
    <${Answer} of=${entry}>${() => all.length
      ? html`<${Table} label="Mapping operations" heads=${['Operation', 'State', 'What', '~Sources', 'Begun', '']}>
        ${shown.map((each) => html`<${Operation} key=${text(each.op_id)} row=${each} />`)}<//>`
      : html`<${Empty} title="Nothing is being mapped"><p><a href="/design">Map a source on Design monorepo.</a></p><//>`}<//>
  <//>`;
}

function Operation({ row }) {
  const { progress } = row;
  const again = {};
  for (const name of ['origin_url', 'branch', 'commit', 'enabled_sources', 'worktree']) if (row[name]) again[name] = row[name];
  // The files of the working tree are of no branch.
  if (again.worktree) for (const name of ['branch', 'commit']) delete again[name];
  return html`<tr>
    <th scope="row" class="mono">${text(row.op_id)}</th>
    <td><${State} tone=${TONES[row.status]?.[0]} sign=${TONES[row.status]?.[1]}>${text(row.status)}<//></td>
    <td class="grow">${progress && isOpen(row) ? html`<${Progress} row=${row} />` : text(row.message)}</td>
    <td class="less">${row.enabled_sources ? row.enabled_sources.map(text).join(', ') : 'all'}${row.worktree ? ' (uncommitted)' : ''}</td>
    <td><${When} at=${row.started_at} clock /></td>
    <td class="actions">${isOpen(row)
      ? html`<button type="button" data-row disabled=${store.who.read_only} onClick=${() => act('DELETE', `${OPERATIONS}${segments(row.op_id)}`, undefined, refresh)}>Cancel</button>`
      : row.status !== 'mapped' &&
        html`<button type="button" data-row disabled=${store.who.read_only} onClick=${() => act('POST', '/vcm/map', again, refresh)}>Retry</button>`}</td>
  </tr>`;
}

function Progress({ row: { op_id: id, progress } }) {
  // A scope is named by its id, of which the name of its row says enough.
  const what = text(progress.what).replace(/\S{20,}:/, '');
  const { done, total } = progress;
  return html`<span>${what}: ${number(done)}${total ? ` of ${number(total)}` : ''}</span>
    ${total && html` <progress aria-label=${`Progress of ${text(id)}`} value=${done} max=${total}></progress>`}`;
}

// Scopes

function Scopes() {
  const scopes = resource('/vcm/scopes');
  const stats = resource('/vcm/stats');
  const statsOf = new Map((stats.value?.scopes ?? []).map((row) => [row.scope_id, row]));
  const rows = scopesOf(scopes.value);
  const off = store.who.read_only;
  const again = rows.filter((row) => row.stale).map((row) => mapAgain(row, rows)).filter(Boolean);
  const aside = html`<${Totals} stats=${stats.value} />
    ${again.length > 0 && html`<button type="button" disabled=${off} onClick=${() => mapAll(again)}>Map all again</button>`}`;
  return html`<${Section} id="scopes" title="Scopes" aside=${aside}>
    <${Answer} of=${scopes}>${() => rows.length
      ? html`<${Table} label="Scopes" heads=${['Scope', '#Pages', '~#Records', '#Tokens', '~#Size', '~From', 'State', '']}>
          ${rows.map((row) => html`<${Scope} key=${text(row.scope_id)} row=${row} stats=${statsOf.get(row.scope_id) ?? row} again=${mapAgain(row, rows)} />`)}<//>`
      : html`<${Empty} title="No scope is mapped"><p><a href="/design">Map a source on Design monorepo.</a></p><//>`}<//>
  <//>`;
}

/** The sums. Uncommitted files have most pages of the commit, too, so they are summed up apart. */
function Totals({ stats }) {
  if (!stats?.total) return null;
  const sum = (row) => `${plural(row.pages, 'page')}, ${plural(row.tokens, 'token')}`;
  const own = stats.worktree_total;
  return html`<span class="faint">${own ? `committed: ${sum(stats.total)}; uncommitted: ${sum(own)}` : sum(stats.total)}</span>`;
}

/** What maps a scope again; nothing if that is not known: one of a blackboard, or of another repository. */
function mapAgain(row, rows) {
  const name = rowOf(row.scope_id);
  if (row.worktree) return { worktree: true, enabled_sources: [name] };
  const here = row.branch ? { branch: row.branch, enabled_sources: [name] } : { enabled_sources: [name] };
  if (row.syscontext?.shared) return here;
  const of = resource(OPERATIONS).value?.operations ?? [];
  const made = of.find((each) => (each.results ?? []).some((result) => result.scope_id === row.scope_id));
  if (made?.origin_url) return { origin_url: made.origin_url, branch: made.branch, commit: made.commit, enabled_sources: [name] };
  // Scopes of another repository are never shared, and begin with its id.
  const shared = new Set(rows.filter((each) => each.syscontext?.shared).map((each) => baseOf(each.scope_id)));
  const isOurs = made || !shared.size || shared.has(baseOf(row.scope_id));
  if (row.source_type === 'blackboard' || !isOurs) return null;
  return here;
}

/** Maps several scopes: those of one state by one operation. */
async function mapAll(all) {
  const groups = new Map();
  for (const { enabled_sources: names, ...state } of all) {
    const key = JSON.stringify(state);
    groups.set(key, [...(groups.get(key) ?? []), ...names]);
  }
  for (const [key, names] of groups) {
    if (!(await act('POST', '/vcm/map', { ...JSON.parse(key), enabled_sources: [...new Set(names)] }, refresh))) return;
  }
}

function Scope({ row, stats, again }) {
  const name = scopeName(row.scope_id);
  return html`<tr>
    <th scope="row" class="breaks" title=${text(row.scope_id)}><a data-row href=${withQuery({ scope: row.scope_id })}>${name}</a> <span class="tag">${text(row.source_type)}</span></th>
    <td class="num">${number(stats.pages)}</td>
    <td class="num less">${number(stats.records)}</td>
    <td class="num">${number(stats.tokens)}</td>
    <td class="num less">${bytes(stats.bytes)}</td>
    <td class="less">${text(row.branch)} <span class="mono faint">${short(row.mapped_commit)}</span></td>
    <td>${row.stale ? html`<${State} tone="busy" sign="!">stale<//>` : html`<${State} tone="good" sign="✓">current<//>`}</td>
    <td class="actions">
      ${again && html`<button type="button" disabled=${store.who.read_only} onClick=${() => act('POST', '/vcm/map', again, refresh)}>Map again</button>`}
      <button type="button" disabled=${store.who.read_only} onClick=${() => unmap(row)}>Unmap …</button>
    </td>
  </tr>`;
}

function unmap(row) {
  propose({
    title: `Unmap ${scopeName(row.scope_id)}`, verb: 'Unmap', danger: true, method: 'DELETE', path: `/vcm/scopes${segments(row.scope_id)}`, body: {}, first: 'dry_run',
    lines: () => html`<p class="faint">The files stay. Undo does not map it again: Map to VCM on Design monorepo does.</p>`, done: refresh,
  });
}

// The catalog

const haystacks = new WeakMap();

function haystack(page) {
  let words = haystacks.get(page);
  if (!words) haystacks.set(page, (words = `${page.page_id} ${page.scope_id} ${(page.records ?? []).map((each) => each.path).join(' ')}`.toLowerCase()));
  return words;
}

let typing = null;
const filtered = { rows: null, key: null, pages: null };

function filter(pages, query, scope) {
  const key = `${scope}\n${query}`;
  if (filtered.pages === pages && filtered.key === key) return filtered.rows;
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = pages.filter((page) => (!scope || page.scope_id === scope) && words.every((word) => haystack(page).includes(word)));
  Object.assign(filtered, { rows, key, pages });
  return rows;
}

function Catalog({ pages, query, scope }) {
  const type = (event) => {
    const { value } = event.currentTarget;
    clearTimeout(typing);
    typing = setTimeout(() => go(withQuery({ q: value || null }), 'replace'), 120);
  };
  const all = pages.value?.pages ?? [];
  const rows = filter(all, query, scope);
  const aside = html`<span class="faint">${rows.length === all.length ? plural(all.length, 'page') : `${number(rows.length)} of ${plural(all.length, 'page')}`}</span>`;
  const head = html`<div class="page-row page-head" aria-hidden="true"><span>Page</span>
    <span>Scope</span>
    <span class="num">Tokens</span>
    <span>Files</span>
    <span>Flags</span></div>`;
  return html`<${Section} id="catalog" title="Page catalog" aside=${aside}>
    <${Answer} of=${pages} lines=${6}>${() => all.length
      ? html`<div class="filters">
          <${Field} label="Filter">
            <input type="search" data-filter placeholder="path, scope or id" spellcheck="false" defaultValue=${query} onInput=${type} /><//>
          ${scope && html`<a class="button" href=${withQuery({ scope: null })}>Only ${scopeName(scope)} <span aria-hidden="true">✕</span></a>`}
        </div>
        ${rows.length ? html`<${Windowed} rows=${rows} height=${ROW} shown=${12} row=${(page) => PageRow(page, query)} label="Pages" className="catalog" head=${head} />`
          : html`<${Empty} title="No page matches">A filter looks at paths, scopes and ids.<//>`}`
      : html`<${Empty} title="No page yet"><p><a href="/design">Map a source on Design monorepo.</a></p><//>`}<//>
  <//>`;
}

function flags(page) {
  const words = [];
  if (page.pinned) words.push(html`<span class="tag">pinned</span>`);
  if (page.locked_until) words.push(html`<span class="tag">locked</span>`);
  if (page.resident) words.push(html`<span class="tag">resident</span>`);
  return words;
}

/** The files of a page, those first that the filter names. */
function filesOf(page, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const names = [...new Set((page.records ?? []).map((each) => text(each.path)))];
  const isNamed = (name) => words.length > 0 && words.every((word) => name.toLowerCase().includes(word));
  return [...names.filter(isNamed), ...names.filter((name) => !isNamed(name))];
}

function PageRow(page, query) {
  const files = filesOf(page, query);
  const id = text(page.page_id);
  return html`<div class="page-row row" key=${id}>
    <a class="mono" data-row href=${to(['vcm', page.scope_id, id])}>${id.slice(0, 10)}</a>
    <span class="cut">${scopeName(page.scope_id)}</span><span class="num">${number(page.tokens)}</span>
    <span class="cut path" title=${files.slice(0, 40).join('\n')}>${files[0] ?? ''}${files.length > 1 ? ` +${number(files.length - 1)}` : ''}</span>
    <span class="flags">${flags(page)}</span>
  </div>`;
}

// One page

function Page({ scope, id }) {
  const entry = resource(`/vcm/pages${segments(id)}`);
  const listed = resource(PAGES).value?.pages?.find((page) => page.page_id === id);
  return html`<p class="crumbs"><a href="/vcm">VCM</a> / <a href=${path('/vcm', { scope })}>${scopeName(scope)}</a></p>
    <h1 class="mono">${text(id).slice(0, 12)}</h1>
    <${Answer} of=${entry}>${(value) => {
      const page = value.pages?.[0];
      return page ? html`<${PageText} page=${page} listed=${listed} />` : html`<${Empty} title="No such page" />`;
    }}<//>`;
}

const lockPages = (ids, seconds) => act('POST', '/vcm/pages/lock', { page_ids: ids, ttl_s: seconds }, refresh);
const unlockPages = (ids) => act('POST', '/vcm/pages/unlock', { page_ids: ids }, refresh);
const extend = (id) => act('POST', '/vcm/pages/extend', { page_id: id, additional_s: LOCK_SECONDS }, refresh);

function PageText({ page, listed }) {
  const locked = listed?.locked_until;
  return html`<p class="facts-line">${plural(page.tokens, 'token')} · ${plural(page.records.length, 'record')} ${page.stale &&
    html`<${State} tone="busy" sign="!">stale<//>`} ${listed && flags(listed)}
      <span class="space"></span>
      ${locked
        ? html`<span class="faint">locked until <${When} at=${locked} clock /></span> <button type="button" disabled=${store.who.read_only} onClick=${() => extend(page.page_id)}>Extend by 5 min</button> <button type="button" disabled=${store.who.read_only} onClick=${() => unlockPages([page.page_id])}>Unlock</button>`
        : html`<button type="button" disabled=${store.who.read_only} onClick=${() => lockPages([page.page_id], LOCK_SECONDS)}>Lock for 5 min</button>`}</p>
    ${page.records.map((record, index) =>
      html`<${Section} key=${index} id=${`record-${index}`} title=${html`<span class="path">${text(record.path)}</span>`} aside=${html`<span class="faint">lines ${text(record.start_line)}–${text(record.end_line)} · ${plural(record.tokens, 'token')}</span>`}>
      <pre class="text" tabindex="0" aria-label=${`Text of ${text(record.path)}`}>${text(record.text)}</pre><//>`)}
    <${Section} id="neighbours" title="Neighbours">
      ${page.neighbours?.length
        ? html`<${Table} label="Neighbours" heads=${['Page', 'Files', '#Weight', 'Why']}>
          ${page.neighbours.map((each) => html`<tr key=${text(each.page_id)}>
            <th scope="row"><a class="mono" data-row href=${to(['vcm', page.scope_id, each.page_id])}>${text(each.page_id).slice(0, 10)}</a></th>
            <td class="grow"><span class="path">${(each.files ?? []).map(text).join(', ')}</span></td>
            <td class="num">${Number(each.weight).toFixed(2)}</td>
            <td>${(each.relationship_types ?? []).map((type) => text(type).replaceAll('_', ' ')).join(', ')}</td></tr>`)}<//>`
        : html`<p class="faint">No page is related to it.</p>`}
    <//>`;
}

// The working set

function WorkingSet({ pages, agent }) {
  const entry = resource(path('/vcm/working-set', { agent }));
  const agents = resource('/agents').value?.agents ?? [];
  const locked = (pages?.pages ?? []).filter((page) => page.locked_until);
  const choose = (event) => go(withQuery({ agent: event.currentTarget.value || null }), 'replace');
  const aside = agents.length > 0 &&
    html`<label class="inline">Agent <select onChange=${choose}><option value="" selected=${!agent}>this checkout</option>
    ${agents.map((each) =>
      html`<option key=${text(each.agent)} value=${text(each.agent)} selected=${each.agent === agent}>${text(each.agent)}</option>`)}</select></label>`;
  return html`<${Section} id="working-set" title="Working set" aside=${aside}>
    <${Answer} of=${entry}>${(value) => html`
      <p class="facts-line"><progress aria-label="Tokens of the working set" value=${value.used_tokens} max=${value.budget_tokens || 1}></progress> ${number(value.used_tokens)} of ${plural(value.budget_tokens, 'token')}, ${plural(value.count, 'resident page')}</p>
      ${(value.pages ?? []).length > 0 && html`<${Table} label="Resident pages" heads=${['Page', 'Scope', '#Tokens', 'Flags']}>
        ${value.pages.slice(0, 500).map((page) => html`<tr key=${text(page.page_id)}>
        <th scope="row"><a class="mono" data-row href=${to(['vcm', page.scope_id ?? 'page', page.page_id])}>${text(page.page_id).slice(0, 10)}</a></th>
        <td>${scopeName(page.scope_id)}</td>
        <td class="num">${number(page.tokens)}</td>
        <td>${flags(page)}</td></tr>`)}<//>`}`}<//>
    <h3>Locks</h3>
    ${locked.length
      ? html`<${Table} label="Locks" heads=${['Page', '~Scope', 'Held by', 'Until', '~Reason', '']}>
        ${locked.slice(0, 500).map((page) => html`<${Lock} key=${text(page.page_id)} page=${page} />`)}<//>`
      : html`<p class="faint">No page is locked. Open a page to lock it.</p>`}
  <//>`;
}

function Lock({ page }) {
  const locks = page.locks ?? [];
  const names = locks.map((lock) => text(lock.owner) || 'this checkout').join(', ');
  return html`<tr>
    <th scope="row"><a class="mono" data-row href=${to(['vcm', page.scope_id, page.page_id])}>${text(page.page_id).slice(0, 10)}</a></th>
    <td class="less">${scopeName(page.scope_id)}</td><td>${names || 'this checkout'}</td><td><${When} at=${page.locked_until} clock /></td>
    <td class="grow less">${locks.map((lock) => text(lock.reason)).filter(Boolean).join(', ')}</td>
    <td class="actions"><button type="button" disabled=${store.who.read_only} onClick=${() => extend(page.page_id)}>Extend</button>
    <button type="button" disabled=${store.who.read_only} onClick=${() => unlockPages([page.page_id])}>Unlock</button></td>
  </tr>`;
}
