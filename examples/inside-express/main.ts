import { Agent } from '@openai/agents';
import express from 'express';
import { type Caller, createEngine, defineAgent, defineTool, HoldfastError } from 'holdfast';
import { z } from 'zod';
import { asked, call, results, say, scripted } from '../scripted-model.js';

const cancelOrder = defineTool({
  name: 'cancel_order',
  description: 'Cancels an order.',
  input: z.object({ order: z.string() }),
  output: z.object({ cancelled: z.string() }),
  effect: 'idempotent',
  capabilities: ['orders:cancel:shop'],
  approval: ({ order }) => `Cancel order ${order}?`,
  execute: ({ order }) => ({ cancelled: order }),
});

const model = scripted((request) => {
  const [result] = results(request);
  return [result === undefined ? call('cancel_order', { order: asked(request) }) : say(result)];
});

const engine = await createEngine({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'clerk', model: 'scripted/clerk', tools: [cancelOrder] }),
      grants: ['orders:cancel:shop'],
    }),
  ],
  providers: { scripted: model },
  databaseUrl: null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '.holdfast',
});

/** Who asks is for your server to know, from its own sessions. Here one customer and one colleague. */
const customer: Caller = { tenant: 'shop', actor: 'customer', role: 'operator' };
const colleague: Caller = { tenant: 'shop', actor: 'colleague', role: 'approver' };

const app = express().use(express.json());

app.post('/orders/:order/cancel', async ({ params }, response) => {
  // A customer who presses the button twice starts one run.
  const run = await engine.startRun({ agent: 'clerk', input: params.order }, customer, `cancel-${params.order}`);
  const { id, status, interruptions } = await engine.getRun(run.id, customer, { waitMs: 10_000 });
  response.json({ id, status, interruptions });
});

app.post('/interruptions/:id/approve', async ({ params }, response) => {
  const { runId } = await engine.decide(params.id, { verdict: 'approve' }, colleague);
  const { status, output } = await engine.getRun(runId, colleague, { waitMs: 10_000 });
  response.json({ status, output });
});

app.use((error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
  if (!(error instanceof HoldfastError)) throw error;
  response.status(error.status).json({ code: error.code, message: error.message });
});

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  console.log(`The shop listens on port ${typeof address === 'object' ? address?.port : address}.`);
});

process.once('SIGTERM', async () => {
  server.close();
  await engine.stop();
});
