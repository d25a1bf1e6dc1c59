import { Agent } from '@openai/agents';
import { z } from 'zod';
import { type Caller, createEngine, defineAgent, defineTool, functionModel } from '../../src/index.js';
import { call, say } from '../harness/script.js';
import { arm, install } from './kill-switch.js';

/**
 * One process of a crash test of sessions: a conversation of three runs, each started under a key, so that a process that
 * comes after goes on with it. Prints what the session has in the end, and the logs of the runs.
 */
install();

const caller: Caller = { actor: 'ann', role: 'admin', tenant: 'default' };
const QUESTIONS = ['first', 'second', 'third'];

type Item = { readonly type?: string; readonly role?: string };

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', effect: 'pure', input: z.object({}), output: z.string() },
  execute: () => 'seen',
});
const model = functionModel('talker', (request) => {
  const items = (Array.isArray(request.input) ? request.input : []) as readonly Item[];
  const last = items.at(-1);
  return last?.role === 'user' ? [call('look', {})] : [say(`shown ${items.length} items`)];
});
const agent = defineAgent({ agent: new Agent({ name: 'talker', model, tools: [look] }), grants: ['tool:call:look'] });

const engine = await createEngine({
  agents: [agent],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'crash',
});
arm();
const events: { seq: number; kind: string; dataHash: string; stateHashAfter: string }[] = [];
const outputs: unknown[] = [];
let whole = true;
for (const input of QUESTIONS) {
  const { id } = await engine.startRun({ agent: 'talker', input, sessionId: 'crash' }, caller, input);
  const run = await engine.getRun(id, caller, { waitMs: 20_000 });
  outputs.push(run.output);
  const { items } = await engine.listEvents(id, { after: 0, limit: 1000 }, caller);
  for (const { seq, kind } of items) events.push({ seq, kind, dataHash: '', stateHashAfter: '' });
  const report = await engine.verifyRun(id, caller);
  whole &&= report.ok && report.complete;
}
const { runId } = await engine.getSession('crash', caller);
const { items } = await engine.listSessionItems('crash', { after: 0, limit: 200 }, caller);
const output = { runId, outputs, items: items.map(({ seq, item }) => ({ seq, item })) };
const report = { status: 'completed', output, error: null, turns: 0, usage: null, ok: whole, complete: whole, events };
process.stdout.write(`${JSON.stringify(report)}\n`);
await engine.stop();
process.exit(0);
