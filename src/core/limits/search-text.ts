const WINDOW = 1_048_576;

/** One part of a text, long enough that what is looked for stands in one of them whole. */
export interface TextWindow {
  readonly text: string;
  /** The same in small letters. */
  readonly small: string;
  /** The line that it begins in, from 1. */
  readonly line: number;
  /** Whether the text begins with it. */
  readonly isFirst: boolean;
  /** Whether the text ends with it. */
  readonly isLast: boolean;
}

/** A text that is there as a whole. */
export const wholeText = (text: string): TextWindow => ({
  ...{ text, small: text.toLowerCase(), line: 1, isFirst: true, isLast: true },
});

/** Cuts bytes that come in pieces into parts of a text. Each begins with the last `overlap` characters of the one before. */
export async function* textWindows(
  pieces: AsyncIterable<Uint8Array>,
  overlap: number,
  size: number = WINDOW,
): AsyncGenerator<TextWindow> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  let line = 1;
  let isFirst = true;
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true });
    if (text.length < size + overlap) continue;
    yield { text, small: text.toLowerCase(), line, isFirst, isLast: false };
    isFirst = false;
    const kept = text.slice(text.length - overlap);
    line += linesIn(text) - linesIn(kept);
    text = kept;
  }
  text += decoder.decode();
  yield { text, small: text.toLowerCase(), line, isFirst, isLast: true };
}

const linesIn = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
};
