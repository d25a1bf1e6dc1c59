import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool, waitFor } from '../../src/index.js';
import { call } from '../harness/script.js';
import { REVIEWER } from './careful-person.js';
import { effectTool } from './effect-tool.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';
import { happened, leave } from './world.js';

/** An agent whose calls wait inside: one unsafe in stages, one for an event, one beside them that does not wait. */
const input = z.object({ n: z.number() });

/** Reserves, asks whether it may, waits a moment, and pays: three stages of which none may happen twice. */
const transfer = defineTool({
  ...{ name: 'transfer', description: 'Transfers in stages.', input, output: z.string() },
  execute: ({ n }, { callId }) => {
    leave('reserve', callId);
    return waitFor({ kind: 'question', text: `May ${n} be paid?`, choices: ['yes', 'no'], memo: { n } });
  },
  resume: (_input, settlement, { callId }) => {
    if (settlement.type === 'answered') {
      leave('confirm', callId);
      return waitFor({ kind: 'timer', afterMs: 400, memo: settlement.memo });
    }
    leave('pay', callId);
    return `paid ${JSON.stringify(settlement.memo)}`;
  },
});
const STAGES = ['reserve', 'confirm', 'pay'];

const receipt = defineTool({
  ...{ name: 'receipt', description: 'Waits for the receipt.', input, output: z.json(), effect: 'pure' },
  execute: ({ n }) => waitFor({ kind: 'event', name: 'receipt', key: String(n) }),
});

const model = placedModel('model', [[call('transfer', { n: 1 }), call('receipt', { n: 2 }), call('book', { n: 3 })]]);

const matched = 'update "holdfast"."emitted_events"';

export const waits: Scenario = {
  agent: 'waiter',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({ name: 'waiter', model, tools: [transfer, receipt, effectTool('book', 'unsafe')] }),
        grants: ['tool:call:*'],
      }),
    ],
  },
  prepare: (engine) => engine.emitEvent('receipt', { key: '2', payload: 'receipt 2', eventId: 'receipt-2' }, REVIEWER),
  /** A stage in doubt that happened is not run again: the person ends the transfer by hand. */
  decide: async (engine, { id, kind, tool, callId, reason, runId }) => {
    if (kind === 'question') await engine.decide(id, { verdict: 'answer', value: 'yes' }, REVIEWER);
    if (tool !== 'transfer' || reason.code !== 'unknown_effect') return kind === 'question';
    const { items } = await engine.listInterruptions({ runId, tool, status: 'answered', limit: 50 }, REVIEWER);
    const stage = STAGES[items.filter(({ wait }) => wait !== null).length] ?? '';
    const seen = happened({ tool: stage, callId });
    await engine.decide(id, seen ? { verdict: 'answer', value: 'paid {"n":1}' } : { verdict: 'approve' }, REVIEWER);
    return true;
  },
  places: ['model:0', ...[...STAGES, 'book'].flatMap((stage) => [`${stage}:before`, `${stage}:after`]), 'model:1'],
  around: [
    { when: 'sent', text: matched },
    { when: 'sent', text: matched, commit: true },
    { when: 'after', text: 'insert into "holdfast"."interruptions"' },
    { when: 'sent', text: 'insert into "holdfast"."timers"', commit: true },
  ],
  exactly: { book: 1 },
  atMostOnce: STAGES,
  statements: 155,
};
