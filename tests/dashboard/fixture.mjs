// A small repository with agents, a conflict, a map of three sources, and names that would be markup.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A name of a file and of a subject that runs a script where a page takes it for markup. */
export const HOSTILE = '<img src=x onerror=alert(1)>';

/** A branch cannot have a space. */
export const HOSTILE_BRANCH = 'x<img/src=x/onerror=alert(1)>';

const MAP = `schema_version: 1
sources:
  - name: code
    type: git_repo
    start_dir: src/
    flush_threshold: 4
    flush_token_budget: 2048
  - name: papers
    type: literature
    start_dir: literature/promoted/
    chunk_target_tokens: 200
  - name: docs
    type: git_repo
    start_dir: docs/
    pinned: true
knowledge_routing:
  - paths: ["literature/curated/**/*.md"]
    ingest_to: knowledge_base
    profile: scientific_paper
  - paths: ["literature/promoted/**/*.md"]
    ingest_to: vcm
`;

/** Makes the repository in a folder of its own. Returns `{root, home, repository, environment, colony, remove}`. */
export function makeRepository(binary) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'colony-story-'));
  const home = path.join(root, 'home');
  const repository = path.join(root, 'rocket');
  fs.mkdirSync(home);
  fs.mkdirSync(repository);
  const environment = { ...process.env, HOME: home, GIT_CONFIG_NOSYSTEM: '1', XDG_DATA_HOME: '', XDG_CONFIG_HOME: '', XDG_CACHE_HOME: '', XDG_STATE_HOME: '' };
  for (const name of Object.keys(environment)) if (!environment[name] || /^(GIT_(DIR|WORK_TREE|INDEX_FILE)|COLONY_(?!TEST_))/.test(name)) delete environment[name];
  const run = (program, directory, ...words) => execFileSync(program, words, { cwd: directory, env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const git = (directory, ...words) => run('git', directory, ...words);
  const colony = (directory, ...words) => run(binary, directory, ...words);
  const write = (directory, name, text) => {
    fs.mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
    fs.writeFileSync(path.join(directory, name), text);
  };

  git(root, 'config', '--global', 'user.name', 'Rosa Lind');
  git(root, 'config', '--global', 'user.email', 'rosa@example.org');
  git(root, 'config', '--global', 'init.defaultBranch', 'main');
  git(repository, 'init', '--quiet');
  for (const name of ['header', 'body', 'number', 'token']) write(repository, `src/${name}.rs`, code(name));
  write(repository, 'docs/guide.md', prose('guide'));
  write(repository, `docs/${HOSTILE}.md`, `A document with an odd name: ${HOSTILE}\n`);
  write(repository, 'literature/curated/burn.md', prose('burn'));
  write(repository, 'literature/promoted/orbit.md', prose('orbit'));
  write(repository, 'notes.txt', 'one\ntwo\nthree\nfour\nfive\n');
  write(repository, '.colony/repo_map.yaml', MAP);
  git(repository, 'add', '--all');
  git(repository, 'commit', '--quiet', '--message', `Begin the rocket ${HOSTILE}`);
  git(repository, 'branch', HOSTILE_BRANCH);
  const origin = path.join(root, 'origin.git');
  git(root, 'clone', '--quiet', '--bare', repository, origin);
  git(repository, 'remote', 'add', 'origin', origin);
  colony(repository, 'init', '--quiet');
  colony(repository, 'colony', 'set', 'rocket', origin);
  for (const agent of ['ada', 'eve']) colony(repository, 'agents', 'new', agent);
  const clone = (agent) => colony(repository, 'agents', 'path', agent).trim();

  write(clone('ada'), 'src/table.rs', Array.from({ length: 20_000 }, (_, line) => `${line}\n`).join(''));
  write(clone('ada'), `src/${HOSTILE}.rs`, 'pub fn odd() {}\n');
  colony(clone('ada'), '--agent', 'ada', 'checkpoint', '--label', `Add a table ${HOSTILE}`, '--quiet');
  write(clone('eve'), 'notes.txt', 'one\ntwo\nthree by eve\nfour\nfive\n');
  colony(clone('eve'), '--agent', 'eve', 'checkpoint', '--label', 'Reword the notes', '--quiet');
  write(repository, 'notes.txt', 'one\ntwo\nthree on main\nfour\nfive\n');
  colony(repository, 'checkpoint', '--label', 'notes on main', '--quiet');
  // The branch of this one has all that main has.
  colony(repository, 'agents', 'new', 'zoe');
  write(clone('zoe'), 'zoe.txt', 'by zoe\n');
  colony(clone('zoe'), '--agent', 'zoe', 'checkpoint', '--label', 'Add a note', '--quiet');

  /** Makes another repository, which has no map and one session. */
  const makePlain = () => {
    const plain = path.join(root, 'plain');
    fs.mkdirSync(plain);
    git(plain, 'init', '--quiet');
    write(plain, 'src/header.rs', code('header'));
    git(plain, 'add', '--all');
    git(plain, 'commit', '--quiet', '--message', 'Begin');
    for (const words of [['map'], ['map', '--worktree'], ['session', 'new']]) colony(plain, ...words);
    return plain;
  };

  return { root, repository, origin, environment, makePlain, colony: (...words) => colony(repository, ...words), git: (...words) => git(repository, ...words), write: (name, text, directory = repository) => write(directory, name, text), remove: () => fs.rmSync(root, { recursive: true, force: true }) };
}

function code(name) {
  const functions = Array.from({ length: 12 }, (_, at) => `/// Reads field ${at} of a ${name}.\npub fn ${name}_${at}(input: &str) -> Option<&str> {\n    input.split(',').nth(${at})\n}\n`);
  return `//! Parses a ${name}.\n\n${functions.join('\n')}`;
}

function prose(name) {
  const paragraphs = Array.from({ length: 30 }, (_, at) => `Paragraph ${at} of the ${name} tells how the engine reports its pressure.\n`);
  return `# The ${name}\n\n${paragraphs.join('\n')}`;
}
