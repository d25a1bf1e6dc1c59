import { isObject, type JsonObject } from '../json.js';
import { TESTS_DIR } from '../tasks/task-verification.js';

/**
 * Where Harbor has tests, solutions and rewards, and where Holdfast has them. Harbor's places are directories of the root file
 * system, which containers here do not write to.
 */

const LOGS_DIR = '/tmp/logs';
export const REWARD_FILES = [`${LOGS_DIR}/verifier/reward.json`, `${LOGS_DIR}/verifier/reward.txt`];
/** Below the workspace: the reference solution, if the task itself does not use /solution. */
const SOLUTION_DIR = '.solution';

/** A path of Harbor, and the path that stands for it here. */
export type Place = readonly [theirs: string, ours: string];

/** Of a task that uses none of these directories for its own files. */
export const usualPlaces = (workdir: string): readonly Place[] => [
  ['/tests', TESTS_DIR],
  ['/logs', LOGS_DIR],
  ['/solution', `${workdir}/${SOLUTION_DIR}`],
];

/** Of a task that has files of its own below /logs. */
export const logPlaces: readonly Place[] = ['verifier', 'agent', 'artifacts'].map((name) => [
  `/logs/${name}`,
  `${LOGS_DIR}/${name}`,
]);

const PLACES_KEY = 'harborPlaces';

export const placesAsMetadata = (places: readonly Place[]): JsonObject => ({
  [PLACES_KEY]: Object.fromEntries(places),
});

/** The places with which a task was imported. */
export function placesIn(metadata: JsonObject, workdir: string): readonly Place[] {
  const kept = metadata[PLACES_KEY];
  if (!isObject(kept)) return usualPlaces(workdir);
  return Object.entries(kept).flatMap(([theirs, ours]) => (typeof ours === 'string' ? [[theirs, ours] as const] : []));
}

/** The directory of the reference solution, as a path below the workspace that ends with a slash; empty for the workspace itself. */
export function solutionPrefix(places: readonly Place[], workdir: string): string {
  const found = places.find(([theirs]) => theirs === '/solution')?.[1];
  if (found === workdir) return '';
  return found?.startsWith(`${workdir}/`) === true ? `${found.slice(workdir.length + 1)}/` : `${SOLUTION_DIR}/`;
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/** All in one pass, the longest first, so that nothing is replaced twice. A path is replaced where it begins. */
function replaced(text: string, pairs: readonly (readonly [from: string, to: string])[]): string {
  const changed = pairs.filter(([from, to]) => from !== to);
  if (changed.length === 0) return text;
  const longestFirst = changed.map(([from]) => from).sort((a, b) => b.length - a.length);
  const to = new Map(changed);
  const paths = new RegExp(`(?<![\\w.}/~*-])(?:${longestFirst.map(escaped).join('|')})(?![\\w-])`, 'g');
  return text.replaceAll(paths, (found) => to.get(found) ?? found);
}

/** A text of Harbor with its places as they are here. */
export const toHere = (text: string, places: readonly Place[]): string => replaced(text, places);

/** The way back. */
export const toHarbor = (text: string, places: readonly Place[]): string =>
  replaced(
    text,
    places.map(([theirs, ours]) => [ours, theirs]),
  );

/** Runs `test.sh` of Harbor, which finds the directory of its rewards there. */
export const harborCommand = (shell: 'bash' | 'sh'): readonly string[] => [
  'sh',
  '-c',
  `mkdir -p ${LOGS_DIR}/verifier ${LOGS_DIR}/agent && exec ${shell} ${TESTS_DIR}/test.sh`,
];

/** What a script of Harbor is run by: what its first line names. */
export const shellOf = (script: string): 'bash' | 'sh' =>
  /^#!\s*\S*\/(?:env\s+)?(sh|dash|ash)\b/.test(script) ? 'sh' : 'bash';
