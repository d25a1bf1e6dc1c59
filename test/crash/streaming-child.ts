import { type Caller, createEngine } from '../../src/index.js';
import { talker } from './streaming-agent.js';

/** One process that runs a streaming model, which may die in the middle of its answer. */
const caller: Caller = { actor: 'ann', role: 'admin', tenant: 'default' };
const engine = await createEngine({
  agents: [talker],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'crash',
});
const { id } = await engine.startRun({ agent: 'talker', input: 'go' }, caller, 'the-run');
const seen: string[] = [];
for await (const one of engine.streamRun(id, { after: 0, signal: AbortSignal.timeout(60_000) }, caller)) {
  if ('seq' in one || !('attempt' in one) || seen.includes(one.attempt)) continue;
  if (seen.push(one.attempt) === 1) process.stderr.write(`${id}\n`);
}
const { status, output, error, turns, usage } = await engine.getRun(id, caller);
const { items } = await engine.listEvents(id, { after: 0, limit: 1000 }, caller);
const { ok, complete } = await engine.verifyRun(id, caller);
const events = items.map(({ seq, kind, dataHash, stateHashAfter }) => ({ seq, kind, dataHash, stateHashAfter }));
process.stdout.write(JSON.stringify({ status, output, error, turns, usage, ok, complete, events, seen }));
await engine.stop();
process.exit(0);
