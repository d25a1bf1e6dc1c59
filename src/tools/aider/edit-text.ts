import { shownPart } from '../../models/secrets/known-secrets.js';
import { isBlank, type Located, locate, nearestLines, placed, type Work } from './locate-lines.js';

/** What an edit does to the text of a file, as a pure function. The tolerance is that of aider's edit formats. */

export type Edit =
  | { readonly kind: 'block'; readonly search: string; readonly replace: string }
  | { readonly kind: 'hunk'; readonly lines: string }
  | { readonly kind: 'whole'; readonly text: string };

export type Edited =
  | { readonly type: 'edited'; readonly text: string }
  | { readonly type: 'failed'; readonly why: string };

/** A hunk is tried with less and less of the context on each side. */
const MOST_CONTEXT = 10;
const LEAST_CHARS = 10;

/** The text after an edit; `before` null: there is no such file. */
export function editText(path: string, before: string | null, edit: Edit, work: Work): Edited {
  if (edit.kind === 'whole') return { type: 'edited', text: ended(edit.text) };
  const text = before ?? '';
  // Lines that all end with CR LF are edited as others, and end so again.
  const isDos = text.includes('\r\n') && !/[^\r]\n|^\n/.test(text);
  const lines = linesOf(isDos ? text.split('\r\n').join('\n') : text);
  const edited =
    edit.kind === 'block'
      ? withBlock(path, before, lines, edit, work)
      : withHunk(path, before, lines, edit.lines, work);
  if ('why' in edited) return { type: 'failed', why: edited.why };
  return { type: 'edited', text: edited.lines.map((line) => `${line}${isDos ? '\r\n' : '\n'}`).join('') };
}

type Lines = { readonly lines: readonly string[] } | { readonly why: string };

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** Lines without their ends; a last line needs none. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

const noFile = (path: string): Lines => ({
  why: `There is no file ${path}. To make it, leave the lines that are sought empty.`,
});

function withBlock(
  path: string,
  before: string | null,
  file: readonly string[],
  { search, replace }: Extract<Edit, { kind: 'block' }>,
  work: Work,
): Lines {
  const [part, by] = [linesOf(search), linesOf(replace)];
  if (part.every(isBlank)) return { lines: [...file, ...by] };
  if (before === null) return noFile(path);
  let located = locate(file, part, false, work);
  let sought = part;
  // Models put a blank line first that is not in the file.
  if (located.type === 'none' && part.length > 2 && isBlank(part[0] ?? '')) {
    sought = part.slice(1);
    located = locate(file, sought, false, work);
  }
  if (located.type === 'found') return { lines: spliced(file, located, by, sought) };
  if (part.some(isDots)) return withDots(path, file, part, by, work);
  return { why: notThere(path, file, part, by, located) };
}

const spliced = (
  file: readonly string[],
  { place }: Extract<Located, { type: 'found' }>,
  by: readonly string[],
  part: readonly string[],
): readonly string[] => [
  ...file.slice(0, place.at),
  ...placed(by, place, part),
  ...file.slice(place.at + place.length),
];

const isDots = (line: string): boolean => line.trim() === '...';

/** Lines that were left out of a block as `...` stay: each part between them stands once. */
function withDots(
  path: string,
  file: readonly string[],
  part: readonly string[],
  by: readonly string[],
  work: Work,
): Lines {
  const [olds, news] = [piecesOf(part), piecesOf(by)];
  if (olds.length !== news.length)
    return {
      why: `The block of ${path} has "..." ${olds.length - 1} times in what is sought, and ${news.length - 1} times in what stands there then. Write the lines out.`,
    };
  let lines = file;
  for (const [index, old] of olds.entries()) {
    const next = news[index] ?? [];
    if (old.length === 0 && next.length === 0) continue;
    if (old.length === 0)
      return {
        why: `Next to "..." in the block of ${path} no line says where the new ones belong. Write the lines out.`,
      };
    const located = locate(lines, old, true, work);
    if (located.type !== 'found') return { why: notThere(path, file, old, next, located) };
    lines = spliced(lines, located, next, old);
  }
  return { lines };
}

function piecesOf(lines: readonly string[]): string[][] {
  const pieces: string[][] = [[]];
  for (const line of lines) {
    if (isDots(line)) pieces.push([]);
    else pieces.at(-1)?.push(line);
  }
  return pieces;
}

interface Op {
  readonly op: ' ' | '-' | '+';
  readonly line: string;
}

const opOf = (line: string): Op => {
  const op = line[0];
  if (op === '+' || op === '-' || op === ' ') return { op, line: line.slice(1) };
  // A blank line of the context has often lost its space.
  return { op: ' ', line };
};

const oldOf = (ops: readonly Op[]): string[] => ops.filter(({ op }) => op !== '+').map(({ line }) => line);
const newOf = (ops: readonly Op[]): string[] => ops.filter(({ op }) => op !== '-').map(({ line }) => line);

function withHunk(path: string, before: string | null, file: readonly string[], text: string, work: Work): Lines {
  const ops = linesOf(text).map(opOf);
  const [old, next] = [oldOf(ops), newOf(ops)];
  if (old.every(isBlank))
    return {
      lines: [...file, ...(old.length === 0 ? next : ops.filter(({ op }) => op === '+').map(({ line }) => line))],
    };
  if (before === null) return noFile(path);
  const whole = locateHunk(file, old, work);
  if (whole.type === 'found') return { lines: spliced(file, whole, next, old) };
  if (whole.type === 'many') return { why: notUnique(path, old) };
  let lines = file;
  for (const { preceding, changes, following } of sectionsOf(ops)) {
    const applied = withSection(lines, preceding, changes, following, work);
    if (applied === null) return { why: notThere(path, file, old, next, whole) };
    lines = applied;
  }
  return { lines };
}

/** Little text that stands more than once says nothing of where it is. */
function locateHunk(file: readonly string[], old: readonly string[], work: Work): Located {
  return locate(file, old, true, work);
}

interface Section {
  readonly preceding: readonly Op[];
  readonly changes: readonly Op[];
  readonly following: readonly Op[];
}

/** Each group of changes of a hunk, with the context on both sides. */
function sectionsOf(ops: readonly Op[]): readonly Section[] {
  const groups: Op[][] = [[]];
  for (const one of ops) {
    // Even groups are context.
    const isContext = groups.length % 2 === 1;
    if ((one.op === ' ') === isContext) groups.at(-1)?.push(one);
    else groups.push([one]);
  }
  return groups.flatMap((changes, at) =>
    at % 2 === 0 ? [] : [{ preceding: groups[at - 1] ?? [], changes, following: groups[at + 1] ?? [] }],
  );
}

function withSection(
  file: readonly string[],
  preceding: readonly Op[],
  changes: readonly Op[],
  following: readonly Op[],
  work: Work,
): readonly string[] | null {
  const [most, after] = [Math.min(preceding.length, MOST_CONTEXT), Math.min(following.length, MOST_CONTEXT)];
  for (let use = most + after; use >= 0; use--) {
    for (let first = Math.min(most, use); first >= 0 && use - first <= after; first--) {
      const ops = [...preceding.slice(preceding.length - first), ...changes, ...following.slice(0, use - first)];
      const old = oldOf(ops);
      if (old.map((line) => line.trim()).join('').length < LEAST_CHARS) continue;
      const located = locate(file, old, true, work);
      if (located.type === 'found') return spliced(file, located, newOf(ops), old);
      if (located.type === 'exhausted') return null;
    }
  }
  return null;
}

const quoted = (lines: readonly string[]): string => `\`\`\`\n${shortened(lines).join('\n')}\n\`\`\``;

const MOST_QUOTED = 60;
const LONGEST_LINE = 500;
const shortened = (lines: readonly string[]): readonly string[] => [
  ...lines
    .slice(0, MOST_QUOTED)
    .map((line) => shownPart(line.slice(0, LONGEST_LINE), line.length > LONGEST_LINE).toWellFormed()),
  ...(lines.length > MOST_QUOTED ? [`(${lines.length - MOST_QUOTED} more lines)`] : []),
];

function notThere(
  path: string,
  file: readonly string[],
  part: readonly string[],
  by: readonly string[],
  located: Located,
): string {
  if (located.type === 'exhausted')
    return `The edits of this answer take too long to place; ${path} is as it was before this one. Answer with fewer and shorter ones.`;
  if (located.type === 'many') return notUnique(path, part);
  const near = nearestLines(file, part);
  return [
    `These lines do not stand in ${path}:`,
    quoted(part),
    ...(near === null ? [] : [`Did you mean these, as they stand there?`, quoted(near)]),
    ...(by.some((line) => !isBlank(line)) && locate(file, by, false, { left: 200_000 }).type === 'found'
      ? [`What should stand there then is in ${path} already. Is the edit needed?`]
      : []),
  ].join('\n');
}

const notUnique = (path: string, part: readonly string[]): string =>
  `These lines stand in ${path} more than once. Quote more of the lines around them, so that there is one place:\n${quoted(part)}`;
