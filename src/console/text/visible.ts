/** Splits a text into what is drawn as it is and characters that a reader would not see, or that reorder what stands around them. */

export type Part =
  | { readonly type: 'text'; readonly text: string }
  /** Drawn as its name, copied as the character. */
  | { readonly type: 'hidden'; readonly text: string; readonly name: string };

/** https://www.unicode.org/reports/tr44: controls, formats, private use, halves of pairs, separators, ignorables, blank signs. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{13441}\u{13442}]/u;
const BLANK = /[\p{Zs}]/u;
const MARK = /\p{M}/u;
const EMOJI_JOINER = new Set(['\u200d', '\ufe0f']);
const PICTURE = /\p{Extended_Pictographic}|\p{Emoji_Modifier}/u;
const DIRECTION = new Set(['\u200e', '\u200f', '\u061c']);
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
const MARKS_MOST = 4;

export const nameOfCharacter = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

interface Around {
  readonly before: string;
  readonly after: string;
}

/** What people write in prose: joined pictures, and marks of direction beside letters that run to the left. */
const isUsualInProse = (character: string, { before, after }: Around): boolean =>
  (EMOJI_JOINER.has(character) && PICTURE.test(before)) ||
  (DIRECTION.has(character) && (RIGHT_TO_LEFT.test(before) || RIGHT_TO_LEFT.test(after)));

/** So many blanks, tabs or lines without a letter in a row push what follows out of sight. */
const FOLDED = /( {41,}|\t{11,}|\n(?:[ \t]*\n){3,})/;

/** How a run of one character is told. */
function nameOfRun(run: string): string {
  const [first = ''] = run;
  const count = Array.from(run).length;
  if (first === ' ') return `${count} blanks`;
  if (first === '\t') return `${count} tabs`;
  if (first === '\n') return `${run.split('\n').length - 1} line feeds`;
  const character = nameOfCharacter(String.fromCodePoint(run.codePointAt(0) ?? 0));
  return count === 1 ? character : `${count} × ${character}`;
}

/** Finds the characters of a text that are not drawn as they are. */
function hiddenRuns(
  text: string,
  kind: 'exact' | 'prose',
): readonly { readonly text: string; readonly hidden: boolean }[] {
  const runs: { text: string; hidden: boolean }[] = [];
  const characters = Array.from(text);
  let marks = 0;
  characters.forEach((character, at) => {
    marks = MARK.test(character) ? marks + 1 : 0;
    const around = { before: characters[at - 1] ?? '', after: characters[at + 1] ?? '' };
    const usual = kind === 'prose' && isUsualInProse(character, around);
    const plain = character === ' ' || character === '\n' || character === '\t';
    const hidden = !plain && !usual && (HIDDEN.test(character) || BLANK.test(character) || marks > MARKS_MOST);
    const last = runs.at(-1);
    if (last !== undefined && last.hidden === hidden && (!hidden || last.text.endsWith(character)))
      last.text += character;
    else runs.push({ text: character, hidden });
  });
  return runs;
}

/**
 * Pieces of a text in their order; their texts joined are the text. `exact`: arguments, ids, paths, where each hidden character counts.
 * `prose`: what people and models write, where joiners of pictures and marks of direction are usual.
 */
export function visiblePieces(text: string, kind: 'exact' | 'prose' = 'exact'): readonly Part[] {
  return text.split(FOLDED).flatMap((piece, at): readonly Part[] => {
    if (at % 2 === 1) return [{ type: 'hidden', text: piece, name: nameOfRun(piece) }];
    return hiddenRuns(piece, kind).map((run) =>
      run.hidden ? { type: 'hidden', text: run.text, name: nameOfRun(run.text) } : { type: 'text', text: run.text },
    );
  });
}

/** How many characters of a text a reader would not see. Blanks are no such characters. */
export const hiddenIn = (text: string): number =>
  visiblePieces(text)
    .filter(({ type, text: run }) => type === 'hidden' && !/^[ \t\n]/.test(run))
    .reduce((sum, { text: run }) => sum + Array.from(run).length, 0);

/** Scripts with letters that look like those of another one: https://www.unicode.org/reports/tr39. */
const ALIKE = [
  ...[/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u],
  ...[/\p{Script=Cherokee}/u, /\p{Script=Coptic}/u, /\p{Script=Lisu}/u, /\p{Script=Deseret}/u],
];
/** Two that Spanish and Portuguese write behind numbers. */
const ORDINALS = /[ªº]/gu;
/** Letters that are those of ASCII in another form, such as full-width and mathematical ones. */
const isPosing = (word: string): boolean =>
  Array.from(word.replaceAll(ORDINALS, '')).some(
    (letter) => letter > '\u007f' && /^[A-Za-z]+$/.test(letter.normalize('NFKC')),
  );

/** Whether a word has letters that look like others: of several scripts, or other forms of those of ASCII. */
export const isMixed = (text: string): boolean =>
  text
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .some((word) => ALIKE.filter((script) => script.test(word)).length > 1 || isPosing(word));
