import { Agent } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, waitFor } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** An approval is checked against the tool as it is now, before it is taken. */

let did: string[] = [];
const old = z.object({ n: z.number() });
const changed = z.object({ n: z.string().regex(/^a/) });

const pay = (input: z.ZodType<{ n: unknown }> = old, more: object = {}) =>
  defineTool<{ n: unknown }, string>({
    ...{ name: 'pay', description: 'Pays.', input, output: z.string(), approval: true, ...more },
    execute: ({ n }) => {
      did.push(`pay ${n}`);
      return `paid ${n}`;
    },
  });
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input: old, output: z.string() },
  execute: () => waitFor({ kind: 'question', text: 'What is there?' }),
});

const configOf = (tools: Agent['tools'] = [pay(), look]) => ({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'clerk', model: scripted([[call('pay', { n: 1 }, 'a')]]), tools }),
      grants: ['tool:call:*', { capability: 'bank:pay:*', effect: 'deny' }],
    }),
    defineAgent({
      agent: new Agent({ name: 'looker', model: scripted([[call('look', { n: 1 }, 'a')]]), tools: [look] }),
      grants: ['tool:call:*'],
    }),
  ],
});

describeBothDatabasesSlowly('an approval after a deploy', (kind) => {
  const t = engineFor(kind, configOf());
  beforeEach(async () => {
    did = [];
    await t.restart(configOf());
  });

  const paused = async () => {
    const run = await runToRest(t.engine, 'clerk');
    const id = run.interruptions[0] ?? '';
    expect(await t.engine.getInterruption(id, BOB)).toMatchObject({ status: 'pending', unfit: null });
    return { run, id };
  };

  it('is refused where the arguments no longer fit, with what does not, until it is given others', async () => {
    const { run, id } = await paused();
    await t.restart(configOf([pay(changed), look]));
    const unfit = expect.stringContaining('its arguments no longer fit');
    expect(await t.engine.getInterruption(id, BOB)).toMatchObject({ unfit });
    const { items } = await t.engine.listInterruptions({ runId: run.id, limit: 5 }, BOB);
    expect(items).toMatchObject([{ id, unfit }]);
    await expect(t.engine.decide(id, { verdict: 'approve' }, BOB)).rejects.toMatchObject({
      ...{ code: 'call_unfit', fields: [{ pointer: '/arguments', detail: expect.stringContaining('n') }] },
      hint: expect.stringContaining('Approve it with `arguments`'),
    });
    expect(await t.engine.getInterruption(id, BOB)).toMatchObject({ status: 'pending', decisions: [] });
    expect(await kindsOf(t.engine, run.id)).not.toContain('interruption.decided');
    const wrong = { verdict: 'approve', arguments: { n: 'b' } } as const;
    await expect(t.engine.decide(id, wrong, BOB)).rejects.toMatchObject({ code: 'invalid_request' });
    await t.engine.decide(id, { verdict: 'approve', arguments: { n: 'a1' } }, BOB);
    expect(await restOf(t.engine, run.id)).toMatchObject({ status: 'completed', output: 'a=paid a1' });
    expect(did).toEqual(['pay a1']);
    expect(await t.engine.getInterruption(id, BOB)).toMatchObject({ status: 'approved', unfit: null });
  });

  it('is refused where the call needs what the run is denied, and where its tool is gone', async () => {
    const { run, id } = await paused();
    await t.restart(configOf([pay(old, { capabilities: ['bank:pay:alice'] }), look]));
    await expect(t.engine.decide(id, { verdict: 'approve' }, BOB)).rejects.toMatchObject({
      ...{ code: 'call_unfit', message: expect.stringContaining('bank:pay:alice') },
    });
    await t.restart(configOf([look]));
    await expect(t.engine.decide(id, { verdict: 'approve' }, BOB)).rejects.toMatchObject({
      ...{ code: 'call_unfit', message: expect.stringContaining('the tool pay is gone') },
      fields: [{ pointer: '/tool' }],
    });
    await t.restart(configOf());
    await t.engine.decide(id, { verdict: 'approve' }, BOB);
    expect(await restOf(t.engine, run.id)).toMatchObject({ status: 'completed', output: 'a=paid 1' });
    expect(did).toEqual(['pay 1']);
  });

  it('is taken where its tool is as it was, and a question is no approval', async () => {
    const { run, id } = await paused();
    await t.restart(configOf([pay(old, { description: 'Pays at once.' }), look]));
    await t.engine.decide(id, { verdict: 'approve' }, BOB);
    expect(await restOf(t.engine, run.id)).toMatchObject({ status: 'completed', output: 'a=paid 1' });
    const asked = await runToRest(t.engine, 'looker');
    const { items } = await t.engine.listInterruptions({ runId: asked.id, limit: 5 }, ADMIN);
    expect(items).toMatchObject([{ kind: 'question', unfit: null }]);
  });
});
