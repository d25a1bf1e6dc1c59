import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { type Caller, createEngine, defineAgent, functionModel } from '../../src/index.js';
import { inPieces } from '../harness/in-pieces.js';
import { say } from '../harness/script.js';
import { place } from './kill-switch.js';

/** One process that runs a streaming model, which may die in the middle of its answer. */
const caller: Caller = { actor: 'ann', role: 'admin', tenant: 'default' };
const text = Array.from({ length: 60 }, (_, n) => `piece ${n}, `).join('');

const model = inPieces(
  functionModel('talker', () => [say(text)]),
  10,
  async (piece) => {
    await sleep(30);
    if (piece === 30) place('stream:middle');
  },
);

const engine = await createEngine({
  agents: [defineAgent({ agent: new Agent({ name: 'talker', model }), stream: true })],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'crash',
});
const { id } = await engine.startRun({ agent: 'talker', input: 'go' }, caller, 'the-run');
process.stderr.write(`${id}\n`);
const seen: string[] = [];
for await (const one of engine.streamRun(id, { after: 0, signal: AbortSignal.timeout(60_000) }, caller)) {
  if (!('seq' in one) && 'attempt' in one && !seen.includes(one.attempt)) seen.push(one.attempt);
}
const { status, output, error, turns, usage } = await engine.getRun(id, caller);
const { items } = await engine.listEvents(id, { after: 0, limit: 1000 }, caller);
const { ok, complete } = await engine.verifyRun(id, caller);
const events = items.map(({ seq, kind, dataHash, stateHashAfter }) => ({ seq, kind, dataHash, stateHashAfter }));
process.stdout.write(JSON.stringify({ status, output, error, turns, usage, ok, complete, events, seen }));
await engine.stop();
process.exit(0);
