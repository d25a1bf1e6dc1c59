import { type TextWindow, wholeText } from '../limits/search-text.js';

/** What shows that an answer was written down and not found out. */

/** Shorter ones stand in files by chance. Counted without spaces. */
const LEAST_CHARACTERS = 8;
const LEAST_DIFFERENT = 4;
const FINDINGS_MOST = 100;
const EXCERPT_LONGEST = 120;

/** How an expected output stands in a file: as it is, as a text of a program, line by line, or encoded. */
export type HardcodedForm = 'literal' | 'escaped' | 'lines' | 'base64' | 'hex';

export interface HardcodedFinding {
  readonly path: string;
  /** From 1: where it begins. */
  readonly line: number;
  /** Which of the expected outputs, from 0. */
  readonly expected: number;
  readonly form: HardcodedForm;
  /** What was found where, in a sentence. */
  readonly text: string;
}

/** Whether finding an output in a file says anything. */
export const isTelling = (output: string): boolean => {
  const characters = output.replaceAll(/\s/g, '');
  return characters.length >= LEAST_CHARACTERS && new Set(characters).size >= LEAST_DIFFERENT;
};

/**
 * Expected outputs that stand in files which an agent wrote: at most one finding for each file and output, a hundred in all. Outputs
 * of fewer than 8 characters, or of fewer than 4 different ones, are not looked for.
 */
export function scanForHardcoded(
  files: ReadonlyMap<string, string>,
  expectedOutputs: readonly string[],
): readonly HardcodedFinding[] {
  const wanted = wantedOutputs(expectedOutputs);
  const findings: HardcodedFinding[] = [];
  for (const [path, text] of files) {
    const search = new HardcodedSearch(path, wanted);
    // Nothing waits for its turn here.
    for (const _ of search.look(wholeText(text)));
    findings.push(...search.findings());
    if (findings.length >= FINDINGS_MOST) return findings.slice(0, FINDINGS_MOST);
  }
  return findings;
}

/** The outputs that are looked for, in each form that they may have. */
export interface WantedOutputs {
  readonly outputs: readonly { readonly expected: number; readonly forms: readonly Form[] }[];
  /** How many characters the longest form takes, with what stands around it. */
  readonly longest: number;
}

export function wantedOutputs(expectedOutputs: readonly string[]): WantedOutputs {
  const outputs = expectedOutputs.flatMap((output, expected) =>
    isTelling(output) ? [{ expected, forms: formsOf(output) }] : [],
  );
  let longest = 0;
  for (const { forms } of outputs)
    for (const { needles } of forms) for (const { length } of needles) longest = Math.max(longest, length);
  return { outputs, longest: longest + 2 };
}

/** The search for outputs in one file, part by part. */
export class HardcodedSearch {
  readonly #path: string;
  readonly #outputs: readonly { readonly expected: number; readonly forms: readonly FormSearch[] }[];

  constructor(path: string, { outputs }: WantedOutputs) {
    this.#path = path;
    this.#outputs = outputs.map(({ expected, forms }) => ({
      expected,
      forms: forms.map((one) => new FormSearch(one)),
    }));
  }

  /** Stops after each output, so that others have their turn. */
  *look(part: TextWindow): Generator<void, void> {
    for (const { forms } of this.#outputs) {
      for (const form of forms) form.look(part);
      yield;
    }
  }

  findings(): readonly HardcodedFinding[] {
    return this.#outputs.flatMap(({ expected, forms }) => {
      const found = forms.map((form) => form.found()).find((one) => one !== null);
      return found == null ? [] : [findingOf(this.#path, expected, found)];
    });
  }
}

interface Form {
  readonly form: HardcodedForm;
  readonly needles: readonly string[];
}

/** What would be written for an output. All needles of a form must be there. */
function formsOf(output: string): readonly Form[] {
  const text = output.trim();
  const lines = text.split('\n').map((line) => line.trim());
  const telling = lines.filter((line) => isTelling(line));
  const escaped = JSON.stringify(text).slice(1, -1);
  const bytes = Buffer.from(text, 'utf8');
  return [
    { form: 'literal', needles: [text] },
    ...(escaped === text ? [] : [{ form: 'escaped' as const, needles: [escaped, escaped.replaceAll('\\"', '"')] }]),
    ...(lines.length > 1 && telling.length > 1 ? [{ form: 'lines' as const, needles: telling }] : []),
    // What may stand behind it changes the last character.
    { form: 'base64', needles: [bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64')] },
    { form: 'hex', needles: [bytes.toString('hex')] },
  ];
}

interface Found {
  readonly form: HardcodedForm;
  readonly line: number;
  readonly excerpt: string;
}

/** The first place of each needle of a form. */
class FormSearch {
  readonly #form: Form;
  readonly #places: (Omit<Found, 'form'> | null)[];

  constructor(form: Form) {
    this.#form = form;
    this.#places = form.needles.map(() => null);
  }

  look(part: TextWindow): void {
    const { form, needles } = this.#form;
    const { text, line } = part;
    for (const [index, needle] of needles.entries()) {
      if (this.#places[index] !== null) continue;
      const at = placeOf(part, needle, form);
      if (at < 0) continue;
      const excerpt = (text.slice(at, at + EXCERPT_LONGEST).split('\n')[0] ?? '').slice(0, EXCERPT_LONGEST);
      this.#places[index] = { line: line + text.slice(0, at).split('\n').length - 1, excerpt };
    }
  }

  found(): Found | null {
    const { form } = this.#form;
    const there = this.#places.filter((place) => place !== null);
    // An escaped text may have its quotes escaped or not; of lines each must be there.
    const isEnough = form === 'escaped' ? there.length > 0 : there.length === this.#places.length;
    const [first] = there.sort((a, b) => a.line - b.line);
    return isEnough && first !== undefined ? { form, ...first } : null;
  }
}

const WORD = /[\p{L}\p{N}]/u;

/** Where a text stands by itself: not as a part of a longer word or number. -1: nowhere. */
function placeOf({ text, small, isFirst, isLast }: TextWindow, needle: string, form: HardcodedForm): number {
  const content = form === 'hex' ? small : text;
  // What stands before the first character of a later part, and behind the last one of an earlier part, is seen in the part beside it.
  const from = isFirst ? 0 : 1;
  const to = isLast ? content.length : content.length - 1;
  for (let at = content.indexOf(needle, from); at >= 0; at = content.indexOf(needle, at + 1)) {
    if (at + needle.length > to) return -1;
    if (form === 'base64' || form === 'hex') return at;
    const [before, after] = [content.charAt(at - 1), content.charAt(at + needle.length)];
    const joinedBefore = WORD.test(before) && WORD.test(needle.charAt(0)) && !isEscape(content, at - 1);
    const joinedAfter = WORD.test(after) && WORD.test(needle.charAt(needle.length - 1));
    if (!joinedBefore && !joinedAfter) return at;
  }
  return -1;
}

/** Whether a letter is that of an escape such as `\n`. */
const isEscape = (content: string, at: number): boolean => content.charAt(at - 1) === '\\';

const WORDS: { readonly [F in HardcodedForm]: string } = {
  literal: 'as it is',
  escaped: 'as a text of a program',
  lines: 'line by line',
  base64: 'in base64',
  hex: 'in hexadecimal digits',
};

function findingOf(path: string, expected: number, { form, line, excerpt }: Found): HardcodedFinding {
  const text = `${path}, line ${line}, holds expected output ${expected + 1} ${WORDS[form]}: ${excerpt}`;
  return { path, line, expected, form, text };
}

/** The names of the canaries that a text holds, in whatever letters. `small`: the text in small letters. */
export const canariesIn = (small: string, canaries: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(canaries).flatMap(([name, value]) => (small.includes(value.toLowerCase()) ? [name] : []));

/** How many characters the longest canary takes. */
export const longestCanary = (canaries: Readonly<Record<string, string>>): number =>
  Math.max(0, ...Object.values(canaries).map(({ length }) => length));
