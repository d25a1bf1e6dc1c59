import { Agent } from '@openai/agents';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type Caller, defineAgent, defineTool } from '../../../src/index.js';
import { functionModel } from '../../../src/library/models.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, pendingOf, restOf } from '../../harness/engine.js';
import { call, say } from '../../harness/script.js';

/** Patches that give an agent another version of a tool, or another scaffold, which the configuration offers. */

const OTTO: Caller = { actor: 'otto', role: 'operator', tenant: 'default' };

const isAsked = ({ dollars }: { dollars: number }) => dollars > 10;
const paying = {
  ...{ name: 'pay', description: 'Pays.', output: z.string(), effect: 'unsafe' as const, approval: isAsked },
  capabilities: ['money:pay:customers'],
};
const pay = defineTool({
  ...{ ...paying, input: z.object({ dollars: z.number() }), execute: ({ dollars }) => `paid ${dollars}` },
});
const payNoted = defineTool({
  ...{ ...paying, version: '2', input: z.object({ dollars: z.number(), note: z.string() }) },
  execute: ({ dollars, note }) => `paid ${dollars} for ${note}`,
});

/** Pays what it is asked to, with a note where its tool takes one, and repeats what its tool says. */
const model = functionModel('payer', async ({ input, tools }) => {
  const items = Array.isArray(input) ? input : [{ type: 'message', content: input }];
  const result = items.find((item) => item.type === 'function_call_result');
  if (result !== undefined) return [say(JSON.stringify(result))];
  const asked = JSON.stringify(items[0]);
  const takesNote = JSON.stringify(tools).includes('"note"');
  return [call('pay', { dollars: asked.includes('much') ? 50 : 5, ...(takesNote ? { note: 'books' } : {}) })];
});

const finish = (version: string) =>
  defineTool({
    ...{
      name: 'finish',
      version,
      description: 'Ends.',
      input: z.object({}),
      output: z.string(),
      effect: 'pure' as const,
    },
    execute: () => `as ${version}`,
  });
const scaffold = (version: string) => ({
  ...{ name: 'ending', version, tools: () => [finish(version)] },
  step: ({ outcome }: { readonly outcome: { readonly type: string; readonly output?: unknown } }) => ({
    ...{ actionTaken: 'finish', observation: `scaffold ${version}: ${JSON.stringify(outcome)}` },
    ...{ reward: null, done: true, info: {} },
  }),
});
const ending = functionModel('ender', async () => [call('finish', {})]);

describeEachDatabase('a patch with what is offered', (kind) => {
  const grants = ['money:pay:customers'];
  const test = engineFor(kind, {
    agents: [
      defineAgent({ agent: new Agent({ name: 'payer', model, tools: [pay] }), grants }),
      defineAgent({
        agent: new Agent({ name: 'ender', model: ending }),
        ...{ grants: ['tool:call:finish'], scaffold: scaffold('1') },
      }),
    ],
    evolution: { agents: ['payer', 'ender'], approvals: 1, tools: [payNoted], scaffolds: [scaffold('2')] },
  });

  const apply = async (agent: string, patch: object[]): Promise<string> => {
    const base = (await test.engine.getAgent(agent, ADMIN)).definitionHash;
    const input = JSON.stringify({ agent, base, patch, reason: 'It is newer.', cases: [], share: 100 });
    const { id } = await test.engine.startRun({ agent: 'evolve', input }, OTTO);
    const item = await vi.waitFor(
      async () => {
        const found = await pendingOf(test.engine, id, 'apply_patch');
        expect(found).toBeDefined();
        return found;
      },
      { timeout: 20_000, interval: 100 },
    );
    await test.engine.decide(item?.id ?? '', { verdict: 'approve', digest: item?.digest }, BOB);
    const run = await restOf(test.engine, id);
    expect(run.output).toEqual({ applied: true });
    return id;
  };
  const started = async (agent: string, input: string) => {
    const { id } = await test.engine.startRun({ agent, input }, OTTO);
    return restOf(test.engine, id);
  };

  it('gives new runs the newer tool; those that wait keep theirs, and each is judged by its own', async () => {
    const older = await started('payer', 'much');
    expect(older.status).toBe('paused');
    await apply('payer', [{ op: 'replace', path: '/tools/0/version', value: '2' }]);
    expect((await started('payer', 'little')).output).toContain('paid 5 for books');
    const newer = await started('payer', 'much');
    expect(newer.status).toBe('paused');
    await test.restart();
    const items = await Promise.all([older, newer].map(({ id }) => pendingOf(test.engine, id, 'pay')));
    for (const [index, item] of items.entries()) {
      const { id = '' } = item ?? {};
      const context = await test.engine.getInterruptionContext(id, BOB);
      expect(context.tool?.version).toBe(['1', '2'][index]);
      expect(context.notes.filter((note) => note.kind === 'changed_since_asked')).toEqual([]);
      const edited = { verdict: 'approve' as const, arguments: { dollars: 7 } };
      // The newer version wants a note.
      if (index === 1)
        await expect(test.engine.decide(id, edited, BOB)).rejects.toMatchObject({ code: 'invalid_request' });
      await test.engine.decide(id, index === 1 ? { verdict: 'approve' } : edited, BOB);
    }
    expect((await restOf(test.engine, older.id)).output).toContain('paid 7');
    expect((await restOf(test.engine, newer.id)).output).toContain('paid 50 for books');
    expect(await dataOf(test.engine, newer.id, 'run.created')).toMatchObject([{ agentVersion: newer.agentVersion }]);
    for (const { id } of [older, newer]) {
      expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
      expect((await test.engine.replayRun(id, {}, ADMIN)).result).toBe('same');
    }
  });

  it('gives new runs the other scaffold with its tools', async () => {
    expect((await started('ender', 'go')).output).toContain('scaffold 1');
    await apply('ender', [{ op: 'replace', path: '/scaffold/version', value: '2' }]);
    const run = await started('ender', 'go');
    expect(run.output).toContain('scaffold 2');
    expect(run.output).toContain('as 2');
    await test.restart();
    expect((await test.engine.replayRun(run.id, {}, ADMIN)).result).toBe('same');
    const { versions } = await test.engine.getEvolution('ender', ADMIN);
    expect(versions[0]?.report?.changes.toSorted()).toEqual(['scaffold', 'tools']);
  });
});
