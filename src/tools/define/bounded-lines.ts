import { shownPart } from '../../models/secrets/known-secrets.js';

/** Of one program: more is left out, and counted. */
const LINES_MAX = 200;
const PER_MS = 10_000;
const LINE_CHARS = 2000;

/** Puts pieces of what a program writes together to lines. */
export function boundedLines(say: (line: string) => void): (piece: string) => void {
  let rest = '';
  let since = performance.now();
  let said = 0;
  let left = 0;
  const tell = (line: string): void => {
    if (performance.now() - since > PER_MS) {
      if (left > 0) say(`(${left} lines are left out)`);
      since = performance.now();
      said = 0;
      left = 0;
    }
    // What is cut off leaves no beginning of a secret behind.
    if (said++ < LINES_MAX) say(shownPart(line.slice(0, LINE_CHARS), line.length > LINE_CHARS));
    else left++;
  };
  return (piece) => {
    const lines = (rest + piece).split('\n');
    rest = (lines.pop() ?? '').slice(0, LINE_CHARS + 1);
    for (const line of lines) if (line.trim() !== '') tell(line);
  };
}
