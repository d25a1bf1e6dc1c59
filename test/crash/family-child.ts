import { type Caller, createEngine } from '../../src/index.js';
import { config, effects } from './family-scenario.js';
import { arm, install } from './kill-switch.js';

/**
 * One process of the crash test of families: starts the engine, starts or finds the topmost run, decides like a careful person
 * whatever run asks, and prints how each run ended. Ends by SIGKILL where KILL_AT says so.
 */
install();

const reviewer: Caller = { actor: 'reviewer', role: 'admin', tenant: 'default' };
const engine = await createEngine({
  ...config,
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'crash',
  approvalTimeoutMs: null,
});
arm();
const { id } = await engine.startRun({ agent: 'lead', input: 'go' }, reviewer, 'the-run');

const OVER = ['completed', 'failed', 'cancelled'];
const until = Date.now() + 60_000;
for (;;) {
  const run = await engine.getRun(id, reviewer, { waitMs: 100 });
  if (OVER.includes(run.status)) break;
  if (Date.now() > until) throw new Error(`the run is still ${run.status} after 60 s`);
  const { items } = await engine.listInterruptions({ status: 'pending', limit: 50 }, reviewer);
  for (const item of items.filter(({ kind }) => kind === 'approval')) {
    const happened = item.tool !== null && effects(item.tool).length > 0;
    if (item.reason.code === 'unknown_effect' && happened) {
      const { n } = item.arguments as { n: number };
      await engine.decide(item.id, { verdict: 'answer', value: { done: `${item.tool} ${n}` } }, reviewer);
    } else {
      await engine.decide(item.id, { verdict: 'approve' }, reviewer);
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const { items: runs } = await engine.listRuns({ limit: 50 }, reviewer);
const reports = await Promise.all(
  runs.map(async (run) => {
    const { agent, parentRunId, status, output, error, turns, usage } = run;
    const { items } = await engine.listEvents(run.id, { after: 0, limit: 1000 }, reviewer);
    const { ok, complete } = await engine.verifyRun(run.id, reviewer);
    // The payload itself in place of its hash: every run but the first has a key of its own.
    const events = items.map(({ seq, kind, data, stateHashAfter }) => ({ seq, kind, data, stateHashAfter }));
    return { id: run.id, agent, parentRunId, status, output, error, turns, usage, ok, complete, events };
  }),
);
process.stdout.write(JSON.stringify(reports.sort((a, b) => (a.agent < b.agent ? -1 : 1))));
await engine.stop();
process.exit(0);
