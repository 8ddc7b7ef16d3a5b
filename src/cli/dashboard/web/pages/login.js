// The login: a code from the terminal where the dashboard runs.

import { login } from '../api.js';
import { enter } from '../live.js';
import { change, html, store } from '../store.js';
import { Field, Problem, formValues } from '../parts.js';

export function Login() {
  document.title = 'git-colony';
  return html`<main class="login" id="main">
    <p class="mark" aria-hidden="true">⬢</p>
    <h1>git-colony</h1>
    <p>Each tab has a login of its own. Press <kbd>Enter</kbd> in the terminal of the dashboard, and paste the link that it prints here or
      into the address of this tab. A link counts once, within a minute.</p>
    <${Problem} error=${problem()} />
    <form onSubmit=${submit}>
      <${Field} label="Or paste the code or the link"><input name="code" required autocomplete="off" spellcheck="false" /><//>
      <button type="submit" class="primary">Log in</button>
    </form>
    <p class="faint">No dashboard is running? <code>git colony dashboard</code></p>
  </main>`;
}

/** The problem, without the hint, which the page gives itself. */
function problem() {
  const { loginProblem: error } = store;
  return error && { message: error.message, code: error.code };
}

async function submit(event) {
  const { code } = formValues(event);
  // A whole link is as good as its code.
  await login(code.split('#').pop()).then(enter, (error) => change({ loginProblem: error }));
}
