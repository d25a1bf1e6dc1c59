import { TESTS_DIR } from './task-verification.js';

/**
 * Where Harbor has tests, solutions and rewards, and where they are here: its places are directories of the root file system, which
 * containers cannot write to.
 */

const LOGS_DIR = '/tmp/logs';
export const REWARD_FILES = [`${LOGS_DIR}/verifier/reward.json`, `${LOGS_DIR}/verifier/reward.txt`];
/** Below the workspace. */
export const SOLUTION_DIR = '.solution';

const places = (workdir: string): readonly (readonly [string, string])[] => [
  ['/tests', TESTS_DIR],
  ['/logs', LOGS_DIR],
  ['/solution', `${workdir}/${SOLUTION_DIR}`],
];

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
/** A path that begins here, and is not the middle of another one. */
const pathOf = (path: string): RegExp => new RegExp(`(?<![\\w.}/~*-])${escaped(path)}(?![\\w-])`, 'g');

/** A text of Harbor with its places as they are here. */
export const toHere = (text: string, workdir: string): string =>
  places(workdir).reduce((changed, [theirs, ours]) => changed.replaceAll(pathOf(theirs), ours), text);

/** The way back. */
export const toHarbor = (text: string, workdir: string): string =>
  places(workdir).reduce((changed, [theirs, ours]) => changed.replaceAll(pathOf(ours), theirs), text);

/** Runs `test.sh` of Harbor, which finds the directory of its rewards there. */
export const harborCommand = (shell: 'bash' | 'sh'): readonly string[] => [
  'sh',
  '-c',
  `mkdir -p ${LOGS_DIR}/verifier ${LOGS_DIR}/agent && exec ${shell} ${TESTS_DIR}/test.sh`,
];

/** What a script of Harbor is run by: what its first line names. */
export const shellOf = (script: string): 'bash' | 'sh' =>
  /^#!\s*\S*\/(?:env\s+)?(sh|dash|ash)\b/.test(script) ? 'sh' : 'bash';
