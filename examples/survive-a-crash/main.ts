import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Agent } from '@openai/agents';
import { createEngine, defineAgent, defineTool, LOCAL_CALLER } from 'holdfast';
import { z } from 'zod';
import { call, results, say, scripted } from '../scripted-model.js';

/** Where the payments stand: a file, in place of a bank. */
const BANK = process.env['BANK'] ?? 'payments.txt';
const payments = () => (existsSync(BANK) ? readFileSync(BANK, 'utf8').split('\n').filter(Boolean) : []);

const pay = defineTool({
  name: 'pay',
  description: 'Pays someone.',
  input: z.object({ to: z.string(), cents: z.int() }),
  output: z.object({ paid: z.string() }),
  effect: 'unsafe',
  capabilities: ['payments:pay:EUR'],
  execute: ({ to, cents }, { idempotencyKey }) => {
    appendFileSync(BANK, `${idempotencyKey} ${to} ${cents}\n`);
    // The worst moment: the money is gone, and nothing of it is recorded yet.
    if (to === 'bob' && process.argv[2] === 'crash') process.kill(process.pid, 'SIGKILL');
    return { paid: to };
  },
  // The next process asks the bank, and pays again only if the bank knows nothing of the call.
  onUnknownEffect: 'probe',
  probe: async ({ to }, { idempotencyKey }) =>
    payments().some((line) => line.startsWith(`${idempotencyKey} `))
      ? { happened: true, output: { paid: to } }
      : { happened: false },
});

const payees = ['alice', 'bob', 'carol'];
const model = scripted((request) => {
  const next = payees[results(request).length];
  return next === undefined ? [say('All are paid.')] : [call('pay', { to: next, cents: 1000 })];
});

const engine = await createEngine({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'payroll', model: 'scripted/payroll', tools: [pay] }),
      grants: ['payments:pay:EUR'],
    }),
  ],
  providers: { scripted: model },
  databaseUrl: null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '.holdfast',
});

// The same key gives the same run: the second process does not start another one.
const { id } = await engine.startRun({ agent: 'payroll', input: 'Pay everybody.' }, LOCAL_CALLER, 'payroll-2026-06');
const run = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
console.log(`${run.status}: ${run.output}`);
for (const line of payments()) console.log(line.split(' ').slice(1).join(' '));
await engine.stop();
