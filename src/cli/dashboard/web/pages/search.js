// Search: passages of mapped files and of the knowledge base, and a context within a number of tokens.

import { path } from '../api.js';
import { html, resource } from '../store.js';
import { Answer, copy, Empty, Field, formValues, number, plural, Section, State, Table, text, When } from '../parts.js';
import { go, to, withQuery } from '../routes.js';
import { FOUND_IN, NOTHING } from '../words.js';
import { scopeName } from './vcm.js';

const BUDGETS = [1024, 4096, 16_384, 65_536];

export function Search({ route }) {
  const q = route.query.get('q') ?? '';
  const where = route.query.get('in') ?? 'all';
  const glob = route.query.get('path') ?? '';
  const submit = (event) => go(path('/search', { ...formValues(event), view: route.query.get('view') }));
  return html`<h1>Search</h1>
    <form class="load" role="search" onSubmit=${submit} key=${`${q}|${where}|${glob}`}>
      <${Field} label="Words"><input type="search" name="q" data-filter required defaultValue=${q} placeholder="how is a header parsed" /><//>
      <${Field} label="In"><select name="in">${Object.entries({ all: 'everything', ...FOUND_IN }).map(([value, word]) =>
        html`<option key=${value} value=${value} selected=${value === where}>${word}</option>`)}</select><//>
      <${Field} label="Paths"><input name="path" defaultValue=${glob} placeholder="*.md" spellcheck="false" /><//>
      <button type="submit" class="primary">Search</button>
    </form>
    ${q ? html`<${Found} q=${q} where=${where} glob=${glob} route=${route} />` : html`<${Start} />`}`;
}

function Found({ q, where, glob, route }) {
  const context = route.query.get('view') === 'context';
  const tabs = [[null, 'Passages', !context], ['context', 'Context for a prompt', context]];
  return html`<nav class="tabs" aria-label="Kinds of answer">${tabs.map(([view, word, on]) =>
    html`<a key=${word} href=${withQuery({ view })} aria-current=${on ? 'true' : null}>${word}</a>`)}</nav>
    ${context ? html`<${Context} query=${{ q, in: where, path: glob, budget: Number(route.query.get('budget') ?? 4096) }} />`
      : html`<${Hits} query=${{ q, in: where, path: glob, limit: 20 }} />`}`;
}

function Hits({ query }) {
  const entry = resource(path('/search', query));
  return html`<${Answer} of=${entry} lines=${8}>${(value) => html`
    ${(value.hits ?? []).length > 0 &&
      html`<p class="faint">${value.total > value.count ? `The best ${number(value.count)} of ${plural(value.total, 'passage')}` : plural(value.count, 'passage')}.
      ${value.stale && html` <${State} tone="busy" sign="!">Files have changed since they were mapped.<//> <a href="/vcm">Map them again on VCM</a>`}</p>`}
    ${(value.hits ?? []).length
      ? html`<ol class="hits">${value.hits.map((hit, index) => html`<${Hit} key=${index} hit=${hit} />`)}</ol>` : html`<${Empty} title="Nothing was found"><p>${NOTHING[value.nothing]
        ? html`${NOTHING[value.nothing]} <a href="/design">Map a source on Design monorepo.</a>` : 'Other words may help; only mapped files and ingested documents are searched.'}</p><//>`}`}<//>`;
}

function Hit({ hit }) {
  const place = text(hit.citation ?? hit.path);
  return html`<li>
    <p class="hit-head">${hit.page_id
      ? html`<a data-row class="path" href=${to(['vcm', hit.scope_id, hit.page_id])}>${place}</a>` : html`<span class="path">${place}</span>`}
      <span class="tag">${hit.source === 'knowledge' ? 'knowledge' : scopeName(hit.scope_id)}</span> <span class="faint cut">${text(hit.section)}</span></p>
    <pre class="snippet" tabindex="0" aria-label=${`Passage of ${place}`}>${text(hit.snippet)}</pre>
  </li>`;
}

function Context({ query }) {
  const entry = resource(path('/context', query));
  const choose = (event) => go(withQuery({ budget: event.currentTarget.value }), 'replace');
  return html`<div class="filters"><${Field} label="At most"><select onChange=${choose}>${BUDGETS.map((each) =>
    html`<option key=${each} value=${each} selected=${each === query.budget}>${plural(each, 'token')}</option>`)}</select><//></div>
    <${Answer} of=${entry} lines=${8}>${(value) => html`
      <p class="facts-line"><span>${text(value.message)}</span>
      <span class="space"></span>
      ${value.text && html`<button type="button" class="primary" onClick=${() => copy(text(value.text))}>Copy</button>`}</p>
      ${value.text ? html`<pre class="text" tabindex="0" aria-label="Context">${text(value.text)}</pre>`
        : html`<${Empty} title="Nothing was found" />`}`}<//>`;
}

/** Before a question: what can be asked about. */
function Start() {
  const tiers = resource('/context/stats');
  const knowledge = resource('/knowledge');
  const decisions = resource('/decisions');
  return html`<${Section} id="decisions" title="Decisions"><${Answer} of=${decisions}>${(value) => (value.decisions ?? []).length
      ? html`<${Table} label="Decisions" heads=${['Decision', 'Rationale', 'By', 'When']}>
        ${[...value.decisions].reverse().slice(0, 100).map((row) => html`<tr key=${text(row.decision_id)}>
          <th scope="row">${text(row.title)}</th>
          <td class="grow">${text(row.rationale || row.summary)}</td>
          <td>${text(row.author).replace(/ <.*>$/, '')}</td>
          <td><${When} at=${row.authored_at} /></td></tr>`)}<//>`
      : html`<p class="faint">No decision is recorded: <code>git colony decide -m TITLE</code></p>`}<//><//>
    <${Section} id="knowledge" title="Knowledge base" aside=${knowledge.value &&
      html`<span class="faint">${plural(knowledge.value.chunks, 'chunk')}, ${plural(knowledge.value.tokens, 'token')}</span>`}><${Answer} of=${knowledge}>${(value) => (value.sources ?? []).length
      ? html`<${Table} label="Documents" heads=${['Document', '~Kind', '#Chunks', '#Tokens', 'State']}>
        ${value.sources.slice(0, 300).map((row) => html`<tr key=${text(row.source_uri)}>
          <th scope="row" class="grow path">${text(row.path ?? row.source_uri)}</th>
          <td class="less">${text(row.data_type)}</td>
          <td class="num">${number(row.chunks)}</td>
          <td class="num">${number(row.tokens)}</td>
          <td>${row.stale ? html`<${State} tone="busy" sign="!">stale<//>`
            : html`<${State} tone="good" sign="✓">${text(row.status)}<//>`}</td></tr>`)}<//>`
      : html`<p class="faint">No document is ingested. A routing row of the map names them.</p>`}<//><//>
    <${Section} id="tiers" title="Tiers of context"><${Answer} of=${tiers}>${(value) => (value.projects ?? []).length
      ? html`<${Table} label="Tiers" heads=${['Project', '#Hot', '#Warm', '#Cold', '#Tokens']}>
        ${value.projects.map((row) => html`<tr key=${text(row.project)}>
        <th scope="row" class="grow">${text(row.project)}</th>
          <td class="num">${number(row.hot?.count)}</td>
          <td class="num">${number(row.warm?.count)}</td>
          <td class="num">${number(row.cold?.count)}</td>
          <td class="num">${number(row.tokens)}</td></tr>`)}<//>`
      : html`<p class="faint">${text(value.message)}</p>`}<//><//>`;
}
