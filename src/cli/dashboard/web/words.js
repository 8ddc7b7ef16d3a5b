// Words that the answers choose from, and how the page shows each. A test holds every table against `git colony help schema`: it
// names the report and the type, and has one value a line.

/** How a fork would merge: tone, sign, words before the branch, words after it. */
export const OUTCOMES = { // fleet MergeOutcome
  up_to_date: ['', '=', '', 'has it'],
  fast_forward: ['good', '✓', 'clean into', ''],
  merged: ['good', '✓', 'clean into', ''],
  conflicted: ['bad', '✕', 'conflict', ''],
  unrelated: ['bad', '✕', 'no common history with', ''],
  old_history: ['busy', '!', 'older than the rewrite of', ''],
};

/** Why a merge cannot be made as it is. */
export const BLOCKED = { // merge MergeOutcome
  up_to_date: 'There is nothing to merge.',
  fast_forward: null,
  merged: null,
  conflicted: 'Settle each conflict above, or open them in a working tree by the command.',
  unrelated: 'The histories have no common ancestor.',
  old_history: 'It is older than the rewrite for git-lfs: a merge rewrites its commits first.',
};

/** What an agent does, as its hooks report it: tone, and sign. */
export const ACTIVITIES = { // fleet Activity
  working: ['good', '●'],
  asks: ['bad', '?'],
  waiting: ['busy', '◐'],
  ended: ['busy', '○'],
  quiet: ['', ''],
};

/** The state of a session: tone, sign, and whether it is open. */
export const SESSIONS = { // session list SessionState
  active: ['good', '●', true],
  idle: ['busy', '◐', true],
  archived: ['', '○', false],
  ended: ['', '○', false],
};

/** How a file differs. */
export const CHANGES = { // diff ChangeType
  added: 'A',
  modified: 'M',
  deleted: 'D',
  renamed: 'R',
  copied: 'C',
  type_changed: 'T',
};

/** What a watch does. */
export const MODES = { // watches OnChange
  notify_only: 'write an event',
  invalidate: 'mark pages as stale',
  reindex: 'map again',
};

/** Where documents go: tone, sign, name. */
export const DESTINATIONS = { // map show Destination
  knowledge_base: ['', '▤', 'knowledge base'],
  vcm: ['good', '▣', 'VCM'],
};

/** What became of a document: tone, sign, words. */
export const INGESTED = { // ingest SourceStatus
  ingested: ['good', '✓', 'ingested'],
  replaced: ['good', '✓', 'replaced'],
  retired: ['', '–', 'deleted, as the commit has it no more'],
  unchanged: ['', '=', 'unchanged'],
  skipped: ['busy', '!', 'left out'],
  failed: ['bad', '✕', 'not read'],
};

/** Where a passage was found. */
export const FOUND_IN = { // search HitSource
  pages: 'mapped files',
  knowledge: 'knowledge base',
};

/** Why a search has nothing to look in; null if only the words do not match. */
export const NOTHING = { // search NoPages
  no_commit: 'Nothing is committed yet.',
  not_mapped: 'Nothing is mapped yet.',
  not_here: 'The pages of the mapped files are not here: map them again.',
  empty: 'The mapped files have no text.',
  no_match: null,
  only_worktree: 'Only the working tree is mapped.',
  no_worktree: 'The working tree is not mapped.',
};

/** Why work is left out of a landing. */
export const LEFT_OUT = { // land Why
  failed: 'the tests fail with it',
  conflicts: 'it conflicts',
  contains: 'it has commits of work that is held back or was left out',
  held: 'it is held back',
  uncommitted: 'it has uncommitted files',
  outside_scope: 'it changes paths outside the allowed ones',
  unrelated: 'it has no common ancestor with the branch',
  in_progress: 'a git operation is in progress in its clone',
  reverted: 'it was reverted; it lands again when it is named',
  failed_before: 'it failed or conflicted here already; it is tried again when it is named',
  unreadable: 'it cannot be read',
};

/** The state of an operation: tone, sign, words. */
export const OPERATIONS = { // the dashboard
  pending: ['', '○', 'pending'],
  running: ['busy', '◐', 'running'],
  mapped: ['good', '✓', 'mapped'],
  partial: ['busy', '!', 'partial'],
  landed: ['good', '✓', 'landed'],
  partly: ['busy', '!', 'landed in part'],
  nothing: ['bad', '✕', 'nothing landed'],
  base_failing: ['bad', '✕', 'the branch fails by itself'],
  passed: ['good', '✓', 'passed'],
  failed: ['bad', '✕', 'failed'],
  conflicted: ['busy', '!', 'conflicts'],
  error: ['bad', '✕', 'error'],
  canceled: ['', '–', 'canceled'],
};

const OPEN = ['pending', 'running'];

/** Returns `true` for an operation that has not ended. */
export const isOpen = (operation) => OPEN.includes(operation.status);
