/** The difference of files as a patch in the form of git, which `git apply` and `patch -p1` take. */

export interface PatchedFile {
  readonly path: string;
  /** Null: there was none, or there is none any more. */
  readonly before: FileText | null;
  readonly after: FileText | null;
}

export interface FileText {
  readonly text: string;
  readonly executable: boolean;
}

const CONTEXT = 3;
/** Where more lines differ, all between the first and the last of them is one change. */
const CHANGES_MOST = 1000;

/** Null: it did not change. */
export function filePatch({ path, before, after }: PatchedFile): string | null {
  if (before?.text === after?.text && before?.executable === after?.executable) return null;
  const [a, b] = [quoted(`a/${path}`), quoted(`b/${path}`)];
  const head = [`diff --git ${a} ${b}`, ...modesOf(before, after)];
  const hunks = hunksOf(linesOf(before?.text ?? ''), linesOf(after?.text ?? ''));
  const names = hunks.length === 0 ? [] : [`--- ${before ? a : '/dev/null'}`, `+++ ${after ? b : '/dev/null'}`];
  return `${[...head, ...names].join('\n')}\n${hunks.join('')}`;
}

const modeOf = ({ executable }: FileText): string => (executable ? '100755' : '100644');

function modesOf(before: FileText | null, after: FileText | null): readonly string[] {
  if (before === null) return after === null ? [] : [`new file mode ${modeOf(after)}`];
  if (after === null) return [`deleted file mode ${modeOf(before)}`];
  return before.executable === after.executable ? [] : [`old mode ${modeOf(before)}`, `new mode ${modeOf(after)}`];
}

const ESCAPED: { readonly [character: string]: string } = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t' };

/** As git writes names that other programs could misread. */
function quoted(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is quoted.
  const special = /["\\\u0000-\u001f\u007f]/;
  if (!special.test(path)) return path;
  const octal = (character: string): string => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
  const shown = [...path].map((one) => (special.test(one) ? (ESCAPED[one] ?? octal(one)) : one));
  return `"${shown.join('')}"`;
}

/** Each with its line break; the last one may have none. */
const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** A run of lines that were taken away, then those that came in their place. */
interface Change {
  readonly from: number;
  readonly removed: number;
  readonly to: number;
  readonly added: number;
}

function hunksOf(before: readonly string[], after: readonly string[]): readonly string[] {
  const changes = changesOf(before, after);
  const hunks: Change[][] = [];
  for (const one of changes) {
    const last = hunks.at(-1)?.at(-1);
    if (last !== undefined && one.from - (last.from + last.removed) <= 2 * CONTEXT) hunks.at(-1)?.push(one);
    else hunks.push([one]);
  }
  return hunks.map((hunk) => hunkText(before, after, hunk));
}

function hunkText(before: readonly string[], after: readonly string[], hunk: readonly Change[]): string {
  const [first, last] = [hunk[0], hunk.at(-1)];
  if (first === undefined || last === undefined) return '';
  const lead = Math.min(CONTEXT, first.from);
  const end = Math.min(before.length, last.from + last.removed + CONTEXT);
  const [from, to] = [first.from - lead, first.to - lead];
  const said: string[] = [];
  let at = from;
  const say = (sign: string, lines: readonly string[]): void => {
    for (const line of lines)
      said.push(line.endsWith('\n') ? `${sign}${line}` : `${sign}${line}\n\\ No newline at end of file\n`);
  };
  for (const { from: start, removed, to: place, added } of hunk) {
    say(' ', before.slice(at, start));
    say('-', before.slice(start, start + removed));
    say('+', after.slice(place, place + added));
    at = start + removed;
  }
  say(' ', before.slice(at, end));
  const taken = hunk.reduce((sum, { removed }) => sum + removed, 0);
  const given = hunk.reduce((sum, { added }) => sum + added, 0);
  const old = end - from;
  return `@@ -${range(from, old)} +${range(to, old - taken + given)} @@\n${said.join('')}`;
}

/** Where there are no lines, the one before is named. */
const range = (from: number, count: number): string => {
  if (count === 1) return String(from + 1);
  return `${count === 0 ? from : from + 1},${count}`;
};

/** By the method of Myers, between the first and the last line that differ. */
function changesOf(before: readonly string[], after: readonly string[]): readonly Change[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const a = before.slice(head, before.length - tail);
  const b = after.slice(head, after.length - tail);
  if (a.length === 0 && b.length === 0) return [];
  const whole = [{ from: head, removed: a.length, to: head, added: b.length }];
  if (a.length === 0 || b.length === 0) return whole;
  const steps = shortest(a, b);
  return steps === null ? whole : joined(steps, head);
}

/** One line that goes or comes, from the end to the beginning; null: too many differ. */
function shortest(a: readonly string[], b: readonly string[]): readonly Change[] | null {
  const trace: Int32Array[] = [];
  const most = Math.min(CHANGES_MOST, a.length + b.length);
  let reach = new Int32Array(2 * most + 3);
  const at = (k: number): number => k + most + 1;
  for (let d = 0; d <= most; d++) {
    // Only what the step before reached is read again.
    trace.push(reach.slice(at(-d) - 1, at(d) + 2));
    const next = reach.slice();
    for (let k = -d; k <= d; k += 2) {
      const isDown = k === -d || (k !== d && (reach[at(k - 1)] ?? 0) < (reach[at(k + 1)] ?? 0));
      let x = isDown ? (reach[at(k + 1)] ?? 0) : (reach[at(k - 1)] ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      next[at(k)] = x;
      if (x >= a.length && x - k >= b.length) return walked(trace, a.length, b.length);
    }
    reach = next;
  }
  return null;
}

function walked(trace: readonly Int32Array[], length: number, other: number): readonly Change[] {
  const steps: Change[] = [];
  let [x, y] = [length, other];
  for (let d = trace.length - 1; d > 0; d--) {
    const reach = trace[d];
    const reached = (k: number): number => reach?.[k + d + 1] ?? 0;
    const k = x - y;
    const isDown = k === -d || (k !== d && reached(k - 1) < reached(k + 1));
    const fromX = reached(isDown ? k + 1 : k - 1);
    const fromY = fromX - (isDown ? k + 1 : k - 1);
    steps.push({ from: fromX, removed: isDown ? 0 : 1, to: fromY, added: isDown ? 1 : 0 });
    [x, y] = [fromX, fromY];
  }
  return steps.reverse();
}

/** Steps that follow each other at once are one change. */
function joined(steps: readonly Change[], head: number): readonly Change[] {
  const changes: Change[] = [];
  for (const { from, removed, to, added } of steps) {
    const last = changes.at(-1);
    const [start, place] = [from + head, to + head];
    if (last !== undefined && last.from + last.removed === start && last.to + last.added === place)
      changes[changes.length - 1] = { ...last, removed: last.removed + removed, added: last.added + added };
    else changes.push({ from: start, removed, to: place, added });
  }
  return changes;
}
