import { Agent } from '@openai/agents';
import { defineAgent, defineConfig, defineTool } from 'holdfast';
import { z } from 'zod';
import { asked, call, results, say, scripted } from '../scripted-model.js';

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order. A refund cannot be taken back.',
  input: z.object({ order: z.string(), cents: z.int().positive() }),
  output: z.object({ receipt: z.string() }),
  // A second call would refund a second time, so the engine never repeats a call on its own.
  effect: 'unsafe',
  capabilities: ['payments:refund:EUR'],
  approval: ({ order, cents }) => cents > 5000 && `Refund ${cents / 100} EUR for order ${order}?`,
  execute: ({ order }) => ({ receipt: `receipt-${order}` }),
});

const model = scripted((request) => {
  const [result] = results(request);
  if (result !== undefined) return [say(`Done: ${result}`)];
  const [, order = '0', euros = '0'] = /order (\d+).*?(\d+) EUR/.exec(asked(request)) ?? [];
  return [call('refund', { order, cents: Number(euros) * 100 })];
});

export default defineConfig({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'cashier', model: 'scripted/cashier', tools: [refund] }),
      grants: ['payments:refund:EUR'],
    }),
  ],
  providers: { scripted: model },
});
