import { appendFileSync } from 'node:fs';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, LOCAL_CALLER } from '../../src/index.js';
import { call, scripted } from '../harness/script.js';

/**
 * A process with a workflow of its own beside an engine: it registers it, then makes the engine, which launches DBOS for both. The
 * first life stands still in the middle of both; a later one ends them.
 */
const { LIFE, LEDGER, RUN_KEY = 'the run', DATABASE_URL, HOLDFAST_DATA_DIR = '' } = process.env;
const note = (line: string): void => appendFileSync(LEDGER ?? '', `${line}\n`);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function rest(who: string): Promise<string> {
  note(`${who} begins in life ${LIFE}`);
  say(`${who} stands`);
  if (LIFE === '1') await new Promise(() => {});
  return `${who} ended in life ${LIFE}`;
}
const step = defineTool({
  ...{
    name: 'step',
    description: 'Stands still in the first life.',
    effect: 'pure',
    input: z.object({}),
    output: z.string(),
  },
  execute: () => rest('the run'),
});
const agent = defineAgent({
  agent: new Agent({ name: 'own', model: scripted([[call('step', {})]]), tools: [step] }),
  grants: ['tool:call:*'],
});

const ownWorkflow = DBOS.registerWorkflow(
  async (): Promise<string> => {
    await DBOS.runStep(async () => note('the first step of the workflow'), { name: 'first' });
    return DBOS.runStep(() => rest('the workflow'), { name: 'second' });
  },
  { name: 'own.workflow' },
);
const engine = await createEngine({
  agents: [agent],
  databaseUrl: DATABASE_URL ?? null,
  dataDir: HOLDFAST_DATA_DIR,
  workerId: 'own',
});
const { id } = await engine.startRun({ agent: 'own', input: 'go' }, LOCAL_CALLER, RUN_KEY);
const handle = await DBOS.startWorkflow(ownWorkflow, { workflowID: 'own-workflow' })();
const run = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
say(JSON.stringify({ run: run.status, output: run.output, workflow: await handle.getResult() }));
await engine.stop();
say('stopped');
process.exit(0);
