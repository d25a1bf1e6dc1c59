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

/**
 * Harbor's agents are root and write anywhere; the agents here write below the workspace. A directory that a task uses outside of
 * its workspace gets a place below `.root` of it.
 */

export const ROOT_DIR = '.root';

/** Directories that many programs share: a file in one of them is moved by itself. */
const SHARED = new Set(
  [
    '/ /bin /sbin /lib /lib32 /lib64 /libx32 /usr /etc /var /opt /home /srv /mnt /media',
    '/usr/bin /usr/sbin /usr/lib /usr/share /usr/include /usr/src /usr/libexec /usr/local /usr/lib/python3',
    '/usr/local/bin /usr/local/sbin /usr/local/lib /usr/local/share /usr/local/etc /usr/local/include',
    '/var/log /var/lib /var/run /var/cache /var/spool /var/tmp /var/mail /var/opt /var/backups /var/lock',
    '/etc/init.d /etc/cron.d /etc/cron.daily /etc/cron.hourly /etc/apt /etc/profile.d /etc/logrotate.d /etc/sudoers.d',
    '/etc/ssl /etc/ssl/certs /etc/pam.d /etc/default /etc/systemd /etc/systemd/system /etc/security /etc/alternatives',
    '/etc/sysctl.d /etc/modprobe.d /etc/ld.so.conf.d /etc/skel',
  ].flatMap((line) => line.split(' ')),
);

/** Mounted by the engine, or taken by Holdfast. */
const NEVER = ['/proc', '/sys', '/dev', '/run', '/boot', '/.holdfast'];

export const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);

/** The path that has to be moved so that an absolute path is below the workspace; null: it is there already, or cannot be moved. */
export function relocationOf(path: string, workdir: string): string | null {
  if (isWithin(path, workdir) || NEVER.some((one) => isWithin(path, one))) return null;
  const parts = path.split('/').slice(1);
  for (const depth of parts.keys()) {
    const prefix = `/${parts.slice(0, depth + 1).join('/')}`;
    if (!SHARED.has(prefix) && !isWithin(workdir, prefix)) return prefix;
  }
  return null;
}

const PATH = /(?<![\w.}/~*-])\/[A-Za-z_][\w.-]*(?:\/[\w.@-]*)+/g;
const SYSTEM = /^\/(bin|sbin|lib\w*|usr)\//;

/** Directories outside of the workspace that a text names, without those of the system. A path that is a URL's may be among them. */
export const directoriesNamedIn = (text: string, workdir: string): readonly string[] =>
  [...new Set(text.match(PATH) ?? [])].flatMap((found) => {
    const path = found.replace(/[/.]+$/, '');
    if (SYSTEM.test(path)) return [];
    const moved = relocationOf(path, workdir);
    // A file directly in a shared directory: it is the system's, unless the task puts it there.
    return moved === null || (moved === path && !found.endsWith('/')) ? [] : [moved];
  });

/** Of these, directories of files that an instruction names: with an extension, and not behind a verb of HTTP. */
export const directoriesOfFilesIn = (text: string, workdir: string): readonly string[] =>
  [...text.matchAll(PATH)].flatMap(({ 0: found, index }) => {
    if (/\b(?:GET|POST|PUT|PATCH|DELETE|HEAD)\s+[`"']?$/.test(text.slice(0, index))) return [];
    if (!/\/[\w-]+\.[A-Za-z][A-Za-z0-9]{0,5}$/.test(found.replace(/\.+$/, ''))) return [];
    return directoriesNamedIn(found, workdir);
  });
