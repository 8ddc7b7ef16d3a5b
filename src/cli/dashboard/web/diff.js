// Patches: colored by sign, folded when they are long.

import { draw, html } from './store.js';
import { plural, Windowed } from './parts.js';

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
