// The story of the dashboard in a real browser: what a user does, from the link in the terminal to undo.
//
//   npm ci --ignore-scripts && node story.mjs BINARY [--pictures FOLDER] [--browser PROGRAM]
//
// The browser is a Chromium that is there already. Prints one line for each step. The exit code is 0 if all of them went well, else 1.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { HOSTILE, makeRepository } from './fixture.mjs';

const { binary, pictures, browserProgram } = readArguments();
const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const STEP_TIMEOUT = 60_000; // no bound on what is quick: a machine may be slow
const MAX_FAILURES = 5; // the steps build on each other
const failures = [];
const consoleErrors = [];
const expected = []; // patterns of console errors that a step provokes

function readArguments() {
  const words = process.argv.slice(2);
  const option = (name, standard) => {
    const at = words.indexOf(name);
    return at < 0 ? standard : words.splice(at, 2)[1];
  };
  const read = { pictures: option('--pictures', null), browserProgram: option('--browser', '/usr/bin/chromium'), binary: words[0] };
  if (!read.binary) throw new Error('usage: node story.mjs BINARY [--pictures FOLDER] [--browser PROGRAM]');
  return { ...read, binary: path.resolve(read.binary) };
}

async function step(name, action) {
  if (failures.length >= MAX_FAILURES) return;
  const begun = Date.now();
  try {
    await action();
    console.log(`ok      ${name} (${Date.now() - begun} ms)`);
  } catch (error) {
    const reason = String(error.message ?? error).replace(/\u001b\[\d+m/g, '').split('\n').slice(0, 6).join('\n        ');
    failures.push(name);
    console.log(`FAILED  ${name}\n        ${reason}`);
    await page?.screenshot({ path: path.join(fixture.root, `failed-${failures.length}.png`) }).catch(() => {});
  }
}

function require_(condition, message) {
  if (!condition) throw new Error(message);
}

// The server

async function startServer(words = [], cwd = fixture.repository) {
  const child = spawn(binary, ['dashboard', ...words], { cwd, env: fixture.environment, stdio: ['pipe', 'pipe', 'pipe'] });
  const link = await new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk) => {
      output += chunk;
      const match = output.match(/http:\/\/127\.0\.0\.1:\d+\/#\S+/);
      if (match) resolve(match[0]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('exit', () => reject(new Error(`the dashboard ended: ${output}`)));
    setTimeout(() => reject(new Error(`no link in 30 s: ${output}`)), 30_000).unref();
  });
  return { child, link, origin: new URL(link).origin };
}

/** Presses Enter in the terminal of the server, and returns the link that it prints. */
function nextLink(server) {
  const printed = new Promise((resolve) => {
    const read = (chunk) => {
      const match = String(chunk).match(/http:\/\/127\.0\.0\.1:\d+\/#\S+/);
      if (!match) return;
      server.child.stdout.off('data', read);
      resolve(match[0]);
    };
    server.child.stdout.on('data', read);
  });
  server.child.stdin.write('\n');
  return printed;
}

function stopServer(server) {
  const ended = new Promise((resolve) => server.child.on('exit', resolve));
  server.child.kill('SIGINT');
  return ended;
}

// The browser

async function newPage(context) {
  const page = await context.newPage();
  page.setDefaultTimeout(STEP_TIMEOUT);
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    const text = `${message.text()} ${message.location().url}`;
    if (!expected.some((pattern) => pattern.test(text))) consoleErrors.push(text);
  });
  page.on('pageerror', (error) => consoleErrors.push(String(error.stack)));
  page.on('dialog', (dialog) => {
    consoleErrors.push(`a script of the repository ran: ${dialog.message()}`);
    dialog.dismiss();
  });
  return page;
}

/** Waits until nothing is being loaded. */
const calm = () => page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('[aria-busy]'));

async function visit(address) {
  await page.goto(server.origin + address);
  await calm();
}

const button = (name, exact = true) => page.getByRole('button', { name, exact });
const inDialog = () => page.locator('dialog[open]');
const planned = async () => {
  await page.locator('dialog[open] .plan-message').waitFor();
  await requireWords('the dialog');
};
const seen = (text) => page.getByText(text).first().waitFor();

async function noDialog() {
  await page.waitForFunction(() => !document.querySelector('dialog'));
}

/** Applies the plan that a dialog shows. */
async function apply(verb) {
  await inDialog().getByRole('button', { name: verb, exact: true }).click();
  await noDialog();
}

async function requireAccessible(what) {
  await page.evaluate(`${AXE}; 1`);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const lines = violations.map((each) => `${each.id}: ${each.nodes.slice(0, 2).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  require_(!lines.length, `axe finds violations on ${what}: ${lines.join('; ')}`);
}

/** Text that is no text of a person: an object, or a value that is not there. */
async function requireWords(what) {
  const found = await page.evaluate(() => document.querySelector('#app').innerText.match(/.{0,40}(\[object|\bundefined\b|\bNaN\b).{0,40}/)?.[0]);
  require_(!found, `${what} says '${found}'`);
}

/** A table is read without scrolling it, and its buttons can be seen. */
async function requireInSight(what) {
  const hidden = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll('.table-box')].filter((box) => box.scrollWidth > box.clientWidth);
    return boxes.map((box) => `${box.getAttribute('aria-label')} is ${box.scrollWidth - box.clientWidth} px wider than its box`);
  });
  require_(!hidden.length, `${what}: ${hidden.join('; ')}`);
}

async function picture(name) {
  if (pictures) await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

const LOADED = '/design?branch=main&commit=HEAD';
const PAGES = ['/', LOADED, `${LOADED}&view=treemap`, '/vcm', '/fleet', '/fleet/ada?tab=diff', '/fleet/eve', '/timeline', '/timeline/op-1', '/search', '/search?q=header', '/watches'];

// The story

if (pictures) fs.mkdirSync(pictures, { recursive: true });
const fixture = makeRepository(binary);
let server = await startServer();
const browser = await chromium.launch({
  executablePath: browserProgram,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
let page = await newPage(context);

await step('the source of the page has no way from text to markup', async () => {
  const web = fileURLToPath(new URL('../../src/cli/dashboard/web', import.meta.url));
  const names = fs.readdirSync(web, { recursive: true }).filter((name) => name.endsWith('.js') && !name.startsWith('vendor'));
  // An address is made by these functions, or begins with a slash: never of data alone.
  const forbidden = /innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|href=\$\{(?!(to|path|withQuery)\(|`\/)/;
  const found = names.filter((name) => forbidden.test(fs.readFileSync(path.join(web, name), 'utf8')));
  require_(names.length > 10 && !found.length, `look at ${found.join(', ') || web}`);
});

await step('the link logs in, and the code leaves the address', async () => {
  await page.goto(server.link);
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  require_(!page.url().includes('#'), `the address still has the code: ${page.url()}`);
  require_((await context.cookies()).length === 0, 'a cookie was set');
});

await step('the second use of the link is refused', async () => {
  expected.push(/401.*\/login/);
  const other = await newPage(await browser.newContext());
  await other.goto(server.link);
  await other.getByRole('alert').getByText('login-required').waitFor();
  await other.getByLabel(/paste the code/).waitFor();
  await other.context().close();
});

await step('another port of this machine has neither token nor answers', async () => {
  const stranger = http.createServer((_, response) => response.end('<!doctype html>')).listen(0, '127.0.0.1');
  const other = await context.newPage();
  await other.goto(`http://127.0.0.1:${stranger.address().port}/`);
  const found = await other.evaluate(async (origin) => {
    const answer = await fetch(`${origin}/api/v1/state`).then((response) => response.text(), () => null);
    return [sessionStorage.length, localStorage.length, document.cookie, answer];
  }, server.origin);
  await other.close();
  stranger.close();
  require_(JSON.stringify(found) === '[0,0,"",null]', `another port reads ${JSON.stringify(found)}`);
});

await step('a new tab has no login, and takes none of another tab', async () => {
  const other = await newPage(context);
  await other.goto(server.origin);
  await other.getByText('A link counts once').waitFor();
  await other.getByText('Each tab has a login of its own').waitFor();
  // A link that is pasted into the tab changes only what follows '#'.
  await other.goto(await nextLink(server));
  await other.getByRole('heading', { name: 'Home' }).waitFor();
  require_(!other.url().includes('#'), `the address still has the code: ${other.url()}`);
  await other.close();
});

await step('the fleet says what merges cleanly, and who settles a conflict', async () => {
  await visit('/fleet');
  await page.getByRole('row', { name: /^zoe/ }).getByText('✓ clean into main').waitFor();
  for (const name of ['ada', 'zoe']) fixture.colony('merge', name);
  await visit('/fleet');
  await page.locator('.next').getByText('or let eve settle it:').waitFor();
  await requireWords('the fleet');
  await button('Settle and merge …').click();
  await planned();
  await inDialog().getByLabel('as in fork/eve').waitFor();
  await page.keyboard.press('Escape');
  await noDialog();
  for (let step = 0; step < 2; step += 1) fixture.colony('undo');
});

await step('many clashes about one file are one line', async () => {
  const names = Array.from({ length: 20 }, (_, at) => `fork/agent-${at}`);
  const clashes = names.flatMap((a, at) => names.slice(at + 1).map((b) => ({ a, b, paths: ['notes.txt'], binary: false })));
  for (let at = 0; at < 9; at += 1) clashes.push({ a: 'fork/x', b: `fork/y${at}`, paths: [`file-${at}`], binary: false });
  const change = async (route) => {
    const response = await route.fetch();
    if (response.status() !== 200) return route.fulfill({ response });
    return route.fulfill({ response, json: { ...(await response.json()), clashes } });
  };
  await page.route('**/api/v1/fleet', change);
  await visit('/fleet');
  await seen('5 more clashes');
  require_((await page.locator('.clashes').first().locator('li').count()) === 5, 'not five clashes are shown');
  await page.locator('.clashes li').first().getByText('and 12 more').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
});

await step('the header follows files that write no event', async () => {
  await visit('/');
  fixture.write('dirt.txt', 'not committed\n');
  await page.locator('header').getByText('1 path uncommitted').waitFor();
  fs.rmSync(path.join(fixture.repository, 'dirt.txt'));
});

await step('before a session, a page that needs one names the next step', async () => {
  await visit('/vcm');
  await seen('Begin a session first');
  require_((await page.getByRole('link', { name: 'VCM', exact: true }).count()) === 0, 'VCM is offered without a session');
});

await step('the pencil changes the repository of a colony', async () => {
  await visit('/');
  await button('Edit the design monorepo of rocket').click();
  await inDialog().getByLabel('Branch').fill('main');
  await inDialog().getByLabel('URL').fill(fixture.origin);
  await inDialog().getByRole('button', { name: 'Save' }).click();
  await noDialog();
  await page.getByRole('row', { name: /rocket/ }).getByText(fixture.origin).waitFor();
});

await step('a refused URL stays in the dialog, with its reason', async () => {
  expected.push(/4\d\d.*\/design-monorepo/);
  await button('Edit the design monorepo of rocket').click();
  await inDialog().getByLabel('URL').fill('ext::sh -c id');
  await inDialog().getByRole('button', { name: 'Save' }).click();
  await inDialog().getByRole('alert').waitFor();
  await page.keyboard.press('Escape');
  await noDialog();
});

await step('a session begins', async () => {
  await button('New session').first().click();
  await page.getByRole('heading', { name: 'Design monorepo' }).waitFor();
  await page.getByRole('link', { name: 'VCM', exact: true }).waitFor();
});

await step('the end of a session is asked for, and told', async () => {
  await visit('/');
  await button('New session').first().click();
  await page.getByRole('heading', { name: 'Design monorepo' }).waitFor();
  await visit('/');
  await button('End …').first().click();
  await inDialog().getByText('Others stay open.').waitFor();
  await apply('End');
  await page.getByRole('status').getByText('has ended').waitFor();
});

await step('a problem of Load is told once, and goes with the page', async () => {
  expected.push(/4\d\d.*\/repo-map/);
  await visit('/design');
  await page.getByLabel('URL').fill('');
  await page.getByLabel('Branch').fill('no-such-branch');
  await button('Load').click();
  await page.getByRole('alert').waitFor();
  await visit('/design?branch=no-such-branch&commit=HEAD');
  await page.getByRole('alert').waitFor();
  require_((await page.getByRole('alert').count()) === 1, 'one problem is told several times');
  await button('Load').click();
  await calm();
  require_((await page.getByRole('alert').count()) === 1, 'one problem is told several times');
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.getByRole('link', { name: 'Design monorepo', exact: true }).click();
  await seen('Nothing is loaded');
  require_((await page.getByRole('alert').count()) === 0, 'an old problem stays');
});

await step('Load shows the files and the sources, all ticked', async () => {
  await page.getByLabel('URL').fill('');
  await button('Load').click();
  await seen('3 of 3 selected');
  await page.locator('.tree').getByText('src/').waitFor();
  require_((await page.locator('.sources input:checked').count()) === 3, 'not every source is ticked');
});

await step('a URL that the user has recorded loads as well', async () => {
  await visit('/design');
  await page.getByLabel('URL').fill(fixture.origin);
  await button('Load').click();
  await seen('3 of 3 selected');
});

await step('an odd name of a file stays text in the tree', async () => {
  await visit(LOADED);
  await page.locator('.tree summary').getByText('docs/').click();
  await page.locator('.tree').getByText(`${HOSTILE}.md`).waitFor();
  require_((await page.locator('img').count()) === 0, 'a name became an image');
});

await step('without a tick nothing can be mapped', async () => {
  for (const name of ['code', 'papers', 'docs']) await page.getByRole('checkbox', { name: new RegExp(`^${name}`) }).uncheck();
  await seen('Tick a source to map it.');
  require_(await button('Map to VCM').isDisabled(), 'Map is enabled');
});

await step('the preview shows every knob of the ticked sources', async () => {
  for (const name of ['code', 'papers']) await page.getByRole('checkbox', { name: new RegExp(`^${name}`) }).check();
  await button('Preview mmap calls').click();
  await page.locator('.call').first().waitFor();
  require_((await page.locator('.call').count()) === 2, 'the preview is not of two sources');
  await page.locator('.call').getByText('flush_token_budget').first().waitFor();
});

await step('the map runs as an operation, which a reload of the page keeps', async () => {
  await button('Map to VCM').click();
  await inDialog().getByText('code, papers').waitFor();
  await requireAccessible('the dialog of a map');
  await inDialog().getByRole('button', { name: 'Map', exact: true }).click();
  await inDialog().getByText(/map_[0-9a-f]{12} has begun/).waitFor();
  await inDialog().getByRole('button', { name: 'Follow it in VCM' }).click();
  await page.getByRole('row', { name: /map_/ }).waitFor();
  await page.reload();
  await page.getByRole('row', { name: /map_.*mapped/ }).waitFor();
});

await step('a repository of a URL is mapped as well', async () => {
  await page.goto(`${server.origin}/design?${new URLSearchParams({ origin_url: fixture.origin, branch: 'main', commit: 'HEAD' })}`);
  await calm();
  await button('Map to VCM').click();
  await inDialog().getByText(fixture.origin).waitFor();
  await inDialog().getByRole('button', { name: 'Map', exact: true }).click();
  await inDialog().getByRole('button', { name: 'Follow it in VCM' }).click();
  await page.waitForFunction(() => document.querySelectorAll('[aria-label="Mapping operations"] .state.good').length === 2);
});

await step('all ticked maps all, knowledge too', async () => {
  await visit(LOADED);
  await button('Map to VCM').click();
  await inDialog().getByText('(all)').waitFor();
  await inDialog().getByRole('button', { name: 'Map', exact: true }).click();
  await inDialog().getByRole('button', { name: 'Follow it in VCM' }).click();
  await page.waitForFunction(() => document.querySelectorAll('[aria-label="Mapping operations"] .state.good').length === 3);
  await page.getByRole('group', { name: 'Scopes' }).getByRole('row', { name: /docs/ }).waitFor();
});

await step('the page catalog is filtered', async () => {
  await page.getByRole('searchbox').fill('header');
  await page.waitForURL(/q=header/);
  await page.locator('.catalog .page-row').getByText('src/header.rs').first().waitFor();
  await page.getByRole('searchbox').fill('nothing-like-this');
  await seen('No page matches');
});

await step('a page shows its text; a lock appears in the working set and goes', async () => {
  await visit('/vcm?q=header');
  await page.locator('.catalog a').first().click();
  await page.locator('pre.text').first().waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL(/q=header/);
  await page.locator('.catalog a').first().click();
  await page.locator('pre.text').first().waitFor();
  await button('Lock for 5 min').click();
  await button('Unlock').waitFor();
  await visit('/vcm');
  await page.getByRole('group', { name: 'Locks' }).getByRole('button', { name: 'Unlock' }).click();
  await seen('No page is locked.');
});

await step('a new document is ingested, and what was done is told', async () => {
  fixture.write('literature/curated/ash.md', '# Ash\n\nThe ash of an engine is measured.\n');
  fixture.git('add', '--all', 'literature');
  fixture.git('commit', '--quiet', '--message', 'Add a document');
  await visit(LOADED);
  await button('Ingest …').click();
  await planned();
  await inDialog().getByText('literature/curated/ash.md').waitFor();
  await inDialog().getByRole('button', { name: 'Ingest', exact: true }).click();
  await inDialog().getByRole('heading', { name: 'Ingested' }).waitFor();
  await inDialog().getByRole('button', { name: 'Close' }).click();
  require_(/ash\.md/.test(fixture.colony('knowledge', '--json')), 'the document is not in the knowledge base');
});

await step('promote shows the change of the map, keeps what was typed, and commits it', async () => {
  expected.push(/4\d\d.*\/promote/);
  await visit(LOADED);
  await button('Promote …').click();
  await inDialog().getByLabel('File or directory').fill('literature/curated/burm.md');
  await inDialog().getByRole('button', { name: 'Show the change' }).click();
  await inDialog().getByRole('alert').waitFor();
  require_((await inDialog().getByLabel('File or directory').inputValue()) === 'literature/curated/burm.md', 'what was typed is gone');
  await inDialog().getByLabel('File or directory').fill('literature/curated/burn.md');
  await inDialog().getByRole('button', { name: 'Show the change' }).click();
  await planned();
  await inDialog().locator('.line.plus').first().waitFor();
  await requireAccessible('the dialog of a promotion');
  await inDialog().getByRole('button', { name: 'Commit' }).click();
  await inDialog().getByRole('heading', { name: 'Promoted' }).waitFor();
  await inDialog().getByText('by Clear KB chunks (row 2)').waitFor();
  await inDialog().getByRole('button', { name: 'Close' }).click();
  require_(/burn\.md/.test(fixture.git('show', 'HEAD:.colony/repo_map.yaml')), 'the map has no commit of it');
});

await step('demote shows its change as well', async () => {
  await visit(LOADED);
  await button('Demote …').first().click();
  await inDialog().getByLabel('File or directory').fill('literature/promoted/orbit.md');
  await inDialog().getByRole('button', { name: 'Show the change' }).click();
  await planned();
  await inDialog().locator('.line.plus').first().waitFor();
  await page.keyboard.press('Escape');
  await noDialog();
});

await step('the chunks of a row are cleared', async () => {
  const documents = () => JSON.parse(fixture.colony('knowledge', '--json')).count;
  const before = documents();
  await visit(LOADED);
  for (const row of await page.locator('.routing li').all()) {
    await row.getByRole('button', { name: 'Clear KB chunks …' }).click();
    await planned();
    const clear = inDialog().getByRole('button', { name: 'Clear', exact: true });
    if (await clear.isEnabled()) {
      await apply('Clear');
      break;
    }
    await page.keyboard.press('Escape');
    await noDialog();
  }
  require_(documents() < before, `the knowledge base still has ${before} documents`);
});

await step('a watch is started, fires, changes its mode, and stops', async () => {
  await visit('/watches');
  await button('+ Watch').click();
  await inDialog().getByLabel('Paths').fill('src');
  await inDialog().getByLabel('Quiet for').fill('0.3');
  await inDialog().getByLabel('Name').fill('story');
  await inDialog().getByRole('button', { name: 'Start', exact: true }).click();
  const row = page.getByRole('row', { name: /story/ });
  await row.waitFor();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  fixture.write('src/header.rs', '//! Changed for the watch.\n');
  await page.locator('.events').getByText('watch fired').first().waitFor();
  await page.waitForFunction(() => Number(document.querySelector('td.num')?.textContent) > 0);
  for (const words of ['watch fired', 'watch_fired:']) {
    await page.locator('[data-filter]').fill(words);
    await page.locator('.events .event-row.row').getByText('watch fired').first().waitFor();
  }
  await page.locator('[data-filter]').fill('');
  await page.getByLabel('Mode of story').selectOption('invalidate');
  await page.waitForFunction(() => document.querySelector('[aria-label="Mode of story"]')?.value === 'invalidate');
  await row.getByRole('button', { name: 'Stop' }).click();
  await row.waitFor({ state: 'detached' });
});

await step('a conflict can be settled by whole paths; a merge shows its plan first', async () => {
  await visit('/fleet');
  fixture.git('checkout', '--quiet', '--', 'src');
  await page.getByRole('row', { name: /^eve/ }).getByText('conflict').waitFor();
  await page.getByRole('row', { name: /^eve/ }).getByRole('button', { name: 'Merge …' }).click();
  await planned();
  require_(await inDialog().getByRole('button', { name: 'Merge', exact: true }).isDisabled(), 'a conflict can be merged');
  await requireAccessible('the dialog of a merge');
  await inDialog().getByLabel('as in fork/eve').check();
  await inDialog().getByText('merges cleanly').or(inDialog().getByText('would change')).first().waitFor();
  await page.waitForFunction(() => !document.querySelector('dialog button.primary').disabled);
  await apply('Merge');
  await page.getByRole('row', { name: /^eve/ }).getByText('has it').waitFor();
});

await step('a long patch is folded, and opens in a window', async () => {
  await visit('/fleet/ada?tab=diff');
  await page.locator('.diff').getByText(`src/${HOSTILE}.rs`).waitFor();
  await page.locator('.diff summary').getByText('src/table.rs').click();
  await button('Show them').click();
  await page.locator('.windowed.patch .line').first().waitFor();
  const drawn = await page.locator('.line').count();
  require_(drawn < 200, `${drawn} lines are drawn`);
});

await step('undo shows its plan, and takes the merge back', async () => {
  const before = fixture.git('rev-parse', 'HEAD');
  await visit('/timeline');
  await button('Undo …').first().click();
  await planned();
  await apply('Undo');
  await seen('undone');
  require_(fixture.git('rev-parse', 'HEAD') !== before, 'main has not moved');
});

await step('a restore shows its plan, and can be left', async () => {
  await visit('/timeline');
  await button('Restore …').last().click();
  await planned();
  await inDialog().getByLabel('On a fork of its own').check();
  await planned();
  await page.keyboard.press('Escape');
  await noDialog();
});

await step('a plan that is stale is shown anew, and a restore offers undo', async () => {
  expected.push(/409.*\/restore/);
  await visit('/timeline');
  await button('Restore …').last().click();
  await planned();
  fixture.colony('checkpoint', '--label', 'in between', '--quiet');
  await inDialog().getByRole('button', { name: 'Restore', exact: true }).click();
  await inDialog().getByText('The repository has changed since.').waitFor();
  await apply('Restore');
  await page.getByRole('status').getByRole('button', { name: 'Undo …' }).click();
  await planned();
  await apply('Undo');
  await page.getByRole('status').getByText('undid').waitFor();
});

await step('search finds passages, and a context of some tokens', async () => {
  await visit('/search?q=header');
  await page.locator('.hits li').first().waitFor();
  await page.getByRole('link', { name: 'Context for a prompt' }).click();
  await page.locator('pre.text').waitFor();
  require_(/header\.rs/.test(await page.locator('pre.text').innerText()), 'the context has no mapped file');
  await visit('/search?q=engine+pressure&view=context&in=knowledge&path=*.md');
  await page.locator('pre.text').or(page.getByText('Nothing was found')).first().waitFor();
  require_(!/\.rs\b/.test(await page.locator('main').innerText()), 'the context is not only of the knowledge base');
});

await step('the newest operation can be undone on its page, and compared', async () => {
  fixture.colony('merge', 'zoe');
  const { op } = JSON.parse(fixture.colony('status', '--json')).undo;
  await visit(`/timeline/${op}`);
  await page.getByRole('link', { name: 'Diff', exact: true }).first().click();
  await page.locator('.diff').getByText('zoe.txt').waitFor();
  await button('Undo …').click();
  await planned();
  await apply('Undo');
});

await step('an agent whose commit was squashed has nothing unmerged', async () => {
  fixture.colony('merge', 'zoe', '--squash');
  await visit('/fleet/zoe');
  await button('Remove …').click();
  await planned();
  await inDialog().getByText('1 commit, squashed into main').waitFor();
  await page.keyboard.press('Escape');
  await noDialog();
  fixture.colony('undo');
});

/** The panel of the newest landing or try. */
const train = () => page.locator('.train').first();
const trainState = (words) => train().locator('header .state').getByText(words).waitFor();

await step('the plan of a landing names who is left out, and that a test is missing', async () => {
  expected.push(/409.*\/land/);
  await visit('/fleet');
  await button('Land …').click();
  await inDialog().getByText('nothing-to-land').waitFor();
  await inDialog().getByLabel('all agents with commits').check();
  await planned();
  await inDialog().getByRole('listitem').filter({ hasText: 'eve' }).getByText('it conflicts').waitFor();
  await inDialog().getByText('No command tests merged work here.').waitFor();
  require_(await inDialog().getByRole('button', { name: 'Land', exact: true }).isDisabled(), 'it lands without a test');
  await requireAccessible('the plan of a landing');
  await picture('land-plan');
  await page.keyboard.press('Escape');
  await noDialog();
  const focused = await page.evaluate(() => document.activeElement.textContent);
  require_(focused === 'Land …', `after the plan, '${focused}' has the focus`);
});

await step('a try of a marked agent shows the command that fails, and its output as text', async () => {
  fixture.git('config', 'colony.test.run', `test ! -e zoe.txt || { echo '${HOSTILE}'; exit 3; }`);
  await visit('/fleet');
  await page.getByLabel('Mark zoe').check();
  await button('Try 1 …').click();
  await planned();
  await inDialog().getByText(/^Tests: 1 run/).waitFor();
  await apply('Try');
  await trainState('failed');
  await train().getByText('exit code 3').waitFor();
  require_((await train().locator('.failure pre').innerText()) === HOSTILE, 'the output is not the text that was printed');
  require_((await page.locator('img').count()) === 0, 'the output became an image');
  await requireWords('a try');
});

await step('a plan leaves agents alone', async () => {
  expected.push(/409.*\/try/);
  const work = inDialog().getByRole('list', { name: 'Work' });
  for (const [opener, verb] of [['Land …', 'Land'], ['Try …', 'Try']]) {
    await visit('/fleet');
    await button(opener).click();
    await inDialog().getByLabel('all agents with commits').check();
    await work.getByText('zoe').waitFor();
    await inDialog().getByRole('group', { name: 'Leave alone' }).getByLabel('zoe').check();
    await work.getByText('zoe').waitFor({ state: 'detached' });
    await work.getByText('ada').waitFor();
    await requireAccessible(`the plan of ${opener}`);
    await picture(`${verb.toLowerCase()}-except`);
    require_(await inDialog().getByRole('button', { name: verb, exact: true }).isEnabled(), `${verb} is not offered`);
  }
  await apply('Try');
  await trainState('conflicts');
  await train().getByText('all agents with commits without zoe').waitFor();
});

await step('marked work is tried and landed on another branch', async () => {
  const before = fixture.git('rev-parse', 'HEAD');
  fixture.git('branch', '--force', 'release', 'HEAD');
  for (const verb of ['Try', 'Land']) {
    expected.push(new RegExp(`404.*/${verb.toLowerCase()}`));
    await visit('/fleet');
    await page.getByLabel('Mark ada').check();
    await button(`${verb} 1 …`).click();
    await planned();
    await inDialog().getByLabel('Into').fill('nowhere');
    await inDialog().getByLabel('Into').press('Tab');
    await inDialog().getByText(/nowhere/).first().waitFor();
    require_(await inDialog().getByRole('button', { name: verb, exact: true }).isDisabled(), 'work goes to a branch that does not exist');
    await inDialog().getByLabel('Into').fill('release');
    await inDialog().getByLabel('Into').press('Tab');
    await inDialog().getByText("'release'").first().waitFor();
    await picture(`${verb.toLowerCase()}-into`);
    await apply(verb);
    await trainState(verb === 'Try' ? 'passed' : 'landed');
    await train().getByText('ada into release').waitFor();
  }
  require_(fixture.git('rev-parse', 'HEAD') === before, 'main has moved');
  require_(fixture.git('ls-tree', '-r', '--name-only', 'release').includes('src/table.rs'), 'the work is not on release');
});

await step('a landing shows its runs, and a cancel moves nothing', async () => {
  const before = fixture.git('rev-parse', 'HEAD');
  fixture.git('config', 'colony.test.run', 'sleep 600');
  await visit('/fleet');
  await page.getByLabel('Mark ada').check();
  await button('Land 1 …').click();
  await planned();
  await apply('Land');
  await page.getByRole('status').getByText('the landing has begun').waitFor();
  await train().getByText('run 1, with ada: sleep 600').waitFor();
  await trainState('running');
  await requireAccessible('a landing that runs');
  await picture('land-runs');
  await page.reload();
  await train().getByRole('button', { name: 'Cancel' }).click();
  await trainState('canceled');
  await train().getByText('Nothing has moved.').waitFor();
  require_(fixture.git('rev-parse', 'HEAD') === before, 'main has moved');
});

await step('the keyboard alone lands who passes; the others are left out, and undo takes it back', async () => {
  const before = fixture.git('rev-parse', 'HEAD');
  fixture.git('config', 'colony.test.run', `test ! -e zoe.txt || { echo '${HOSTILE}'; exit 3; }`);
  await visit('/fleet');
  await button('Land …').focus();
  await page.keyboard.press('Enter');
  await inDialog().getByText('nothing-to-land').waitFor();
  await inDialog().getByLabel('agents that are done').focus();
  await page.keyboard.press('ArrowDown');
  await planned();
  await page.waitForFunction(() => !document.querySelector('dialog button.primary').disabled);
  await inDialog().getByRole('button', { name: 'Land', exact: true }).focus();
  await page.keyboard.press('Enter');
  await noDialog();
  await trainState('landed in part');
  await train().getByRole('listitem').filter({ hasText: 'zoe' }).getByText('exit code 3').waitFor();
  await train().getByRole('listitem').filter({ hasText: 'eve' }).getByText('it conflicts').waitFor();
  await page.getByRole('row', { name: /^ada/ }).getByText('has it').waitFor();
  await page.getByRole('row', { name: /^zoe/ }).getByText('tests failed').waitFor();
  await picture('land-result');
  await train().getByRole('button', { name: 'Undo …' }).click();
  await planned();
  await apply('Undo');
  require_(fixture.git('rev-parse', 'HEAD') === before, 'the landing was not taken back');
});

await step('all commits that would leave are counted', async () => {
  const head = fixture.git('rev-parse', 'HEAD').trim();
  fixture.colony('checkpoint', '--label', 'before many', '--quiet');
  for (let at = 0; at < 9; at += 1) fixture.git('commit', '--quiet', '--allow-empty', '--message', `Step ${at}`);
  await visit('/timeline');
  await page.getByRole('row', { name: /before many/ }).getByRole('button', { name: 'Restore …' }).click();
  await planned();
  const words = await inDialog().innerText();
  const total = Number(words.match(/(\d+) commits would leave/)?.[1]);
  const rest = Number(words.match(/and (\d+) more/)?.[1] ?? 0);
  const shown = await inDialog().locator('.plain li .mono').count();
  require_(total === 9 && shown + rest === total, `${total} commits, of which ${shown} and ${rest} are told`);
  await page.keyboard.press('Escape');
  await noDialog();
  fixture.git('reset', '--quiet', '--hard', head);
});

await step('the keyboard alone goes to a page, a row, and back', async () => {
  await visit('/');
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  await calm();
  await page.keyboard.press('j');
  const first = await page.evaluate(() => document.activeElement.textContent);
  require_(first === 'ada', `j focuses '${first}'`);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'ada' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  await visit(LOADED);
  await page.keyboard.press('/');
  await page.getByRole('heading', { name: 'Search' }).waitFor();
  await page.waitForFunction(() => document.activeElement?.name === 'q');
  await page.keyboard.press('Escape');
  await visit('/fleet');
  await page.keyboard.press('?');
  await inDialog().waitFor();
  await page.keyboard.press('Escape');
  await noDialog();
});

await step('the keyboard alone keeps a checkpoint', async () => {
  fixture.write('keyboard.txt', 'kept by the keyboard\n');
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  await calm();
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200)));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await inDialog().waitFor();
  await page.keyboard.type('by the keyboard');
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: /by the keyboard/ }).waitFor();
  await noDialog();
  const focused = await page.evaluate(() => document.activeElement.textContent);
  require_(focused === '+ Checkpoint', `after the dialog, '${focused}' has the focus`);
});

await step('of 50,000 pages only those in sight are drawn', async () => {
  const answer = { ok: true, pages: Array.from({ length: 50_000 }, (_, at) => ({ page_id: at.toString(16).padStart(32, '0'), scope_id: 'x:code', tokens: at % 4000, records: [{ path: `src/part_${at % 500}/file_${at}.rs` }] })) };
  await page.route('**/api/v1/vcm/pages?*', (route) => route.fulfill({ json: answer }));
  await visit('/vcm');
  await seen('50,000 pages');
  await page.locator('[data-filter]').fill('file_49');
  await seen('1,111 of');
  const rows = await page.locator('.catalog .page-row').count();
  await page.unroute('**/api/v1/vcm/pages?*');
  require_(rows < 60, `${rows} rows are drawn`);
});

for (const colorScheme of ['light', 'dark']) {
  await step(`every page is accessible and fits, ${colorScheme}`, async () => {
    await page.emulateMedia({ colorScheme });
    for (const address of PAGES) {
      for (const width of [640, 1280, 2560]) {
        await page.setViewportSize({ width, height: 800 });
        if (width === 640) await visit(address);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        require_(over <= 0, `${address} is ${over} px too wide at ${width}`);
        await requireInSight(`${address} at ${width}`);
        if (width !== 2560) await picture(`${address.split(/[?/]/).filter(Boolean).slice(0, 2).join('-') || 'home'}-${width}-${colorScheme}`);
      }
      await requireWords(address);
      await requireAccessible(`${address}, ${colorScheme}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
  });
}

await step('a dashboard that has ended is told, and its command', async () => {
  expected.push(/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|net::/);
  await visit('/');
  await stopServer(server);
  await page.getByRole('alert').getByText('The dashboard has ended').waitFor();
  await seen(`git colony dashboard --port ${new URL(server.origin).port}`);
  await page.locator('header').getByText('ended').waitFor();
  await button('New session').first().click();
  await inDialog().getByText('the dashboard has ended').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'VCM', exact: true }).click();
  await calm();
});

await step('a read-only dashboard offers no change', async () => {
  server = await startServer(['--read-only']);
  page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 800 } }));
  await page.goto(server.link);
  await seen('read-only');
  await visit('/timeline');
  require_(await button('Undo …').first().isDisabled(), 'Undo is enabled');
  await stopServer(server);
});

await step('a map without a file, and the working tree, are mapped again', async () => {
  const plain = fixture.makePlain();
  server = await startServer([], plain);
  page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 800 } }));
  await page.goto(server.link);
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await visit('/vcm');
  await seen(/committed: 1?\d pages?, .* uncommitted: /);
  const scopes = page.getByRole('group', { name: 'Scopes' });
  for (const name of ['default', 'default (uncommitted)']) {
    const row = scopes.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
    await row.getByRole('button', { name: 'Map again' }).click();
    await page.waitForFunction((count) => document.querySelectorAll('[aria-label="Mapping operations"] .state.good').length === count, name === 'default' ? 1 : 2);
    await row.getByRole('link', { name, exact: true }).click();
    const pages = Number(await row.locator('td.num').first().innerText());
    await page.waitForFunction((count) => document.querySelectorAll('.catalog .page-row.row').length === count, pages);
    require_(pages > 0, 'the scope has no page');
  }
  fixture.write('src/header.rs', '//! Changed.\n', plain);
  await visit('/vcm');
  await button('Map all again').click();
  await page.waitForFunction(() => document.querySelectorAll('[aria-label="Mapping operations"] .state.good').length >= 3);
  await button('Map all again').waitFor({ state: 'detached' });
  await stopServer(server);
});

await step('the console has no errors', async () => {
  require_(!consoleErrors.length, consoleErrors.slice(0, 5).join('\n'));
});

await browser.close();
server.child.kill('SIGKILL');
if (failures.length) console.log(`${failures.length} steps failed; pictures of them are in ${fixture.root}`);
else fixture.remove();
process.exit(failures.length ? 1 : 0);
