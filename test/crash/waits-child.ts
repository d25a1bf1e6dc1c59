import { type Caller, createEngine, type DecisionRequest, type InterruptionView } from '../../src/index.js';
import { arm, install } from './kill-switch.js';
import { config, effects } from './waits-scenario.js';

/** One process of the crash test of waits: goes on with the run, answers, tells of the event, and prints how it ended. */
install();

const person: Caller = { actor: 'person', role: 'admin', tenant: 'default' };
const engine = await createEngine({
  ...config,
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  ...{ workerId: 'crash', approvalTimeoutMs: null },
});
await engine.emitEvent('receipt', { key: '2', payload: 'receipt 2', eventId: 'receipt-2' }, person);
arm();
const { id } = await engine.startRun({ agent: 'waiter', input: 'go' }, person, 'the-run');

const STAGES = ['reserve', 'confirm', 'pay'];

/** Looks at what has happened in the world. A stage in doubt that did is not run again: the person ends the transfer by hand. */
const decisionOn = (item: InterruptionView, settledWaits: number): DecisionRequest | null => {
  if (item.kind === 'question') return { verdict: 'answer', value: 'yes' };
  if (item.reason.code !== 'unknown_effect') return null;
  const [inDoubt = '', result] = item.tool === 'book' ? ['book', 'booked 3'] : [STAGES[settledWaits], 'paid {"n":1}'];
  return effects(inDoubt).length === 0 ? { verdict: 'approve' } : { verdict: 'answer', value: result };
};

for (;;) {
  const run = await engine.getRun(id, person, { waitMs: 20_000 });
  if (run.status === 'paused') {
    const { items } = await engine.listInterruptions({ runId: id, limit: 50 }, person);
    const settled = items.filter(
      ({ tool, wait, status }) => tool === 'transfer' && wait !== null && status === 'answered',
    );
    for (const item of items.filter(({ status }) => status === 'pending')) {
      const decision = decisionOn(item, settled.length);
      if (decision !== null) await engine.decide(item.id, decision, person);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    continue;
  }
  if (run.status === 'queued' || run.status === 'running') throw new Error(`the run is still ${run.status} after 20 s`);
  const { items } = await engine.listEvents(id, { after: 0, limit: 1000 }, person);
  const report = await engine.verifyRun(id, person);
  const events = items.map(({ seq, kind, dataHash, stateHashAfter }) => ({ seq, kind, dataHash, stateHashAfter }));
  const { status, output, error, turns, usage } = run;
  process.stdout.write(
    `${JSON.stringify({ status, output, error, turns, usage, ok: report.ok, complete: report.complete, events })}\n`,
  );
  break;
}
await engine.stop();
process.exit(0);
