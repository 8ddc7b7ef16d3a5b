// Differences: the changed files first, and the patch of each when it is opened; long ones are folded.

import { path } from './api.js';
import { draw, html, resource } from './store.js';
import { Answer, Empty, number, plural, text, Windowed } from './parts.js';
import { CHANGES } from './words.js';

const FOLD = 2_000;
const ROW = 20;
const unfolded = new Set();

const kind = (line) =>
  /^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename )/.test(line) ? 'meta' : line[0] === '@' ? 'hunk' : line[0] === '+' ? 'plus' : line[0] === '-' ? 'minus' : '';

const Line = (line, index) => html`<div class=${`line ${kind(line)}`} key=${index}>${line || ' '}</div>`;

/** A patch. One of more than 2,000 lines is folded, and drawn in a window when it is opened. */
export function Patch({ patch, label, name = label }) {
  const lines = patch.replace(/\n$/, '').split('\n');
  if (lines.length <= FOLD) return html`<pre class="patch" tabindex="0" aria-label=${label}>${lines.map(Line)}</pre>`;
  if (!unfolded.has(name)) {
    const unfold = () => {
      unfolded.add(name);
      draw();
    };
    return html`<p class="hint">${plural(lines.length, 'line')}, folded. <button type="button" onClick=${unfold}>Show them</button></p>`;
  }
  return html`<${Windowed} rows=${lines} height=${ROW} shown=${28} row=${Line} label=${label} className="patch" />`;
}

const opened = new Set();

/**
 * The changed files first; the patch of a file is fetched when it is opened. Two states are compared since one left the
 * other, unless it is `exact`.
 */
export function Diff({ a, b, worktree, exact }) {
  const query = { a, b, worktree: worktree ? true : undefined, since_left: exact ? false : undefined };
  const entry = resource(path('/diff', query));
  return html`<${Answer} of=${entry}>${(value) => (value.entries ?? []).length
    ? html`<p class="faint">${text(value.message)}</p>
      <ul class="diff">${value.entries.slice(0, 1000).map((file) => html`<${File} key=${text(file.path)} file=${file} query=${query} />`)}</ul>
      ${value.entries.length > 1000 && html`<p class="hint">The first 1,000 of ${plural(value.entries.length, 'file')}.</p>`}`
    : html`<${Empty} title="No difference">${text(value.message)}<//>`}<//>`;
}

function File({ file, query }) {
  const key = `${query.a} ${query.b} ${text(file.path)}`;
  const toggle = (event) => {
    if (event.currentTarget.open === opened.has(key)) return;
    if (event.currentTarget.open) opened.add(key);
    else opened.delete(key);
    draw();
  };
  return html`<li><details open=${opened.has(key)} onToggle=${toggle}><summary data-row>
    <abbr class="mono" title=${text(file.change_type)}>${CHANGES[file.change_type] ?? '?'}</abbr> <span class="path">${file.old_path ? `${text(file.old_path)} → ` : ''}${text(file.path)}</span>
    <span class="space"></span>
    ${file.binary ? html`<span class="faint">binary</span>`
      : html`<span class="num plus">+${number(file.insertions)}</span> <span class="num minus">−${number(file.deletions)}</span>`}</summary>
    ${opened.has(key) && html`<${FilePatch} file=${file} query=${query} />`}</details></li>`;
}

function FilePatch({ file, query }) {
  const entry = resource(path('/diff', { ...query, path: file.path, patch: true }));
  return html`<${Answer} of=${entry} lines=${4}>${(value) => (value.raw_unified_diff
    ? html`<${Patch} patch=${text(value.raw_unified_diff)} label=${`Patch of ${text(file.path)}`} name=${entry.path} />`
    : html`<p class="hint">${value.truncated ? 'The patch is larger than 256 KiB.' : 'There is no text to show.'}</p>`)}<//>`;
}
