/** Programs that start others, as far as their words tell which. */

/** A word of a shell. What is in quotes is one piece. */
export const WORD = String.raw`(?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+`;
const WORD_AT = new RegExp(WORD, 'y');
const SPACE = /\s*/y;

/** A word without its quotes. */
export const bare = (word: string): string =>
  word.replaceAll(
    /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g,
    (_whole, single, double, one) => single ?? double ?? one,
  );

interface Word {
  readonly word: string;
  /** Where the next one begins. */
  readonly next: number;
}

/** The word at a place; null: there is none. */
export function wordAt(text: string, at: number): Word | null {
  WORD_AT.lastIndex = at;
  const [word] = WORD_AT.exec(text) ?? [];
  if (word === undefined) return null;
  SPACE.lastIndex = at + word.length;
  return { word, next: SPACE.lastIndex + (SPACE.exec(text)?.[0].length ?? 0) };
}

/** The words from a place on. */
function* wordsFrom(text: string, from: number): Generator<Word> {
  for (let one = wordAt(text, from); one !== null; one = wordAt(text, one.next)) yield one;
}

interface Starter {
  readonly valued: string;
  readonly words: number;
}

/** Programs that start another one: their options which take a value, by a letter, and how many words follow these. */
const STARTERS = new Map<string, Starter>(
  [
    ...[['sudo', 'ugphCrtTRD', 0] as const, ['doas', 'uC', 0] as const, ['env', 'uCS', 0] as const],
    ...[['exec', 'a', 0] as const, ['command', '', 0] as const, ['time', 'fo', 0] as const, ['setsid', '', 0] as const],
    ...[['nice', 'n', 0] as const, ['ionice', 'cnp', 0] as const, ['stdbuf', 'ioe', 0] as const],
    ...[['timeout', 'sk', 1] as const, ['xargs', 'nIPdLsEa', 0] as const, ['nohup', '', 0] as const],
    ...[['coproc', '', 0] as const, ['builtin', '', 0] as const, ['busybox', '', 0] as const],
    ...[['toybox', '', 0] as const, ['runuser', 'ugG', 0] as const, ['chroot', '', 1] as const],
    ...[['gosu', '', 1] as const, ['su-exec', '', 1] as const, ['flock', 'wE', 1] as const],
    ...[['strace', 'eopsaPuXEbI', 0] as const, ['ltrace', 'eopsaunlx', 0] as const, ['taskset', '', 1] as const],
    ...[['chrt', 'TPD', 1] as const, ['unshare', 'RwSG', 0] as const, ['nsenter', 'tSGW', 0] as const],
    ...[['setpriv', '', 0] as const, ['fakeroot', 'lsib', 0] as const, ['unbuffer', '', 0] as const],
    ...[['watch', 'nq', 0] as const, ['parallel', 'jNnLlIPSaCEd', 0] as const],
  ].map(([name, valued, words]) => [name, { valued, words }] as const),
);

/** Where programs begin that a program starts, whose words stand from a place on. */
export function startedBy(name: string, text: string, from: number): readonly number[] {
  if (name === 'find')
    return [...wordsFrom(text, from)].flatMap(({ word, next }) => (EXECUTES.test(word) ? [next] : []));
  const starter = STARTERS.get(name);
  return starter === undefined ? [] : pastOptions(text, from, starter);
}

const EXECUTES = /^-(?:exec|ok)(?:dir)?$/;

/** Where the program begins that a starter starts, behind its options. Behind a long option there are two such places: it may have a value. */
function pastOptions(text: string, from: number, starter: Starter): readonly number[] {
  const places: number[] = [];
  for (let at: number | null = from; at !== null && places.length < PLACES_MOST; ) {
    const found = behindOptions(text, at, starter);
    places.push(found.at);
    at = found.ifValue;
  }
  return places;
}

/** Long options of a program that may have a value. */
const PLACES_MOST = 20;

/** `ifValue`: where the next options begin if the word behind the last one is its value. */
function behindOptions(text: string, from: number, { valued, words }: Starter) {
  let at = from;
  let ifValue: number | null = null;
  for (let one = wordAt(text, at); one?.word.startsWith('-'); one = wordAt(text, at)) {
    at = one.next;
    ifValue = null;
    if (one.word === '--') break;
    const isValued = /^-\w+$/.test(one.word) && one.word.slice(1).search(`[${valued}.]`) === one.word.length - 2;
    if (isValued && valued.includes(one.word.slice(-1))) at = wordAt(text, at)?.next ?? at;
    if (/^--[^=]+$/.test(one.word)) ifValue = wordAt(text, at)?.next ?? null;
  }
  for (let left = words; left > 0; left--) at = wordAt(text, at)?.next ?? at;
  return { at, ifValue: ifValue === null || ifValue >= text.length ? null : ifValue };
}

/** Programs that hand a text behind `-c` to a shell. */
const HAND_TEXT: ReadonlySet<string> = new Set(['su', 'runuser', 'script', 'flock']);
const TEXT_FOLLOWS = /^(?:-\w*c|--(?:session-)?command)$/;
const TEXT_WITHIN = /^--(?:session-)?command=([\s\S]*)$/;
/** Programs that hand all their words to a shell. */
const HAND_WORDS: ReadonlySet<string> = new Set(['eval', 'watch', 'parallel']);

/** The text that a program hands to a shell, whose words stand from a place on; null: none. */
export function handedBy(name: string, text: string, from: number): string | null {
  if (HAND_WORDS.has(name)) {
    const [start = from] = startedBy(name, text, from);
    const words = [...wordsFrom(text, start)].map(({ word }) => bare(word));
    const end = words.findIndex((word) => /^:::/.test(word));
    return words.slice(0, end < 0 ? undefined : end).join(' ');
  }
  if (!HAND_TEXT.has(name)) return null;
  for (const { word, next } of wordsFrom(text, from)) {
    const within = TEXT_WITHIN.exec(word)?.[1];
    if (within !== undefined) return bare(within);
    if (TEXT_FOLLOWS.test(word)) return bare(wordAt(text, next)?.word ?? '');
  }
  return null;
}
