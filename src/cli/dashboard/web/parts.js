// Small parts that every page is made of. Text of the repository becomes text: each value passes `text()`.

import { Component } from './vendor/preact.mjs';
import { html, store, tell } from './store.js';

const NUMBERS = new Intl.NumberFormat('en');
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });
const CLOCK = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const FULL = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });

/** Returns a value as a text. An object as a child would be a node of Preact. */
export const text = (value) => (value === null || value === undefined ? '' : String(value));

export const number = (value) => (Number.isFinite(value) ? NUMBERS.format(value) : '');

export const plural = (amount, one, many = `${one}s`) => `${number(amount)} ${amount === 1 ? one : many}`;

/** The first of some names, and how many more there are. */
export const someOf = (names, most) => names.slice(0, most).join(', ') + (names.length > most ? ` and ${number(names.length - most)} more` : '');

export const short = (id) => text(id).slice(0, 8);

export function bytes(amount) {
  if (!Number.isFinite(amount)) return '';
  if (amount < 1024) return `${number(amount)} B`;
  const unit = amount < 1024 ** 2 ? 'KiB' : amount < 1024 ** 3 ? 'MiB' : 'GiB';
  const value = amount / { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }[unit];
  return `${value < 10 ? value.toFixed(1) : NUMBERS.format(Math.round(value))} ${unit}`;
}

function age(time) {
  const seconds = Math.max(0, (Date.now() - time) / 1000);
  if (seconds < 45) return 'just now';
  if (seconds < 3600) return `${Math.round(seconds / 60) || 1} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} d ago`;
}

/** A time as an age, or as the clock says. */
export function When({ at, clock }) {
  const time = Date.parse(at);
  if (!Number.isFinite(time)) return html`<span class="faint">never</span>`;
  const today = new Date(time).toDateString() === new Date().toDateString();
  const shown = !clock ? age(time) : today ? CLOCK.format(time) : `${DAY.format(time)}, ${CLOCK.format(time)}`;
  return html`<time datetime=${text(at)} title=${FULL.format(time)}>${shown}</time>`;
}

export async function copy(line) {
  try {
    await navigator.clipboard.writeText(line);
    tell('copied to the clipboard');
  } catch {
    tell('the browser does not allow copying; select the text instead');
  }
}

/** A command to copy. */
export function Command({ line }) {
  const shown = text(line).split('   # ')[0];
  return html`<span class="command">
    <code>${shown}</code>
    <button type="button" class="quiet" aria-label=${`Copy: ${shown}`} onClick=${() => copy(shown)}>Copy</button>
  </span>`;
}

/** A refusal: what happened, and the command that helps. */
export function Problem({ error }) {
  if (!error) return null;
  const hint = text(error.hint);
  const isCommand = /^git[ -]/.test(hint);
  return html`<div class="problem" role="alert">
    <p><strong aria-hidden="true">✕</strong> ${text(error.message)} <span class="code">${text(error.code)}</span></p>
    ${hint && (isCommand ? html`<${Command} line=${hint} />` : html`<p class="faint">${hint}</p>`)}
  </div>`;
}

/** An answer: its refusal, its first loading, or what `children` makes of it. */
export function Answer({ of, children, lines = 3 }) {
  if (of.value === undefined && of.error) return html`<${Problem} error=${of.error} />`;
  if (of.value === undefined && store.gone) return html`<p class="faint">Not loaded: the dashboard has ended.</p>`;
  if (of.value === undefined) return html`<${Loading} lines=${lines} />`;
  return html`<${Problem} error=${of.error} />${children(of.value)}`;
}

function Loading({ lines }) {
  return html`<div class="loading" aria-busy="true"><span class="sr">Loading</span>
    ${Array.from({ length: lines }, (_, index) => html`<div class="bar" key=${index}></div>`)}
  </div>`;
}

/** A list with nothing in it, and the next step. */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p><div>${children}</div></div>`;
}

export function Section({ title, aside, children, id }) {
  return html`<section class="section" aria-labelledby=${id}>
    <header class="section-head"><h2 id=${id}>${title}</h2><div class="aside">${aside}</div></header>
    ${children}
  </section>`;
}

/** A state as a word and a sign; `tone` is 'good', 'bad', 'busy' or nothing. */
export function State({ tone, sign, children }) {
  return html`<span class=${`state ${tone ?? ''}`}><span aria-hidden="true">${sign ?? '·'}</span> ${children}</span>`;
}

export function Field({ label, hint, children }) {
  return html`<label class="field"><span class="label">${label}</span>${children}${hint && html`<span class="hint">${hint}</span>`}</label>`;
}

/**
 * A table that scrolls sideways by itself where the page is narrow. A head that begins with '#' is of numbers; a column
 * with '~' is left out on a narrow page, where its cells have the class `less`.
 */
export function Table({ label, heads, children }) {
  const head = (name, index) => html`<th scope="col" key=${index} class=${`${name.includes('#') ? 'num' : ''} ${name.includes('~') ? 'less' : ''}`}>
    ${name ? name.replace(/[#~]/g, '') : html`<span class="sr">Actions</span>`}
  </th>`;
  return html`<div class="table-box" tabindex="0" role="group" aria-label=${label}>
    <table><thead><tr>${heads.map(head)}</tr></thead><tbody>${children}</tbody></table>
  </div>`;
}

/** Draws only the rows of a long list that can be seen. All rows are equally high. */
export class Windowed extends Component {
  constructor() {
    super();
    this.state = { top: 0 };
  }

  render({ rows, height, shown, row, label, className, head }) {
    const first = Math.max(0, Math.floor(this.state.top / height) - 10);
    const last = Math.min(rows.length, first + shown + 20);
    const scroll = (event) => this.setState({ top: event.currentTarget.scrollTop });
    const box = { height: `${Math.min(rows.length, shown) * height + 18}px` };
    return html`<div class=${`windowed ${className ?? ''}`}>
      ${head}
      <div class="windowed-scroll" tabindex="0" role="group" aria-label=${`${label}: ${plural(rows.length, 'row')}`} style=${box} onScroll=${scroll}>
        <div style=${{ height: `${rows.length * height}px`, position: 'relative' }}>
          <div style=${{ transform: `translateY(${first * height}px)` }}>
            ${rows.slice(first, last).map((item, index) => row(item, first + index))}
          </div>
        </div>
      </div>
    </div>`;
  }
}

/** The values of a submitted form, as texts without space around them. */
export function formValues(event) {
  event.preventDefault();
  const values = {};
  for (const [name, value] of new FormData(event.currentTarget)) values[name] = String(value).trim();
  return values;
}
