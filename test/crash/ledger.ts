import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { KillAt } from './place.js';

/**
 * Which instants of the crash matrix have passed. `npm run crash` names the file (HOLDFAST_CRASH_LEDGER), so that it goes on where
 * it ended before, and says how many milliseconds since 1970 no further instant begins (HOLDFAST_CRASH_UNTIL), and which part of
 * all instants is tried (HOLDFAST_CRASH_SHARD, such as 2/8). Without them every instant is tried.
 */
const FILE = process.env['HOLDFAST_CRASH_LEDGER'];
const UNTIL = Number(process.env['HOLDFAST_CRASH_UNTIL'] ?? Number.POSITIVE_INFINITY);
const [SHARD = 1, SHARDS = 1] = (process.env['HOLDFAST_CRASH_SHARD'] ?? '1/1').split('/').map(Number);

/** A line of the file: how many instants a suite has, or how one of them ended. */
export type LedgerLine = { readonly suite: string } & (
  | { readonly instants: number }
  | { readonly instant: string; readonly passed: boolean; readonly commit: string }
);

export const readLedger = (file: string): readonly LedgerLine[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        // The last line may have been cut.
        .filter((line) => line.endsWith('}'))
        .map((line): LedgerLine => JSON.parse(line))
    : [];

const commit =
  FILE === undefined ? '' : execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();

const write = (line: LedgerLine): void => {
  if (FILE !== undefined) appendFileSync(FILE, `${JSON.stringify(line)}\n`);
};

/** How an instant is named in the file and in failures. */
export const nameOf = ({ when, statement, text, commit, place, ...rest }: KillAt): string => {
  if (place !== undefined) return when === 'place' ? place : `${when} at ${place}`;
  if (text !== undefined) return `${when} ${commit ? 'commit of ' : ''}${text}`;
  return statement === undefined ? `${when} ${JSON.stringify(rest)}` : `${when} durable statement ${statement}`;
};

export interface SuiteLedger {
  /** Whether nothing is left to try: what is ours has passed, or the time is over. */
  isDone(): boolean;
  /** Tries one instant. False: it passed before, is of another shard, or the time is over. */
  attempt(instant: string, work: () => Promise<void>): Promise<boolean>;
}

/** Whether no further instant begins. */
export const timeIsOver = (): boolean => Date.now() > UNTIL;

/** The instants of one suite on one database, by their names. */
export function ledgerOf(suite: string, instants: readonly string[]): SuiteLedger {
  const passed = new Set<string>();
  if (FILE !== undefined) {
    for (const line of readLedger(FILE))
      if (line.suite === suite && 'instant' in line && line.passed) passed.add(line.instant);
    write({ suite, instants: new Set(instants).size });
  }
  const ours = new Set(instants.filter((_, index) => index % SHARDS === SHARD - 1));
  return {
    isDone: () => timeIsOver() || [...ours].every((instant) => passed.has(instant)),
    attempt: async (instant, work) => {
      if (passed.has(instant) || !ours.has(instant) || timeIsOver()) return false;
      try {
        await work();
      } catch (error) {
        write({ suite, instant, passed: false, commit });
        throw error;
      }
      write({ suite, instant, passed: true, commit });
      return true;
    },
  };
}

/** Tries one instant after the other, so many at once. Most of them must have killed the process. */
export async function tryEach(
  suite: string,
  kills: readonly KillAt[],
  work: (kill: KillAt) => Promise<{ readonly died: boolean }>,
  atOnce = 1,
): Promise<void> {
  expect(kills.length).toBeGreaterThan(0);
  const ledger = ledgerOf(suite, kills.map(nameOf));
  const next = kills.values();
  let tried = 0;
  let deaths = 0;
  const takeTurns = async (): Promise<void> => {
    for (const kill of next)
      await ledger.attempt(nameOf(kill), async () => {
        const { died } = await work(kill);
        tried++;
        if (died) deaths++;
      });
  };
  await Promise.all(Array.from({ length: atOnce }, takeTurns));
  // Only the last statements may not exist, and a few of them may be all that was left to try.
  if (tried === kills.length || tried > 4) expect(deaths).toBeGreaterThan(tried / 2);
}
