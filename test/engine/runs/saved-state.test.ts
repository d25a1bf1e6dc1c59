import { Agent, Runner } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { consumeResult, defineTool, RunStateStore, runAgent } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  output: z.string(),
  approval: true,
  execute: () => 'paid',
});
const agent = new Agent({ name: 'small', model: scripted([[call('pay', {})]]), tools: [pay] });

describeEachDatabase('a state saved in the database', (kind) => {
  const t = engineFor(kind, { agents: [] });

  const store = () => new RunStateStore({ agent, backend: t.engine.runStateBackend('lunch', ADMIN) });

  it('is resumed by another process, and forgotten when it is cleared', async () => {
    const paused = await consumeResult(await runAgent(agent, 'go'));
    expect(paused.interruptions).toHaveLength(1);
    await store().save(paused.state);
    await t.restart();
    const state = await store().load();
    for (const item of state.getInterruptions()) state.approve(item);
    const done = await new Runner({ tracingDisabled: true }).run(agent, state);
    expect(done.finalOutput).toBe('call_pay=paid');
    await store().clear();
    await expect(store().load()).rejects.toMatchObject({ code: 'state_unknown' });
  });

  it('belongs to its tenant', async () => {
    const paused = await consumeResult(await runAgent(agent, 'go'));
    await store().save(paused.state);
    const elsewhere = t.engine.runStateBackend('lunch', { ...ADMIN, tenant: 'other' });
    expect(await elsewhere.read()).toBeNull();
  });
});
