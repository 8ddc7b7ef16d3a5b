// Timeline: what was done, newest first; checkpoints; restore, undo and redo by preview.

import { call, path, segments } from '../api.js';
import { html, resource, stale, store } from '../store.js';
import { Answer, Command, Empty, Field, plural, Section, short, State, Table, text, When } from '../parts.js';
import { form, propose } from '../dialogs.js';
import { to, withQuery } from '../routes.js';
import { Diff } from '../diff.js';
import { Leaving, refusal, step, UNDO } from '../undo.js';

const OPS = path('/ops', { limit: 200 });
const refresh = () => stale();

export function Timeline({ route }) {
  if (route.parts[1]) return html`<${Detail} id=${route.parts.slice(1).join('/')} />`;
  const ops = resource(OPS);
  const checkpoints = resource('/checkpoints');
  const auto = route.query.get('auto') !== null;
  const state = resource('/state').value;
  return html`<div class="title"><h1>Timeline</h1><span class="space"></span>
      <button type="button" disabled=${store.who.read_only} onClick=${newCheckpoint}>+ Checkpoint</button>
      <button type="button" disabled=${store.who.read_only || !state?.undo} onClick=${() => step('undo')}>Undo …</button>
      <button type="button" disabled=${store.who.read_only} onClick=${() => step('redo')}>Redo …</button></div>
    <${Answer} of=${ops} lines=${8}>${(value) => {
      const rows = merged(value.ops ?? [], checkpoints.value?.checkpoints ?? []);
      return rows.length
        ? html`<${Table} label="Operations and checkpoints, newest first" heads=${['When', 'What', '~Kind', '~By', '']}>
          ${rows.map((row) => html`<${Row} key=${row.key} row=${row} undo=${state?.undo?.op} />`)}<//>
          <p class="faint">${text(value.message)}</p>`
        : html`<${Empty} title="Nothing has been done yet"><p>A checkpoint keeps the whole working tree under a name.</p>
          <${Command} line="git colony checkpoint -m 'first'" /><//>`;
    }}<//>
    <${Automatic} shown=${auto} />`;
}

/** Joins operations with the checkpoints that they made. */
function merged(ops, checkpoints) {
  const byRef = new Map(checkpoints.map((each) => [`refs/${each.ref}`, each]));
  const rows = ops.map((op) => {
    const ref = (op.refs ?? []).find((each) => each.new && byRef.has(each.name));
    const checkpoint = ref && !op.undone ? byRef.get(ref.name) : null;
    if (checkpoint) byRef.delete(ref.name);
    return { key: text(op.op), at: op.created_at, op, checkpoint };
  });
  for (const checkpoint of byRef.values()) rows.push({ key: text(checkpoint.checkpoint_id), at: checkpoint.created_at, checkpoint });
  const order = (row) => Number(row.op?.op?.replace(/\D/g, '') ?? 0);
  return rows.sort((a, b) => Date.parse(b.at) - Date.parse(a.at) || order(b) - order(a));
}

const person = (author) => text(author).replace(/ <.*>$/, '');

function Row({ row, undo }) {
  const { op, checkpoint } = row;
  return html`<tr class=${op?.undone ? 'undone' : ''}>
    <td><${When} at=${row.at} clock /></td>
    <th scope="row" class="grow">${op ? html`<a data-row href=${to(['timeline', op.op])}>${text(op.op)}</a> ` : ''}
      ${checkpoint ? html`<span aria-hidden="true">◆</span> <strong>${text(checkpoint.label)}</strong> <span class="faint">${text(checkpoint.rationale).slice(0, 120)}</span>`
        : html`<span>${text(op.summary)}</span>`}
      ${op?.undone && html` <span class="tag">undone</span>`}</th>
    <td class="less">${op?.kind === 'external' ? 'by plain git' : text(op?.kind ?? 'checkpoint')}</td>
    <td class="less">${person(op?.author ?? checkpoint?.author)}</td>
    <td class="actions">
      ${checkpoint && html`<a class="button" href=${to(['timeline', ...text(checkpoint.checkpoint_id).split('/')])}>Diff to now</a>
        <button type="button" disabled=${store.who.read_only} onClick=${() => restore(checkpoint)}>Restore …</button>`}
      ${op && op.op === undo && html`<button type="button" disabled=${store.who.read_only} onClick=${() => step('undo')}>Undo …</button>`}
    </td>
  </tr>`;
}

function Automatic({ shown }) {
  if (!shown) return html`<p><a href=${to(['timeline'], { auto: '1' })}>Show the automatic checkpoints</a></p>`;
  const entry = resource(path('/checkpoints', { auto: true }));
  return html`<${Section} id="auto" title="Automatic checkpoints"><${Answer} of=${entry}>${(value) => {
    const rows = [...(value.checkpoints ?? [])].reverse();
    if (!rows.length) return html`<p class="faint">None is kept.</p>`;
    return html`<${Table} label="Automatic checkpoints" heads=${['When', 'Label', 'Branch', '']}>
      ${rows.slice(0, 200).map((row) => html`<tr key=${text(row.checkpoint_id)}>
      <td><${When} at=${row.created_at} clock /></td><th scope="row" class="grow">${text(row.label)}</th><td>${text(row.branch)}</td>
      <td class="actions"><button type="button" disabled=${store.who.read_only} onClick=${() => restore(row)}>Restore …</button></td></tr>`)}<//>`;
  }}<//><//>`;
}

// Changes

function newCheckpoint() {
  form({
    title: 'Checkpoint',
    verb: 'Keep',
    fields: () => html`<${Field} label="Label"><input name="label" required autofocus autocomplete="off" /><//>
      <${Field} label="Rationale" hint="Why; may be empty"><textarea name="rationale" rows="3"></textarea><//>`,
    submit: async ({ label, rationale }) => {
      const { value } = await call('POST', '/checkpoints', rationale ? { label, rationale } : { label });
      refresh();
      return value;
    },
  });
}

function restore(checkpoint) {
  propose({
    title: `Restore ${text(checkpoint.label)}`, verb: 'Restore', danger: true, path: '/restore', first: 'preview',
    body: { checkpoint_id: checkpoint.checkpoint_id, mode: 'replace' },
    options: (body, set) => html`<${Modes} body=${body} set=${set} />`,
    lines: (report) => html`<p>${['rewritten', 'restored', 'removed'].map((kind) => `${plural(report.files?.[kind] ?? 0, 'file')} ${kind}`).join(', ')}.</p>
      ${report.recovery && html`<p>Uncommitted work is kept as <span class="path">${text(report.recovery?.name ?? report.recovery)}</span>.</p>`}
      <${Leaving} rows=${report.leaving_commits} />`,
    blocked: refusal, done: refresh, after: UNDO,
  });
}

function Modes({ body, set }) {
  const modes = { replace: 'The whole state', files: 'Only the files', fork: 'On a fork of its own' };
  return html`<fieldset class="choice"><legend class="sr">What to restore</legend>${Object.entries(modes).map(([mode, word]) =>
    html`<label key=${mode}>
    <input type="radio" name="mode" checked=${body.mode === mode} onChange=${() => set({ mode })} /> ${word}</label>`)}</fieldset>`;
}

// One operation or checkpoint

function Detail({ id }) {
  const crumbs = html`<p class="crumbs"><a href="/timeline">Timeline</a></p>`;
  if (/^op-\d+$/.test(id)) return html`${crumbs}<${Operation} id=${id} compared=${store.route.query.get('diff')} />`;
  const checkpoint = resource('/checkpoints').value?.checkpoints?.find((each) => each.checkpoint_id === id);
  return html`${crumbs}<div class="title"><h1>${text(checkpoint?.label ?? id)}</h1><span class="space"></span>
      ${checkpoint && html`<button type="button" class="primary" disabled=${store.who.read_only} onClick=${() => restore(checkpoint)}>Restore …</button>`}</div>
    ${checkpoint && html`<p class="facts-line"><span class="mono">${short(checkpoint.sha)}</span> ${text(checkpoint.branch)} <span class="faint">${person(checkpoint.author)}, <${When} at=${checkpoint.created_at} /></span></p>
    <p>${text(checkpoint.rationale)}</p>`}
    <h2>Diff to now</h2><${Diff} a=${id} worktree />`;
}

const isBranch = (ref) => text(ref.name).startsWith('refs/heads/') && ref.old && ref.new && ref.old !== ref.new;

function Operation({ id, compared }) {
  const entry = resource(`/ops${segments(id)}`);
  const isNext = resource('/state').value?.undo?.op === id;
  const title = html`<div class="title"><h1>${id}</h1><span class="space"></span>
    ${isNext && html`<button type="button" disabled=${store.who.read_only} onClick=${() => step('undo')}>Undo …</button>`}</div>`;
  return html`${title}<${Answer} of=${entry}>${(op) => html`
    <p class="facts-line"><strong>${text(op.summary)}</strong> <span class="faint">${text(op.kind)}, ${person(op.author)}, <${When} at=${op.created_at} /></span> ${op.undone &&
      html`<${State} sign="↶">undone<//>`}</p>
    <${Table} label="References" heads=${['Reference', 'Before', 'After', '']}>${(op.refs ?? []).map((ref) => html`<tr key=${text(ref.name)}>
      <th scope="row" class="grow path">${text(ref.name)}</th>
      <td class="mono">${ref.old ? short(ref.old) : '–'}</td>
      <td class="mono">${ref.new ? short(ref.new) : '–'}</td>
      <td class="actions">${isBranch(ref) && html`<a class="button" href=${withQuery({ diff: ref.name === compared ? null : ref.name })}>Diff</a>`}</td></tr>`)}<//>
    ${(op.refs ?? []).filter((ref) => isBranch(ref) && ref.name === compared).map((ref) =>
      html`<h2 key=${text(ref.name)}>Diff of ${text(ref.name).replace('refs/heads/', '')}</h2><${Diff} a=${text(ref.old)} b=${text(ref.new)} exact />`)}
    <p>${plural(op.files_moved_aside ?? 0, 'file')} moved aside, ${plural(op.files_placed ?? 0, 'file')} placed.</p>
    <p class="faint">The state before it:</p><${Command} line=${`git colony diff --checkpoint ${id}`} />`}<//>`;
}
