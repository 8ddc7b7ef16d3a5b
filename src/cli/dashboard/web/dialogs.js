// Dialogs: what a change would do, and the button that does it.
//
// A change is shown before it is made. What destroys answers with a `preview_id`, which the second request sends; all else
// is asked with `dry_run` first.

import { call, path, Refusal } from './api.js';
import { change, draw, html, store, tell } from './store.js';
import { Problem, text } from './parts.js';

let opened = 0;

export function openDialog(dialog) {
  closeDialog();
  change({ dialog: { ...dialog, key: ++opened } });
}

/** Closes the dialog, which gives the focus back to the button that opened it. */
export function closeDialog() {
  document.querySelector('dialog[open]')?.close();
  if (store.dialog) change({ dialog: null });
}

/** A dialog that was closed by Escape. The event comes late: another dialog may be open by then. */
function forget(dialog) {
  if (store.dialog === dialog) change({ dialog: null });
}

const show = (node) => {
  if (node && !node.open) node.showModal();
};

export function DialogHost() {
  const { dialog } = store;
  if (!dialog) return null;
  return html`<dialog key=${dialog.key} ref=${show} class=${dialog.wide ? 'wide' : ''} aria-labelledby="dialog-title" onClose=${() => forget(dialog)}>
    <h2 id="dialog-title">${text(dialog.title)}</h2>
    ${dialog.body()}
  </dialog>`;
}

/** The row of buttons below a dialog. */
export function Buttons({ verb, busy, disabled, danger, onApply, cancel = 'Cancel' }) {
  return html`<div class="buttons">
    <button type="button" onClick=${closeDialog}>${cancel}</button>
    ${verb && html`<button type=${onApply ? 'button' : 'submit'} class=${danger ? 'danger' : 'primary'} disabled=${busy || disabled} onClick=${onApply}>
      ${busy ? 'Working …' : verb}
    </button>`}
  </div>`;
}

/**
 * Shows what a change would do, then makes it.
 *
 * `plan` has `title`, `verb`, `method`, `path`, `body`, `first` ('preview' or 'dry_run'), `lines(report)`, and optionally
 * `options(body, set, last)` (a form that changes the body; `last` is the newest plan), `waits` (the plan is shown once the
 * form is sent), `blocked(report)` (why it cannot be made), `done(report)`, `after` (what the status line then offers) and
 * `danger`.
 */
export async function propose(plan) {
  const state = { plan, body: { ...plan.body }, report: null, last: null, error: null, busy: false, asked: 0 };
  openDialog({ title: plan.title, wide: plan.wide, body: () => html`<${Plan} state=${state} />` });
  if (!plan.waits) await look(state);
}

function Plan({ state }) {
  const { plan, report } = state;
  const blocked = report && plan.blocked?.(report);
  return html`<div class="plan">
    ${plan.options?.(state.body, (fields) => adjust(state, fields), state.last)}
    ${state.changed && html`<p class="note"><strong>The repository has changed since.</strong> This is the plan now.</p>`}
    <${Problem} error=${state.error} />
    ${report ? html`<p class="plan-message">${text(report.message)}</p>
    ${plan.lines?.(report)}` : state.asked > 0 && !state.error && html`<p class="faint">Asking what would happen …</p>`}
    ${blocked && html`<p class="hint">${text(blocked)}</p>`}
    <${Buttons} verb=${plan.verb} busy=${state.busy} danger=${plan.danger} disabled=${!report || Boolean(blocked)} onApply=${() => apply(state)} />
  </div>`;
}

function adjust(state, fields) {
  Object.assign(state.body, fields);
  // The last plan was of something else.
  if (state.plan.waits) Object.assign(state, { report: null, error: null });
  draw();
  look(state);
}

async function look(state) {
  const asked = ++state.asked;
  try {
    const report = await send(state.plan, state.body, state.plan.first === 'preview' ? {} : { dry_run: true });
    if (asked !== state.asked) return;
    Object.assign(state, { report, last: report, error: null });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (asked === state.asked) Object.assign(state, { report: null, error });
  }
  draw();
}

async function apply(state) {
  Object.assign(state, { busy: true, error: null });
  draw();
  try {
    const id = state.report.preview_id;
    const report = await send(state.plan, state.body, id ? { preview_id: id } : {});
    if (report.applied === false && report.preview_id) return showAgain(state, report);
    closeDialog();
    tell(text(report.message), state.plan.after);
    state.plan.done?.(report);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { preview, preview_id: again } = error.answer;
    if (preview && again) return showAgain(state, { ...preview, preview_id: again });
    state.error = error;
  } finally {
    state.busy = false;
    draw();
  }
}

/** The repository has changed since the plan was shown: show the new plan, and ask again. */
function showAgain(state, report) {
  Object.assign(state, { report, last: report, changed: true });
}

function send(plan, body, extra) {
  const method = plan.method ?? 'POST';
  const all = { ...body, ...extra };
  const request = method === 'DELETE' ? call(method, path(plan.path, all)) : call(method, plan.path, all);
  return request.then((answer) => answer.value);
}

/** Sends a change that needs no plan, and says what was done. */
export async function act(method, target, body, done) {
  try {
    const { value } = await call(method, target, body);
    tell(text(value.message));
    done?.(value);
    return value;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    notDone(error);
    return null;
  }
}

/** Says why something was not done. */
export function notDone(error) {
  openDialog({ title: 'Not done', body: () => html`<${Problem} error=${error} /><${Buttons} cancel="Close" />` });
}

/** Asks before a change that has no plan: `lines` say what it means. */
export function ask({ title, verb, lines, run }) {
  const apply = () => {
    closeDialog();
    run();
  };
  openDialog({ title, body: () => html`${lines()}<${Buttons} verb=${verb} onApply=${apply} />` });
}

/** Asks for some values by a form, sends them, and closes; a refusal stays in the dialog. */
export function form({ title, verb, fields, submit }) {
  const state = { error: null, busy: false };
  const send = async (event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const values = Object.fromEntries([...data].map(([name, value]) => [name, String(value).trim()]));
    Object.assign(state, { busy: true, error: null });
    draw();
    try {
      const report = await submit(values);
      closeDialog();
      if (report?.message) tell(text(report.message));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      state.error = error;
    } finally {
      state.busy = false;
      draw();
    }
  };
  const body = () => html`<form class="plan" onSubmit=${send}>
    ${fields()}
    <${Problem} error=${state.error} />
    <${Buttons} verb=${verb} busy=${state.busy} />
  </form>`;
  openDialog({ title, body });
}
