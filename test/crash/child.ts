import { type Caller, createEngine } from '../../src/index.js';
import { effects } from './effect-tool.js';
import { arm, install } from './kill-switch.js';
import { scenarioOf } from './scenario.js';

/**
 * One process of a crash test: starts the engine, starts or finds the run, decides like a careful person, and prints how
 * it ended. Ends by SIGKILL where KILL_AT says so.
 */
install();
const { agent, config } = scenarioOf(process.env['SCENARIO'] ?? 'tools');

const reviewer: Caller = { actor: 'reviewer', role: 'admin', tenant: 'default' };
const refused = (error: unknown): never => {
  process.stderr.write(`refused: ${(error as { code?: string }).code}\n`);
  process.exit(3);
};
const engine = await createEngine({
  ...config,
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'crash',
  turnsPerSegment: 2,
  approvalTimeoutMs: null,
}).catch(refused);
arm();
const { id } = await engine.startRun({ agent, input: 'go' }, reviewer, 'the-run');

for (;;) {
  const run = await engine.getRun(id, reviewer, { waitMs: 20_000 });
  if (run.status === 'paused') {
    const { items } = await engine.listInterruptions({ status: 'pending', runId: id, limit: 50 }, reviewer);
    for (const item of items) {
      const happened = item.tool !== null && effects(item.tool).length > 0;
      if (item.reason.code === 'unknown_effect' && happened) {
        const { n } = item.arguments as { n: number };
        await engine.decide(item.id, { verdict: 'answer', value: { done: `${item.tool} ${n}` } }, reviewer);
      } else {
        await engine.decide(item.id, { verdict: 'approve' }, reviewer);
      }
    }
    continue;
  }
  if (run.status === 'queued' || run.status === 'running') throw new Error(`the run is still ${run.status} after 20 s`);
  const { items } = await engine.listEvents(id, { after: 0, limit: 1000 }, reviewer);
  const report = await engine.verifyRun(id, reviewer);
  const events = items.map(({ seq, kind, dataHash, stateHashAfter }) => ({ seq, kind, dataHash, stateHashAfter }));
  const { status, output, error, turns, usage } = run;
  process.stdout.write(
    `${JSON.stringify({ status, output, error, turns, usage, ok: report.ok, complete: report.complete, events })}\n`,
  );
  break;
}
await engine.stop();
process.exit(0);
