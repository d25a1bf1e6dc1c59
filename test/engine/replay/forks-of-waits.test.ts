import { Agent } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, waitFor } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** A fork of a run whose calls wait, or are at work this moment. */

let did: string[] = [];
const input = z.object({ n: z.number() });

const shape = { description: 'Asks for a colour.', input, output: z.string() };
const asking =
  (name: string) =>
  ({ n }: { n: number }) => {
    did.push(`${name} ${n}`);
    return waitFor({ kind: 'question', text: 'Which?', memo: n });
  };
const plain = defineTool({ ...shape, name: 'plain', execute: asking('plain') });
const resuming = (name: string, effect: 'unsafe' | 'pure') =>
  defineTool({
    ...{ ...shape, name, effect, execute: asking(name) },
    resume: (_input, settlement) => {
      const { memo, value } = z.object({ memo: z.number(), value: z.string() }).parse(settlement);
      did.push(`${name} ${memo} ${value}`);
      return `${memo} ${value}`;
    },
  });

/** Asks twice; what it was told goes with its waits. */
const twice = defineTool({
  ...{ name: 'twice', description: 'Asks twice.', input, output: z.string() },
  execute: ({ n }) => {
    did.push(`twice ${n}`);
    return waitFor({ kind: 'question', text: 'First?', memo: [] });
  },
  resume: (_input, settlement) => {
    const { memo, value } = z.object({ memo: z.array(z.string()), value: z.string() }).parse(settlement);
    did.push(`twice ${value}`);
    const told = [...memo, value];
    return told.length === 2 ? told.join('+') : waitFor({ kind: 'question', text: 'Second?', memo: told });
  },
});

const nap = defineTool({
  ...{ name: 'nap', description: 'Waits a moment.', input, output: z.string() },
  execute: ({ n }) => {
    did.push(`nap ${n}`);
    return waitFor({ kind: 'timer', afterMs: 20, memo: n });
  },
  resume: (_input, { type, memo }) => {
    did.push(`nap ${type}`);
    return `${type} ${JSON.stringify(memo)}`;
  },
});

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output: z.string(), effect: 'pure' },
  execute: ({ n }) => {
    did.push(`look ${n}`);
    return `look ${n}`;
  },
});

/** Works until it is let go. */
let letGo: () => void = () => undefined;
let begun: () => void = () => undefined;
const hold = defineTool({
  ...{ name: 'hold', description: 'Works.', input, output: z.string() },
  execute: async ({ n }) => {
    did.push(`hold ${n}`);
    await new Promise<void>((resolve) => {
      letGo = resolve;
      begun();
    });
    return `hold ${n}`;
  },
});

const tools = [...[plain, resuming('unsafe', 'unsafe'), resuming('pure', 'pure'), twice, nap, look, hold]];
const agent = (name: string, calls: ReturnType<typeof call>[]) =>
  defineAgent({ agent: new Agent({ name, model: scripted([calls]), tools }), grants: ['tool:call:*'] });

const config = {
  agents: [
    agent('plain', [call('plain', { n: 1 }, 'q')]),
    agent('unsafe', [call('unsafe', { n: 1 }, 'q')]),
    agent('pure', [call('pure', { n: 1 }, 'q')]),
    agent('twice', [call('twice', { n: 1 }, 'q')]),
    agent('nap', [call('nap', { n: 1 }, 'q')]),
    agent('both', [call('unsafe', { n: 1 }, 'q'), call('look', { n: 2 }, 'l')]),
    agent('busy', [call('hold', { n: 1 }, 'h')]),
  ],
};

describeEachDatabaseSlowly('forks of waits', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    did = [];
  });

  const rest = (id: string) => restOf(t.engine, id);
  const seqsOf = async (id: string, name: string) =>
    (await eventsOf(t.engine, id)).flatMap(({ kind: one, seq }) => (one === name ? [seq] : []));
  const fork = async (
    id: string,
    at: number,
    edits: { callId: string; outcome: { type: 'output'; output: string } }[],
  ) => rest((await t.engine.forkRun(id, { at, edits }, ADMIN)).id);
  const waitsOf = async (runId: string) =>
    (await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB)).items;
  const answer = async (runId: string, value: string) => {
    for (const { id } of await waitsOf(runId)) await t.engine.decide(id, { verdict: 'answer', value }, BOB);
    return rest(runId);
  };
  const verified = async (id: string) =>
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });

  for (const name of ['plain', 'unsafe', 'pure']) {
    it(`ask for themselves, whatever the source was told: ${name}`, async () => {
      const { id } = await runToRest(t.engine, name);
      const [paused = 0] = await seqsOf(id, 'run.paused');
      const waiting = await fork(id, paused, []);
      const source = await answer(id, 'red');
      expect(source.status).toBe('completed');
      const [began = 0] = await seqsOf(id, 'call.started');
      did = [];
      const later = [await fork(id, paused, []), await fork(id, began, [])];
      for (const run of [waiting, ...later]) {
        expect(await waitsOf(run.id)).toMatchObject([{ callId: 'q', wait: { kind: 'question', text: 'Which?' } }]);
        const told = await answer(run.id, 'blue');
        expect(told).toMatchObject({ status: 'completed', output: String(source.output).replace('red', 'blue') });
        await verified(run.id);
      }
      // The body that asked is not run again; what follows the answer is.
      expect(did).toEqual(name === 'plain' ? [] : Array(3).fill(`${name} 1 blue`));
      // The decision that the event covers counts, with what came of it.
      const [decided = 0] = await seqsOf(id, 'interruption.decided');
      expect(await fork(id, decided, [])).toMatchObject({ status: 'completed', output: source.output });
    });
  }

  it('keep the time of a timer, and end at once when it is past', async () => {
    const { id } = await runToRest(t.engine, 'nap');
    const source = await waitUntilOver(id);
    expect(source).toMatchObject({ status: 'completed', output: 'q=due 1' });
    const [paused = 0] = await seqsOf(id, 'run.paused');
    const run = await t.engine.forkRun(id, { at: paused }, ADMIN);
    expect(await waitUntilOver(run.id)).toMatchObject({ status: 'completed', output: source.output });
    expect(did).toEqual(['nap 1', 'nap due', 'nap due']);
    await verified(run.id);
  });

  it('wait for what the call waited for at the event; where its memo is gone, a person is asked', async () => {
    const { id } = await runToRest(t.engine, 'twice');
    await answer(id, 'one');
    const source = await answer(id, 'two');
    expect(source).toMatchObject({ status: 'completed', output: 'q=one+two' });
    const [first = 0, second = 0] = await seqsOf(id, 'run.paused');
    did = [];
    const late = await fork(id, second, []);
    expect(await waitsOf(late.id)).toMatchObject([{ wait: { text: 'Second?' } }]);
    expect(await answer(late.id, 'three')).toMatchObject({ status: 'completed', output: 'q=one+three' });
    expect(did).toEqual(['twice three']);
    const early = await fork(id, first, []);
    expect(await waitsOf(early.id)).toMatchObject([{ callId: 'q', reason: { code: 'unknown_effect' } }]);
    expect(await answer(early.id, 'by hand')).toMatchObject({ status: 'completed', output: 'q=by hand' });
    expect(did).toEqual(['twice three']);
    for (const run of [late, early]) await verified(run.id);
  });

  it('wait again beside a call whose outcome is edited', async () => {
    const { id } = await runToRest(t.engine, 'both');
    expect(await answer(id, 'red')).toMatchObject({ status: 'completed', output: 'q=1 red | l=look 2' });
    did = [];
    const edits = [{ callId: 'l', outcome: { type: 'output' as const, output: 'nothing' } }];
    const run = await fork(id, (await eventsOf(t.engine, id)).length, edits);
    expect(await waitsOf(run.id)).toMatchObject([{ callId: 'q' }]);
    expect(await answer(run.id, 'blue')).toMatchObject({ status: 'completed', output: 'q=1 blue | l=nothing' });
    expect(did).toEqual(['unsafe 1 blue']);
    await verified(run.id);
  });

  it('of a run that is at work take over what it has written; what is at work there is not begun again', async () => {
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const { id } = await t.engine.startRun({ agent: 'busy', input: 'go' }, ADMIN);
    await started;
    const at = (await eventsOf(t.engine, id)).length;
    expect((await eventsOf(t.engine, id)).at(-1)?.kind).toBe('call.started');
    const run = await fork(id, at, []);
    expect(await waitsOf(run.id)).toMatchObject([{ callId: 'h', reason: { code: 'unknown_effect' } }]);
    letGo();
    const source = await rest(id);
    expect(source).toMatchObject({ status: 'completed', output: 'h=hold 1' });
    // By now the source knows what came of it.
    expect(await fork(id, at, [])).toMatchObject({ status: 'completed', output: 'h=hold 1' });
    expect(await answer(run.id, 'by hand')).toMatchObject({ status: 'completed', output: 'h=by hand' });
    expect(did).toEqual(['hold 1']);
    for (const one of [id, run.id]) await verified(one);
  });

  async function waitUntilOver(id: string) {
    for (let tries = 0; tries < 200; tries++) {
      const run = await rest(id);
      if (run.status !== 'paused') return run;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${id} is still paused`);
  }
});
