import { type Caller, createEngine } from '../../src/index.js';
import { effects } from './effect-tool.js';
import { arm, install } from './kill-switch.js';
import { tools } from './tools-scenario.js';

/**
 * One process of a crash test of forks: with ONLY_SOURCE it drives a run to its end; else it forks that run after the
 * second answer of its model, drives the fork, and prints how it ended. Ends by SIGKILL where KILL_AT says so.
 */
install();

const caller: Caller = { actor: 'ann', role: 'admin', tenant: 'default' };
const engine = await createEngine({
  ...tools.config,
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'crash',
  turnsPerSegment: 2,
  approvalTimeoutMs: null,
});

async function drive(id: string) {
  for (;;) {
    const run = await engine.getRun(id, caller, { waitMs: 20_000 });
    if (run.status === 'queued' || run.status === 'running') throw new Error(`run ${id} is still ${run.status}`);
    if (run.status !== 'paused') return run;
    const { items } = await engine.listInterruptions({ status: 'pending', runId: id, limit: 50 }, caller);
    for (const { id: interruption, reason, tool, arguments: args } of items) {
      const { n } = args as { n: number };
      const happened = reason.code === 'unknown_effect' && effects(tool ?? '').length > 0;
      const value = { done: `${tool} ${n}` };
      await engine.decide(interruption, happened ? { verdict: 'answer', value } : { verdict: 'approve' }, caller);
    }
  }
}

const source = await engine.startRun({ agent: tools.agent, input: 'go' }, caller, 'the-run');
if (process.env['ONLY_SOURCE'] === '1') {
  await drive(source.id);
} else {
  arm();
  const { items } = await engine.listEvents(source.id, { after: 0, limit: 1000 }, caller);
  const at = items.filter(({ kind }) => kind === 'model.responded')[1]?.seq ?? 0;
  const { id } = await engine.forkRun(source.id, { at }, caller, 'the-fork');
  const run = await drive(id);
  const log = (await engine.listEvents(id, { after: 0, limit: 1000 }, caller)).items;
  const { ok, complete } = await engine.verifyRun(id, caller);
  // Every fork has a key of its own, so that hashes differ; its data is the same but for ids and digests.
  const events = log.map(({ seq, kind }) => ({ seq, kind, dataHash: '', stateHashAfter: '' }));
  const { status, output, error, turns, usage } = run;
  process.stdout.write(`${JSON.stringify({ status, output, error, turns, usage, ok, complete, events })}\n`);
}
await engine.stop();
process.exit(0);
