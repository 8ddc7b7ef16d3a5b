// Trains: the work of several agents is merged, tested, landed. A dialog shows the plan; a panel shows the runs as they come.

import { html, resource, stale, store, tell } from '../store.js';
import { Command, Field, number, plural, Problem, Section, someOf, State, text, When } from '../parts.js';
import { act, propose } from '../dialogs.js';
import { segments } from '../api.js';
import { to } from '../routes.js';
import { followOperations } from '../live.js';
import { UNDO } from '../undo.js';
import { isOpen, LEFT_OUT, OPERATIONS } from '../words.js';

const LIST = '/operations';
const MAX_EARLIER = 20;
const MAX_NAMES = 8;
const MAX_PATHS = 5;
const refresh = () => stale('/operations', '/fleet', '/agents', '/state', '/ops', '/checkpoints', '/diff');

/** What the two do: words of a button, and of what has begun. */
const KINDS = {
  land: { verb: 'Land', path: '/land', first: 'preview', begun: 'the landing has begun' },
  try: { verb: 'Try', path: '/try', first: 'dry_run', begun: 'the tests have begun' },
};

/** Shows what would be merged, and lands or tries it. Without names it is the work that is done. */
export function begin(kind, names, done) {
  const { verb, begun, ...rest } = KINDS[kind];
  propose({
    ...rest, title: verb, verb, wide: true, body: names.length ? { names } : {},
    options: (body, set, report) => html`<${Options} kind=${kind} body=${body} set=${set} report=${report} />`,
    lines: (report) => html`<${Members} report=${report} /><${Forecast} report=${report} />`,
    blocked: (report) => (planned(report).length === 0 ? 'There is nothing to merge.' : report.tests ? null : 'A test is needed first.'),
    done: () => {
      tell(begun);
      done();
      refresh();
    },
  });
}

/** The names of what a plan merges. */
const planned = (report) => (report.landed ?? report.names.map((name) => ({ name }))).map(({ name }) => text(name));

function Options({ kind, body, set, report }) {
  const who = (all, words) => html`<label><input type="radio" name="who" checked=${Boolean(body.all) === all} onChange=${() => set({ all: all || undefined })} /> ${words}</label>`;
  return html`${!body.names &&
    html`<fieldset class="choice"><legend>Whose work</legend>${who(false, 'agents that are done')} ${who(true, 'all agents with commits')}</fieldset>
      <${Except} body=${body} set=${set} report=${report} />`}
    <${Field} label="Into" hint=${`A branch, also one that is not checked out${body.names ? '' : ': work that goes into it'}; empty: the current one`}>
      <input autocomplete="off" spellcheck="false" placeholder=${text(report?.branch)} onChange=${(event) => set({ target_branch: event.currentTarget.value.trim() || undefined })} /><//>
    ${kind === 'land' &&
      html`<label class="check"><input type="checkbox" checked=${Boolean(body.squash)} onChange=${(event) => set({ squash: event.currentTarget.checked || undefined })} /> one ordinary commit for each instead of a merge (squash)</label>`}`;
}

/** Whose work is left alone: each of those that the plan has, and those that were left out of it here. */
function Except({ body, set, report }) {
  const except = body.except ?? [];
  const left = (report?.left_out ?? []).map(({ name }) => text(name));
  const all = [...new Set([...except, ...(report ? planned(report) : []), ...left])].sort();
  if (all.length < 2 && !except.length) return null;
  const choose = (name, wanted) => {
    const rest = except.filter((other) => other !== name);
    const next = wanted ? [...rest, name] : rest;
    set({ except: next.length ? next : undefined });
  };
  return html`<fieldset class="choice"><legend>Leave alone</legend>${all.map((name) =>
    html`<label key=${name}><input type="checkbox" checked=${except.includes(name)} onChange=${(event) => choose(name, event.currentTarget.checked)} /> ${name}</label>`)}</fieldset>`;
}

/** Seconds, as exact as a reader needs them. */
const duration = (seconds) => (seconds < 180 ? `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s` : `${number(Math.round(seconds / 60))} min`);

function Forecast({ report: { forecast, tests } }) {
  if (!tests) return html`<p>No command tests merged work here. Name one in a terminal:</p><${Command} line="git config colony.test.run 'COMMAND'" />`;
  if (!forecast) return null;
  const each = forecast.seconds_per_run;
  const cost = (runs) => plural(runs, 'run') + (Number.isFinite(each) ? `, about ${duration(runs * each)}` : '');
  const known = `with these files ${plural(Math.floor((forecast.age_seconds ?? 0) / 60), 'minute')} ago`;
  const most = `if one fails, at most ${cost(forecast.runs_if_one_fails)}`;
  const words = forecast.passed ? `passed ${known}` : forecast.passed === false ? `failed ${known}; ${most}` : `${cost(forecast.runs)}; ${most}`;
  return html`<p class="forecast">Tests: ${words}.</p>
    <ul class="plain" aria-label="Commands that test">${tests.commands.map((command) => html`<li key=${command}><code>${text(command)}</code></li>`)}</ul>`;
}

/** Who is merged, who is left out, and why. */
function Members({ report }) {
  const merged = report.landed ?? (report.names ?? []).map((name) => ({ name }));
  const failing = report.breaks?.names ?? [];
  return html`<ul class="plain members" aria-label="Work">
    ${merged.map(({ name, brings }) => {
      const fails = failing.includes(name);
      return html`<li key=${text(name)}><${State} tone=${fails ? 'bad' : 'good'} sign=${fails ? '✕' : '✓'}>${text(name)}<//>
        ${fails && html` <span>the tests fail with it</span>`}
        ${brings?.length > 0 && html` <span class="faint">with commits of ${someOf(brings.map(text), MAX_NAMES)}</span>`}
        ${report.flaky?.includes(name) && html` <span class="faint">a test failed once, and passed when it was repeated</span>`}</li>`;
    })}
    ${(report.left_out ?? []).map((left) => html`<li key=${text(left.name)}><${State} tone="bad" sign="✕">${text(left.name)}<//> <${Reason} left=${left} /><${Failure} of=${left} /></li>`)}
    ${(report.passed_over ?? []).map((left) => html`<li key=${text(left.name)}><${State} tone="busy" sign="‖">${text(left.name)}<//> <${Reason} left=${left} /></li>`)}
    ${(report.up_to_date ?? []).map((name) => html`<li key=${text(name)}><${State} sign="=">${text(name)}<//> <span class="faint">${text(report.branch)} has it already</span></li>`)}
  </ul>
  ${(report.uncommitted ?? []).map((work) =>
    html`<p key=${text(work.agent)}><${State} tone="busy" sign="!">${plural(work.paths, 'uncommitted path')} of ${text(work.agent)} would not come along<//></p>`)}`;
}

function Reason({ left }) {
  const others = someOf((left.with ?? []).map(text), MAX_NAMES);
  return html`<span>left out: ${LEFT_OUT[left.why] ?? text(left.why)}${left.why === 'conflicts' && others ? ` with ${others}` : ''}</span>
    ${(left.paths ?? []).length > 0 && html` <span class="path">${someOf(left.paths.map(text), MAX_PATHS)}</span>`}
    ${left.why === 'contains' && others && html` <span class="faint">of ${others}</span>`}
    ${left.reason && html` <span class="faint">${text(left.reason)}</span>`}`;
}

/** The command that failed, and its last lines. */
function Failure({ of }) {
  if (!of?.command) return null;
  const code = Number.isFinite(of.exit_code) ? `exit code ${of.exit_code}` : 'ended by a signal, or too late';
  return html`<div class="failure"><p><code>${text(of.command)}</code> <span class="faint">${code}</span></p>
    ${of.output_tail && html`<pre class="text" tabindex="0" role="group" aria-label=${`Last lines of ${text(of.command)}`}>${text(of.output_tail)}</pre>`}
    ${of.log && html`<p class="faint">more of it: <span class="path">${text(of.log)}</span></p>`}</div>`;
}

// The panel

/** The landings and tries of this dashboard: those that run and the newest are open. */
export function Trains() {
  const entry = resource(LIST);
  followOperations(LIST, 'fleet', refresh);
  const all = (entry.value?.operations ?? []).filter((row) => row.kind !== 'map');
  if (!all.length) return null;
  const shown = all.filter((row, at) => at === 0 || isOpen(row));
  const earlier = all.filter((row) => !shown.includes(row)).slice(0, MAX_EARLIER);
  return html`<${Section} id="trains" title="Landings and tries">
    ${shown.map((row) => html`<${Train} key=${text(row.op_id)} row=${row} />`)}
    ${earlier.length > 0 && html`<details class="more"><summary>${number(earlier.length)} earlier</summary>
      ${earlier.map((row) => html`<${Train} key=${text(row.op_id)} row=${row} />`)}</details>`}
  <//>`;
}

function Train({ row }) {
  const [tone, sign, word] = OPERATIONS[row.status] ?? ['', '', text(row.status)];
  const what = `${KINDS[row.kind]?.verb ?? text(row.kind)}: ${whose(row)}`;
  return html`<article class="train" aria-label=${what}>
    <header><${State} tone=${tone} sign=${sign}>${word}<//> <span class="what">${what}</span> <span class="faint"><${When} at=${row.started_at} clock /></span>
      <span class="space"></span>
      ${isOpen(row) && html`<button type="button" disabled=${store.who.read_only} onClick=${() => act('DELETE', `${LIST}${segments(row.op_id)}`, undefined, refresh)}>Cancel</button>`}
      ${row.op && html`<a href=${to(['timeline', text(row.op)])}>${text(row.op)}</a>
        <button type="button" class="quiet" disabled=${store.who.read_only} onClick=${UNDO.run}>${UNDO.name}</button>`}</header>
    <${Ending} row=${row} />
    ${(row.lines ?? []).length > 0 && html`<${Lines} row=${row} />`}
    ${row.result && html`<${Result} report=${row.result} />`}
  </article>`;
}

function whose(row) {
  const onto = row.target_branch ? ` into ${text(row.target_branch)}` : '';
  if (row.names?.length) return someOf(row.names.map(text), MAX_NAMES) + onto;
  const except = row.except?.length ? ` without ${someOf(row.except.map(text), MAX_NAMES)}` : '';
  return (row.all ? 'all agents with commits' : 'agents that are done') + except + onto;
}

function Ending({ row }) {
  if (row.status === 'error') return html`<${Problem} error=${row} />`;
  if (row.status === 'canceled' && row.code) return html`<p>Nothing has moved. What has passed is known: the same again goes on from there.</p>`;
  return row.message ? html`<p>${text(row.message)}</p>` : null;
}

function Lines({ row }) {
  const words = row.lines.map(text).join('\n');
  // The newest line is in sight, unless nothing was added.
  const follow = (node) => {
    if (!node || node.dataset.length === String(words.length)) return;
    node.dataset.length = words.length;
    node.scrollTop = node.scrollHeight;
  };
  return html`<pre class="text lines" tabindex="0" role="log" aria-label=${`Runs of ${text(row.op_id)}`} ref=${follow}>${words}</pre>`;
}

function Result({ report }) {
  return html`<${Members} report=${report} />
    <${Failure} of=${report.breaks} />
    ${report.path && html`<p class="faint">all of it, merged: <span class="path">${text(report.path)}</span></p>`}`;
}
