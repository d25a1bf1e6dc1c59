import { Agent } from '@openai/agents';
import {
  createEngine,
  defineAgent,
  defineConfig,
  defineTool,
  functionModel,
  LOCAL_CALLER,
  planProposals,
} from 'holdfast';
import { z } from 'zod';
import { call, results, say } from '../scripted-model.js';

/** What the world has seen. */
const happened: string[] = [];
const text = z.object({ text: z.string() });

const search = defineTool({
  ...{ name: 'search', description: 'Finds papers on a topic.', effect: 'pure' },
  ...{ input: z.object({ topic: z.string() }), output: z.array(z.string()) },
  execute: ({ topic }) => [`${topic}: a survey`, `${topic}: measured`],
});
const order = defineTool({
  ...{ name: 'order_paper', description: 'Orders a paper.', approval: true },
  ...{ input: z.object({ title: z.string() }), output: z.object({ order: z.string() }) },
  execute: ({ title }) => {
    happened.push(`ordered ${title}`);
    return { order: title };
  },
});
const cancel = defineTool({
  ...{ name: 'cancel_order', description: 'Cancels an order.', approval: true },
  ...{ input: z.object({ order: z.string() }), output: z.null() },
  execute: ({ order: title }) => {
    happened.push(`cancelled ${title}`);
    return null;
  },
});
const publish = defineTool({
  ...{ name: 'publish', description: 'Publishes the report.', approval: true },
  ...{ input: text, output: text },
  execute: () => {
    throw new Error('the site is closed');
  },
});

const proposals = planProposals({
  name: 'research',
  tools: [search, order, cancel, publish],
  grants: ['tool:call:*'],
});

/** What the model proposes. A person approves it once: its calls are these, with these arguments. */
const paper = (title: string) => ({
  type: 'tool',
  tool: 'order_paper',
  after: ['found'],
  arguments: { title },
  undo: { tool: 'cancel_order', arguments: { order: title } },
});
const plan = {
  nodes: {
    found: { type: 'tool', tool: 'search', arguments: { topic: 'durable agents' } },
    survey: paper('durable agents: a survey'),
    measured: { ...paper('durable agents: measured'), after: ['survey'] },
    report: { type: 'tool', tool: 'publish', after: ['measured'], arguments: { text: 'What we found.' } },
  },
};

const passed = (name: string) => ({ capability: `tool:call:${name}`, effect: 'allow' as const, delegate: true });
const researcher = defineAgent({
  agent: new Agent({
    name: 'researcher',
    tools: [proposals.tool],
    model: functionModel('researcher', (request) =>
      results(request).length === 0
        ? [call('propose_plan', { plan: JSON.stringify(plan) })]
        : [say('The report is not out, and the orders are cancelled.')],
    ),
  }),
  grants: ['tool:call:propose_plan', ...['search', 'order_paper', 'cancel_order', 'publish'].map(passed)],
});

const engine = await createEngine({
  ...defineConfig({ agents: [proposals.runner, researcher] }),
  ...{ databaseUrl: null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '.holdfast' },
});
const { id } = await engine.startRun({ agent: 'researcher', input: 'Durable agents' }, LOCAL_CALLER);

// A person reads the plan, and approves the whole of it. Nothing else is asked for.
const { interruptions } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
const [asked = ''] = interruptions;
const { tool } = await engine.getInterruption(asked, LOCAL_CALLER);
console.log(`approved: ${tool}`);
await engine.decide(asked, { verdict: 'approve' }, { ...LOCAL_CALLER, actor: 'rita' });

async function ended() {
  for (;;) {
    const run = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
    if (run.completedAt !== null) return run;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
const { status, output } = await ended();
console.log(happened.join('\n'));
console.log(`${status}: ${output}`);
console.log(`verified: ${(await engine.verifyRun(id, LOCAL_CALLER)).ok}`);
await engine.stop();
