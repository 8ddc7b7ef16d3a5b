// Undo and redo, and what a change of a branch would leave behind.

import { html, stale } from './store.js';
import { Command, number, plural, short, text } from './parts.js';
import { propose } from './dialogs.js';

/** What the status line offers after a change that can be undone. */
export const UNDO = { name: 'Undo …', run: () => step('undo') };

export function Leaving({ rows }) {
  const lists = [rows ?? []].flat().filter((each) => each.count);
  return lists.map((each) => {
    // The newest come with their subjects, the others only as a number.
    const newest = each.newest ?? [];
    return html`<div key=${text(each.branch)}><p>${plural(each.count, 'commit')} would leave ${text(each.branch)}:</p>
      <ul class="plain">${newest.map((commit) =>
        html`<li key=${text(commit.sha)}><span class="mono">${short(commit.sha)}</span> ${text(commit.subject)}</li>`)}
      ${each.count > newest.length && html`<li class="faint">and ${number(each.count - newest.length)} more</li>`}</ul></div>`;
  });
}

export const refusal = (report) => (report.refused ? text(report.refused.message) : report.ok === false ? text(report.message) : null);

export function step(which) {
  propose({
    title: which === 'undo' ? 'Undo' : 'Redo', verb: which === 'undo' ? 'Undo' : 'Redo', danger: which === 'undo', path: `/${which}`, body: {}, first: 'preview',
    lines: (report) => html`
      <p>${plural(report.files_restored ?? 0, 'file')} restored, ${plural(report.files_moved_aside ?? 0, 'file')} moved aside.</p>
      <${Leaving} rows=${report.leaving_commits} />
      ${(report.checkpoints_gone ?? []).map((each) =>
        html`<p key=${text(each.checkpoint_id)}>The checkpoint <strong>${text(each.label)}</strong> would go.</p>`)}
      ${report.not_undone && html`<p>${text(report.not_undone.command)} stays as it is. To take it back:</p><${Command} line=${report.not_undone.way_back} />`}
      ${report.refused?.hint && html`<${Command} line=${report.refused.hint} />`}`,
    blocked: refusal, done: () => stale(),
  });
}
