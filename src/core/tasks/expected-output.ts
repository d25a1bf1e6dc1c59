import type { CommandEnd } from './task-reward.js';

const SHOWN = 80;
const shown = (line: string | undefined): string =>
  line === undefined ? 'nothing' : JSON.stringify(line.slice(0, SHOWN).toWellFormed());

const linesOf = (text: string): readonly string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd());

/** Compares what a command printed with what is expected, line by line. White space at ends of lines does not count. */
export function comparedOutput(
  { stdout, omittedBytes }: Pick<CommandEnd, 'stdout' | 'omittedBytes'>,
  expected: string,
): { readonly share: number; readonly why?: string } {
  const [printed, wanted] = [linesOf(stdout), linesOf(expected)];
  const length = Math.max(printed.length, wanted.length);
  for (let at = 0; at < length; at++) {
    if (printed[at] === wanted[at]) continue;
    return { share: 0, why: `line ${at + 1} is ${shown(printed[at])} where ${shown(wanted[at])} is expected` };
  }
  return omittedBytes === 0 ? { share: 1 } : { share: 0, why: 'it printed more than is expected' };
}
