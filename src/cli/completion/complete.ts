import type { Command } from 'commander';
import { cut, plain, print } from '../print.js';
import { candidatesFor, FILES } from './candidates.js';
import { liveValues } from './live-values.js';

const ABOUT = 80;

/** Prints what may stand in the place of the last word, one value a line, for the scripts of `completion`. */
export async function printCandidates(program: Command, words: readonly string[]): Promise<void> {
  const found = await candidatesFor(program, words, liveValues);
  if (found === FILES) return print(FILES);
  for (const { value, about } of found) print(`${value}\t${cut(plain(about), ABOUT)}`);
}
