import { readSettings } from '../../config.js';
import { isOver } from '../../core/runs/run.js';
import type { Engine } from '../../engine/engine.js';
import { approversOf, REVIEWER } from '../careful-person.js';
import type { CliServices } from '../cli-services.js';
import { agentsOf, engineSettings } from '../commands/server/server-process.js';
import { inTemporaryFolder } from '../temporary-folder.js';
import { type BenchReport, type Measured, reportOf, type Span } from './report.js';

export interface BenchOptions {
  readonly agent: string;
  readonly input: string;
  /** How many runs at most. */
  readonly runs: number;
  /** How many at once. */
  readonly concurrency: number;
  /** After so long no run is begun any more. */
  readonly seconds: number;
  /** Null: an embedded one in a temporary folder. */
  readonly databaseUrl: string | null;
}

const LOOK_MS = 1000;
const LONGEST_RUN_MS = 60_000;
const GRACE_MS = 1000;
const PAGE = 200;

/** Executes runs of an agent of the configuration, and says what they took. One run before them is not measured. */
export async function bench(
  options: BenchOptions,
  services: CliServices,
  tell: (done: number, of: number) => void,
): Promise<BenchReport> {
  const { agent, runs, concurrency, seconds, databaseUrl } = options;
  return inTemporaryFolder('holdfast-bench-', async (dataDir) => {
    const settings = { ...readSettings(), databaseUrl, dataDir, workerId: `bench-${process.pid}`, concurrency };
    const { config } = await agentsOf(settings, services);
    const { createEngine } = await import('../../engine/create-engine.js');
    const bounds = { approvalTimeoutMs: null, signingKeyFile: null, checkpoints: null };
    const open = (): Promise<Engine> => createEngine({ ...config, ...engineSettings(settings), ...bounds });
    const first = await open();
    try {
      await measure(first, options);
    } finally {
      await first.stop({ graceMs: GRACE_MS });
    }
    const before = await bytesIn({ databaseUrl, dataDir });
    const engine = await open();
    const measured: Measured[] = [];
    const from = performance.now();
    try {
      const until = from + seconds * 1000;
      let begun = 0;
      const work = async (): Promise<void> => {
        while (begun < runs && performance.now() < until) {
          begun++;
          measured.push(await measure(engine, options));
          tell(measured.length, runs);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, work));
    } finally {
      await engine.stop({ graceMs: GRACE_MS });
    }
    const tookMs = performance.now() - from;
    const grownBytes = (await bytesIn({ databaseUrl, dataDir })) - before;
    const database = databaseUrl === null ? 'embedded' : 'postgres';
    return reportOf({ agent, database, concurrency, tookMs, grownBytes }, measured);
  });
}

/** Executes one run, and approves what it asks. */
async function measure(engine: Engine, { agent, input }: BenchOptions): Promise<Measured> {
  const from = performance.now();
  const { id } = await engine.startRun({ agent, input }, REVIEWER);
  const status = await rested(engine, id, from + LONGEST_RUN_MS);
  const ms = performance.now() - from;
  const { executionTimeMs: workedMs } = await engine.getTrajectory(id, REVIEWER);
  return { status, ms, workedMs, steps: await stepsOf(engine, id) };
}

async function rested(engine: Engine, id: string, until: number): Promise<string> {
  for (;;) {
    const { status } = await engine.getRun(id, REVIEWER, { waitMs: LOOK_MS });
    if (isOver(status)) return status;
    const { items } = await engine.listInterruptions({ status: 'pending', runId: id, limit: 100 }, REVIEWER);
    const asked = items.filter(({ kind }) => kind === 'approval');
    for (const item of asked)
      for (const person of approversOf(item)) await engine.decide(item.id, { verdict: 'approve' }, person);
    const goesOn = status !== 'paused' || asked.length > 0 || items.some(({ kind }) => kind === 'timer');
    if (!goesOn || performance.now() > until) return status;
  }
}

/** The model calls and tool calls that this process executed. */
async function stepsOf(engine: Engine, runId: string): Promise<readonly Span[]> {
  const spans: Span[] = [];
  for (let after = 0; ; ) {
    const { items } = await engine.listSystemEvents({ after, limit: PAGE, kind: 'step.executed', runId }, REVIEWER);
    for (const event of items) {
      const took = event.data['durationMs'];
      const to = Date.parse(event.at);
      if (typeof took === 'number') spans.push({ from: to - took, to });
    }
    if (items.length < PAGE) return spans;
    after = items.at(-1)?.seq ?? after;
  }
}

/** What the tables with their indexes take. */
async function bytesIn(place: { readonly databaseUrl: string | null; readonly dataDir: string }): Promise<number> {
  const { openDatabase } = await import('../../storage/database/open-database.js');
  const database = await openDatabase(place);
  try {
    const { rows }: { rows: { bytes: string }[] } = await database.knex.raw(
      `select coalesce(sum(pg_total_relation_size(c.oid)), 0) as bytes from pg_class c
         join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and n.nspname in ('holdfast', 'dbos')`,
    );
    return Number(rows[0]?.bytes ?? 0);
  } finally {
    await database.close();
  }
}
