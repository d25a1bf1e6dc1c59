import type { Edit } from './edit-text.js';

/** Reads the edits in an answer, in the three formats of aider. All of it is linear in the length of the text. */

export type EditFormat = 'diff' | 'udiff' | 'whole';

export interface NamedEdit {
  /** As the model wrote it. */
  readonly path: string;
  readonly edit: Edit;
}

export interface ReadEdits {
  readonly edits: readonly NamedEdit[];
  /** What is wrong with the form of the answer; null: nothing is. */
  readonly problem: string | null;
}

const HEAD = /^<{5,9} SEARCH>?$/;
const DIVIDER = /^={5,9}$/;
const TAIL = /^>{5,9} REPLACE$/;
const LONGEST_PATH = 250;

export function readEdits(text: string, format: EditFormat): ReadEdits {
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (format === 'diff') return readBlocks(lines);
  return format === 'udiff' ? readHunks(lines) : readWhole(lines);
}

const wrong = (edits: readonly NamedEdit[], problem: string): ReadEdits => ({ edits, problem });

function readBlocks(lines: readonly string[]): ReadEdits {
  const edits: NamedEdit[] = [];
  let path: string | null = null;
  for (let at = 0; at < lines.length; at++) {
    if (!HEAD.test((lines[at] ?? '').trim())) continue;
    path = pathAbove(lines, at) ?? path;
    if (path === null)
      return wrong(edits, 'A block has no name of a file. The name stands alone in the line above the block');
    const divider = nextLine(lines, at + 1, DIVIDER);
    if (divider === null) return wrong(edits, `The block of ${path} has no line "======="`);
    const tail = nextLine(lines, divider + 1, TAIL);
    if (tail === null) return wrong(edits, `The block of ${path} has no line ">>>>>>> REPLACE"`);
    const [search, replace] = [lines.slice(at + 1, divider), lines.slice(divider + 1, tail)];
    edits.push({ path, edit: { kind: 'block', search: textOf(search), replace: textOf(replace) } });
    at = tail;
  }
  return { edits, problem: null };
}

/** Up to the next block: a block that is not ended must not take the next one in. */
function nextLine(lines: readonly string[], from: number, wanted: RegExp): number | null {
  for (let at = from; at < lines.length; at++) {
    const line = (lines[at] ?? '').trim();
    if (wanted.test(line)) return at;
    if (HEAD.test(line)) return null;
  }
  return null;
}

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** The name of a file in the lines before a block. Fences are skipped. */
function pathAbove(lines: readonly string[], at: number): string | null {
  for (let above = at - 1; above >= Math.max(0, at - 3); above--) {
    const line = (lines[above] ?? '').trim();
    const isFence = line.startsWith('```');
    const path = pathIn(isFence ? line.slice(3) : line);
    if (path !== null && (!isFence || /[./]/.test(path))) return path;
    if (!isFence) return null;
  }
  return null;
}

/** A name as models decorate it; null: it is none. */
function pathIn(line: string): string | null {
  if (line.length > LONGEST_PATH) return null;
  const path = line.replace(/^[#\s*`]{1,20}|[\s:*`]{1,20}$/g, '').trim();
  return path === '' || path === '...' || />{5}|<{5}|={5}/.test(path) ? null : path;
}

function readHunks(lines: readonly string[]): ReadEdits {
  const edits: NamedEdit[] = [];
  let path: string | null = null;
  let hunk: string[] | null = null;
  let nameless = false;
  const end = (): void => {
    const kept = hunk?.some((line) => line.startsWith('+') || line.startsWith('-')) === true ? hunk : null;
    hunk = [];
    if (kept === null) return;
    if (path === null) nameless = true;
    else edits.push({ path, edit: { kind: 'hunk', lines: textOf(kept) } });
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (hunk === null) {
      if (line.startsWith('```diff')) hunk = [];
      continue;
    }
    const next = lines[at + 1] ?? '';
    if (line.startsWith('```')) {
      end();
      hunk = null;
    } else if (line.startsWith('--- ') && next.startsWith('+++ ')) {
      end();
      path = hunkPath(line.slice(4).trim(), next.slice(4).trim());
      at++;
    } else if (line.startsWith('@@')) end();
    else hunk.push(line);
  }
  if (hunk !== null) end();
  return nameless
    ? wrong(edits, 'A diff does not begin with the lines "--- path" and "+++ path", or would remove the file')
    : { edits, problem: null };
}

function hunkPath(old: string, name: string): string | null {
  if (name === '/dev/null' || name === '' || name.length > LONGEST_PATH) return null;
  return (old.startsWith('a/') || old === '/dev/null') && name.startsWith('b/') ? name.slice(2) : name;
}

const SHELLS: ReadonlySet<string> = new Set(['bash', 'sh', 'shell', 'zsh', 'fish', 'console', 'powershell', 'cmd']);

function readWhole(lines: readonly string[]): ReadEdits {
  const edits = new Map<string, NamedEdit>();
  let nameless = 0;
  for (let at = 0; at < lines.length; at++) {
    if (!(lines[at] ?? '').startsWith('```')) continue;
    let end = at + 1;
    while (end < lines.length && !(lines[end] ?? '').startsWith('```')) end++;
    const path = at === 0 ? null : pathIn((lines[at - 1] ?? '').trim());
    const language = (lines[at] ?? '').slice(3).trim().toLowerCase();
    if (end === lines.length) return wrong([...edits.values()], 'A file has no line ``` behind its last line');
    if (path !== null && isName(path)) {
      // A file that is given twice is the last one.
      edits.delete(path);
      edits.set(path, { path, edit: { kind: 'whole', text: textOf(lines.slice(at + 1, end)) } });
    } else if (!SHELLS.has(language)) nameless++;
    at = end;
  }
  return nameless > 0 && edits.size === 0
    ? wrong([], 'A file has no name. The name stands alone in the line above ```')
    : { edits: [...edits.values()], problem: null };
}

/** A sentence is no name of a file. */
const isName = (path: string): boolean => /[./]/.test(path) && !/\s/.test(path);

export interface ReadCommands {
  readonly add: readonly string[];
  readonly map: boolean;
}

const ADD = '/add ';

/** The lines that ask for files: `/add path` and `/map`, as in aider's chat. In fences they are text of files. */
export function readCommands(text: string): ReadCommands {
  const add = new Set<string>();
  let [map, inFence] = [false, false];
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (line.startsWith('```')) inFence = !inFence;
    if (inFence || line.length > 4096) continue;
    if (line === '/map') map = true;
    for (const path of line.startsWith(ADD) ? line.slice(ADD.length).split(/\s+/) : []) if (path !== '') add.add(path);
  }
  return { add: [...add], map };
}
