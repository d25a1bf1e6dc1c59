import { Agent } from '@openai/agents';
import {
  askHumanTool,
  createEngine,
  defineAgent,
  defineConfig,
  type Engine,
  LOCAL_CALLER,
  waitForEventTool,
} from 'holdfast';
import { call, results, say, scripted } from '../scripted-model.js';

const model = scripted((request) => {
  const told = results(request);
  if (told.length > 0) return [say(`The answers are: ${told.join(', ')}.`)];
  return [
    call('ask_human', { question: 'Which colour?', choices: ['red', 'blue'] }),
    call('wait_for_event', { name: 'paint.delivered' }),
  ];
});

const config = defineConfig({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'painter', model: 'scripted/painter', tools: [askHumanTool(), waitForEventTool()] }),
      grants: ['human:ask:question', 'event:wait:paint.delivered'],
    }),
  ],
  providers: { scripted: model },
});

const start = () =>
  createEngine({ ...config, databaseUrl: null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '.holdfast' });

async function pendingOf(engine: Engine, runId: string) {
  const { items } = await engine.listInterruptions({ status: 'pending', runId, limit: 10 }, LOCAL_CALLER);
  return items;
}

const before = await start();
const { id } = await before.startRun({ agent: 'painter', input: 'Paint the fence.' }, LOCAL_CALLER);
const paused = await before.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
console.log(paused.status, (await pendingOf(before, id)).map(({ kind }) => kind).toSorted());
await before.stop();
// Nothing is in memory now. This may be another process, on another machine, a month later.

const after = await start();
const question = (await pendingOf(after, id)).find(({ kind }) => kind === 'question');
if (question === undefined) throw new Error('The question is not pending.');
await after.decide(question.id, { verdict: 'answer', value: 'blue' }, LOCAL_CALLER);
await after.emitEvent('paint.delivered', { payload: '5 litres' }, LOCAL_CALLER);
const done = await after.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
console.log(done.status, done.output);
await after.stop();
