import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../src/core/seeded-random.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { openOwnPostgres } from '../harness/own-postgres.js';
import { openNetwork } from '../workers/proxy.js';
import { checkRows, connectionsOf, standing } from './check-rows.js';
import { checkChains, checkEnds, checkLedger } from './check-runs.js';
import { Place } from './crew.js';
import { openDoors } from './doors.js';
import { rage } from './faults.js';
import { entriesOf } from './ledger.js';
import { People } from './people.js';
import { type Report, reportLines } from './report.js';
import { leaksBetween, type Sample, sampleText } from './sample.js';

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: string;
  readonly workers: number;
  readonly say: (line: string) => void;
}

const LANES = 16;
/** Part of the time in which nothing goes wrong yet: what a process needs once, it has then. */
const CALM_PART = 0.15;
const OVER_WITHIN_MS = 120_000;
const QUIET_MS = 3000;
const SHOWN_PROBLEMS = 30;
const LAST_CHARS = 3000;

/** Answers what is wrong; nothing when all is well. Always ends, and leaves no process behind. */
export async function soak({ minutes, seed, workers, say }: SoakOptions): Promise<readonly string[]> {
  const began = performance.now();
  const random = seededRandom(`${seed}:faults`);
  const problems: string[] = [];
  const problem = (what: string): void => {
    say(`PROBLEM ${what}`);
    problems.push(what);
  };
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-soak-'));
  const postgres = await openOwnPostgres();
  const network = await openNetwork(postgres.url.replace(/postgres$/, 'soak'));
  const ledger = join(dataDir, 'ledger');
  const doors = await openDoors(network.url, dataDir, ({ message }) => problem(`the doors were shut: ${message}`));
  const env = { DATABASE_URL: network.url, LEDGER: ledger };
  const crew = Array.from({ length: workers }, (_, n) =>
    // The spared one leaves most of the work to those that may be hurt.
    n === 0
      ? new Place('worker-0', true, { ...env, CONCURRENCY: '2' }, problem)
      : new Place(`worker-${n}`, false, env, problem),
  );
  const people = new People({
    ...{ seed, doors },
    happened: (key) => entriesOf(ledger).includes(key),
    mayStillHappen: () => crew.some(({ isFrozen }) => isFrozen),
  });
  const knex = (await openDatabase({ databaseUrl: postgres.url.replace(/postgres$/, 'soak'), dataDir, poolSize: 1 }))
    .knex;

  const isQuiet = async (): Promise<boolean> => {
    for (const until = performance.now() + OVER_WITHIN_MS; performance.now() < until; await sleep(200))
      if (people.open.length === 0 && crew.every(({ isUp, isFrozen }) => isUp && !isFrozen)) return true;
    return false;
  };
  /** Lets everything come to its end, and looks what the spared worker holds then. */
  const quietSample = async (): Promise<Sample | null> => {
    people.startRuns(false);
    if (!(await isQuiet())) return null;
    await sleep(QUIET_MS);
    return (await crew[0]?.sample()) ?? null;
  };

  try {
    say(`seed ${seed}, ${minutes} minutes, ${workers} workers`);
    let names = 0;
    const next = (place: Place) => () => ({
      id: random() < 0.5 ? place.name : `${place.name}-again-${names++}`,
      pauseMs: random() * 4000,
    });
    for (const place of crew) void place.keep(next(place));
    people.begin(LANES);
    people.startRuns(true);
    await sleep(minutes * 60_000 * CALM_PART);
    const early = await quietSample();
    people.startRuns(true);
    const faults = await rage({ crew, postgres, network, random }, began + minutes * 60_000);
    const late = await quietSample();
    if (early === null || late === null) {
      problem('it does not become quiet');
      for (const { name, said } of crew) say(`${name} said last: ${said.slice(-LAST_CHARS)}`);
      for (const line of await standing(knex)) say(line);
    }
    if (early !== null && late !== null) for (const leak of leaksBetween(early, late)) problem(`worker-0: ${leak}`);
    people.stop();
    for (const what of people.tally.problems) problem(what);
    const entries = entriesOf(ledger);
    for (const what of await checkEnds(knex, people.tally.orders)) problem(what);
    for (const what of await checkLedger(knex, entries)) problem(what);
    for (const what of await checkChains(knex, doors.engine)) problem(what);
    for (const what of await checkRows(knex, workers + 1)) problem(what);
    const report: Report = {
      ...{ tally: people.tally, faults, payments: entries.length, starts: crew.map(({ starts }) => starts) },
      samples: [early, late].map((sample) => (sample === null ? 'none' : sampleText(sample))),
      connections: await connectionsOf(knex),
      seconds: Math.round((performance.now() - began) / 1000),
    };
    for (const line of reportLines(report)) say(line);
  } catch (error) {
    problem(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    people.stop();
    await Promise.all(crew.map((place) => place.end()));
    await doors.close().catch(() => undefined);
    await knex.destroy();
    await network.close();
    await postgres.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
  say(problems.length === 0 ? 'all is well' : `${problems.length} problems, seed ${seed}`);
  return problems.slice(0, SHOWN_PROBLEMS);
}
