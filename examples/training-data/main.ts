import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { createEngine, defineAgent, defineTool, LOCAL_CALLER } from 'holdfast';
import { z } from 'zod';
import { asked, call, results, say, scripted } from '../scripted-model.js';

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  effect: 'pure',
  execute: ({ a, b }) => ({ sum: a + b }),
});

/** Uses the tool, but for numbers above 50, where it guesses. */
const model = scripted((request) => {
  const [a = 0, b = 0] = asked(request).match(/\d+/g)?.map(Number) ?? [];
  const [result] = results(request);
  if (a > 50) return [say('100')];
  return [result === undefined ? call('add', { a, b }) : say(result.replace(/\D/g, ''))];
});

const dataDir = process.env['HOLDFAST_DATA_DIR'] ?? '.holdfast';
const engine = await createEngine({
  agents: [
    defineAgent({
      agent: new Agent({
        name: 'adder',
        model: 'scripted/adder',
        instructions: 'Add with the tool. Answer with the number alone.',
        tools: [add],
      }),
      grants: ['tool:call:add'],
    }),
  ],
  providers: { scripted: model },
  databaseUrl: null,
  dataDir,
});

for (const [a, b] of [
  [1, 2],
  [30, 12],
  [51, 3],
] as const) {
  const { id } = await engine.startRun({ agent: 'adder', input: `What is ${a} plus ${b}?` }, LOCAL_CALLER);
  const { output } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
  const reward = output === String(a + b) ? 1 : 0;
  await engine.rewardRun(id, { reward }, LOCAL_CALLER);
  console.log(`${a} + ${b} = ${output}: reward ${reward}`);
}

// Runs that earned it, as lines that OpenAI's fine-tuning takes.
const { id } = await engine.startExport(
  { format: 'openai', filters: { minReward: 1 }, to: { folder: 'adder' } },
  LOCAL_CALLER,
);
for (;;) {
  const { status, error } = await engine.getExport(id, LOCAL_CALLER);
  if (status === 'completed') break;
  if (status === 'failed' || status === 'cancelled') throw new Error(error?.message ?? status);
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const data = join(dataDir, 'exports', 'default', 'adder', 'data', 'train-00000-of-00001.jsonl');
for (const line of readFileSync(data, 'utf8').trim().split('\n')) console.log(`${line.slice(0, 100)}…`);
await engine.stop();
