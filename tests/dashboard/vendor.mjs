// Checks that the vendored files of the dashboard are those of their packages, by the digests of the lock file.
//
//   node vendor.mjs
//
// Without npm it says so, and fails only where CI=true.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const VENDOR = fileURLToPath(new URL('../../src/cli/dashboard/web/vendor', import.meta.url));
const FILES = { 'preact.mjs': 'preact/dist/preact.mjs', 'htm.module.js': 'htm/dist/htm.module.js' };

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'colony-vendor-'));
let different = [];
try {
  for (const name of ['package.json', 'package-lock.json']) fs.copyFileSync(path.join(VENDOR, name), path.join(folder, name));
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], { cwd: folder, stdio: 'pipe' });
  const isSame = ([own, theirs]) => fs.readFileSync(path.join(VENDOR, own)).equals(fs.readFileSync(path.join(folder, 'node_modules', theirs)));
  different = Object.entries(FILES).filter((pair) => !isSame(pair)).map(([own]) => own);
  console.log(different.length ? `these differ from their packages: ${different.join(', ')}` : 'the vendored files are those of their packages');
} catch (error) {
  console.log(`npm cannot fetch the packages of the dashboard: ${String(error.stderr || error.message).trim()}`);
  if (process.env.CI === 'true') different = ['npm'];
}
fs.rmSync(folder, { recursive: true, force: true });
process.exit(different.length ? 1 : 0);
