// Requests to the server: the token, the answers, and the refusals.
//
// The token lives in `sessionStorage`, which belongs to one port; no cookie is used.

const BASE = '/api/v1';
const KEY = 'colony';
const handlers = { login: () => {}, gone: () => {} };

/** A refusal of the server, or a server that does not answer (`server-gone`). */
export class Refusal extends Error {
  constructor(answer, status) {
    super(answer.message ?? 'the server refused the request');
    this.code = answer.code ?? 'unknown';
    this.hint = answer.hint ?? null;
    this.detail = answer.detail ?? null;
    this.answer = answer;
    this.status = status;
  }
}

export function onLoginRequired(handler) {
  handlers.login = handler;
}

export function onGone(handler) {
  handlers.gone = handler;
}

export function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

export function remember(who) {
  if (who) sessionStorage.setItem(KEY, JSON.stringify(who));
  else sessionStorage.removeItem(KEY);
}

export function headers(extra = {}) {
  const token = remembered()?.token;
  return token ? { ...extra, Authorization: `Bearer ${token}` } : extra;
}

/** Sends a request. Returns `{value, status, etag}`; throws a `Refusal`. */
export async function call(method, path, body, etag) {
  const extra = {};
  if (body !== undefined) extra['Content-Type'] = 'application/json';
  if (etag) extra['If-None-Match'] = etag;
  const options = { method, headers: headers(extra), cache: 'no-store' };
  if (body !== undefined) options.body = JSON.stringify(body);
  const response = await send(BASE + path, options);
  if (response.status === 304) return { status: 304, etag };
  const value = await answerOf(response);
  if (response.ok) return { value, status: response.status, etag: response.headers.get('ETag') };
  const refusal = new Refusal(value, response.status);
  // git's refusal of a password is 401, too; only the code tells them apart.
  if (response.status === 401 && refusal.code === 'login-required' && path !== '/login') handlers.login(refusal);
  throw refusal;
}

/** The command that serves this very address again. */
export const startAgain = () => (location.port ? `git colony dashboard --port ${location.port}` : 'git colony dashboard');

async function send(url, options) {
  try {
    return await fetch(url, options);
  } catch {
    handlers.gone();
    throw new Refusal({ code: 'server-gone', message: 'the dashboard has ended, so nothing was done', hint: startAgain() }, 0);
  }
}

async function answerOf(response) {
  try {
    return (await response.json()) ?? {};
  } catch {
    return { code: 'not-json', message: `the server answered ${response.status} without JSON` };
  }
}

/** Exchanges the one-time code of the link for a token. */
export async function login(code) {
  const { value } = await call('POST', '/login', { code });
  remember(value);
  return value;
}

/** Joins a path of the API and its query; empty members are left out. */
export function path(base, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) if (item !== undefined && item !== null && item !== '') search.append(name, item);
  }
  const text = search.toString();
  return text ? `${base}?${text}` : base;
}

/** Makes a path of segments, each encoded. */
export function segments(...names) {
  return '/' + names.map((name) => encodeURIComponent(String(name))).join('/');
}
