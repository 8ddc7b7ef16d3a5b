// Home: the colonies with their repositories, and the sessions.

import { call, path, segments } from '../api.js';
import { html, resource, stale, store, tell } from '../store.js';
import { act, ask, form } from '../dialogs.js';
import { Answer, Command, Empty, Field, plural, Section, State, Table, text, When } from '../parts.js';
import { go, to } from '../routes.js';
import { SESSIONS } from '../words.js';

export function Landing() {
  const colonies = resource('/colonies');
  const sessions = resource('/sessions');
  return html`<h1>Home</h1>
    <${Steps} colonies=${colonies.value} sessions=${sessions.value} />
    <${Section} id="colonies" title="Colonies" aside=${html`<button type="button" onClick=${newColony} disabled=${store.who.read_only}>+ New colony</button>`}>
      <${Answer} of=${colonies}>${(value) => html`<${Colonies} rows=${value.colonies ?? []} />`}<//>
    <//>
    <${Section} id="sessions" title="Sessions" aside=${sessions.value &&
      html`<span class="faint">${plural((sessions.value.sessions ?? []).filter(isOpen).length, 'open session')}</span>`}>
      <${Answer} of=${sessions}>${(value) => html`<${Sessions} rows=${value.sessions ?? []} />`}<//>
    <//>`;
}

/** The way from nothing to pages, until it is walked. */
function Steps({ colonies, sessions }) {
  const scopes = resource('/vcm/scopes');
  if (!colonies || !sessions || !scopes.value) return null;
  const pointed = (colonies.colonies ?? []).some((row) => row.origin_url);
  const begun = (sessions.sessions ?? []).some(isOpen);
  const mapped = scopes.value.mappings?.length > 0;
  if (pointed && begun && mapped) return null;
  const step = (done, sign, name, what) => html`<li class=${done ? 'done' : ''}>
    <span class="sign" aria-hidden="true">${done ? '✓' : sign}</span>
    <span><strong>${name}</strong>${done ? html`<span class="sr"> (done)</span>` : html`<br /><span class="faint">${what}</span>`}</span>
  </li>`;
  return html`<ol class="steps" aria-label="First steps">
    ${step(pointed, '1', 'Point a colony at its repository', 'Edit the design monorepo of a colony below.')}
    ${step(begun, '2', 'Begin a session', 'Design monorepo, VCM and Watches appear with it.')}
    ${step(mapped, '3', 'Map sources into pages', 'On Design monorepo: load, tick, preview, map.')}
  </ol>`;
}

const isOpen = (session) => SESSIONS[session.state]?.[2] === true;

function Colonies({ rows }) {
  if (!rows.length) return html`<${Empty} title="No colony yet"><button type="button" onClick=${newColony}>Record the repository that agents work on<//><//>`;
  return html`<${Table} label="Colonies" heads=${['Colony', 'Design monorepo', 'Branch', '~Commit', '']}>
    ${rows.map((row) => html`<tr key=${text(row.id)}>
      <th scope="row"><span class="name">${text(row.id)}</span> ${row.is_here && html`<span class="tag">here</span>`}</th>
      <td class="grow">
        ${row.origin_url ? html`<span class="path">${text(row.origin_url)}</span>` : html`<span class="faint">not set</span>`}
        ${' '}<button type="button" class="quiet" data-row aria-label=${`Edit the design monorepo of ${text(row.id)}`} disabled=${store.who.read_only} onClick=${() => edit(row)}><span aria-hidden="true">✎</span> Edit</button>
      </td>
      <td>${text(row.branch)}</td>
      <td class="mono less">${text(row.commit)}</td>
      <td class="actions">${row.is_here
        ? html`<button type="button" class="primary" disabled=${store.who.read_only} onClick=${newSession}>New session</button>`
        : row.origin_url && html`<a class="button" href=${to(['design'], { origin_url: row.origin_url, branch: row.branch, commit: row.commit })}>Load</a>`}</td>
    </tr>`)}
  <//>
  ${rows.some((row) => !row.is_here) &&
    html`<p class="faint">A session of another colony begins in its own checkout: <code>git colony dashboard</code> there.</p>`}`;
}

function Sessions({ rows }) {
  if (!rows.length) {
    return html`<${Empty} title="No session yet"><p>Press New session above, or in a terminal:</p><${Command} line="git colony session new" /><//>`;
  }
  return html`<${Table} label="Sessions" heads=${['Session', 'State', '~Plan', '~Agent', '~Begun', 'Last', '']}>
    ${rows.map((row) => html`<tr key=${text(row.session_id)}>
      <th scope="row" class="mono">${text(row.session_id)}</th>
      <td><${State} tone=${SESSIONS[row.state]?.[0]} sign=${SESSIONS[row.state]?.[1]}>${text(row.state)}<//></td>
      <td class="less">${text(row.plan)}</td>
      <td class="less">${row.agent ? text(row.agent) : html`<span class="faint">none</span>`}</td>
      <td class="less"><${When} at=${row.created_at} clock /></td>
      <td><${When} at=${row.last_at} /></td>
      <td class="actions">${isOpen(row) &&
        html`<button type="button" data-row disabled=${store.who.read_only} onClick=${() => end(row, rows.filter(isOpen).length === 1)}>End …</button>`}</td>
    </tr>`)}
  <//>`;
}

const refresh = () => stale('/sessions', '/state', '/colonies', '/design');

function end(row, isLast) {
  const run = async () => {
    if (await act('POST', `${segments('sessions', row.session_id)}/end`, {}, refresh)) tell(`session ${text(row.session_id)} has ended`);
  };
  const lines = () => html`<p class="mono">${text(row.session_id)}</p>
    <p>What it recorded stays. ${isLast ? 'It is the only open one: Design monorepo, VCM and Watches are hidden until another one begins.' : 'Others stay open.'}</p>
    <p class="faint">To let it go on: <code>git colony session resume ${text(row.session_id)}</code></p>`;
  ask({ title: 'End the session', verb: 'End', lines, run });
}

async function newSession() {
  const begun = await act('POST', '/sessions', {}, refresh);
  if (begun) go('/design');
}

function RepositoryFields({ row }) {
  const known = resource('/colonies').value?.colonies ?? [];
  const urls = [...new Set(known.map((each) => each.origin_url).filter(Boolean).map(String))];
  return html`
    <${Field} label="URL" hint="An https or ssh URL; a local path only if 'git colony clones colony set' has recorded it.">
      <input name="origin_url" required list="urls" autofocus spellcheck="false" autocomplete="off" defaultValue=${text(row.origin_url)} /><//>
    <datalist id="urls">${urls.map((url) => html`<option key=${url} value=${url}></option>`)}</datalist>
    <div class="fields">
      <${Field} label="Branch"><input name="branch" required spellcheck="false" defaultValue=${text(row.branch ?? 'main')} /><//>
      <${Field} label="Commit"><input name="commit" required spellcheck="false" defaultValue=${text(row.commit ?? 'HEAD')} /><//>
    </div>`;
}

function edit(row) {
  form({
    title: `Design monorepo of ${text(row.id)}`,
    verb: 'Save',
    fields: () => html`<${RepositoryFields} row=${row} />`,
    submit: async (values) => {
      const { value } = await call('PUT', `${segments('colonies', row.id)}/design-monorepo`, values);
      stale('/colonies');
      return { message: value.message ?? `the design monorepo of ${row.id} is recorded` };
    },
  });
}

function newColony() {
  form({
    title: 'New colony',
    verb: 'Create',
    fields: () => html`<${Field} label="Name"><input name="id" required autofocus spellcheck="false" autocomplete="off" /><//>
      <${RepositoryFields} row=${{}} />`,
    submit: async (values) => {
      const { value } = await call('POST', '/colonies', values);
      stale('/colonies');
      return { message: value.message ?? `colony ${values.id} is recorded` };
    },
  });
}
