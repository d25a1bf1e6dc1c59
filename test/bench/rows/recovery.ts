import { type DatabaseKind, newPlace } from '../place.js';
import { startJob } from '../process.js';
import type { Row } from '../row.js';
import type { ComparedSide } from '../side.js';

const RUNS = 100;
const TURNS = 10;

/** Runs that were at work when their process was killed, from the start of the next process until the last one is done. */
const recoveryRow = (kind: DatabaseKind, name: string, where: string): Row => ({
  name,
  title: `100 runs killed midway, from the next start until all are done, ${where}`,
  needsPostgres: kind === 'postgres',
  sides: ['holdfast', 'dbos'],
  measure: async (side, scale) => {
    const place = await newPlace(kind);
    const runs = scale === 'quick' ? RUNS / 4 : RUNS;
    const job = { side: side as ComparedSide, place };
    await startJob({ ...job, work: { type: 'die', runs, turns: TURNS } }).gone;
    const next = startJob({ ...job, work: { type: 'finish', runs } });
    await next.line();
    await next.line();
    const value = (performance.now() - next.at) / 1000;
    await next.kill();
    return { [`${runs} runs of ${TURNS} turns`]: { value, unit: 's' } };
  },
});

export const RECOVERY_ROWS: readonly Row[] = [
  recoveryRow('postgres', 'recovery', 'PostgreSQL'),
  recoveryRow('pglite', 'recovery-pglite', 'PGlite'),
];
