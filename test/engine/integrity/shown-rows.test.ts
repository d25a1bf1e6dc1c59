import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, BOB, openTestEngine, runToRest, type TestEngine } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';
import { decideAll, config as everyKind } from './every-kind.js';

/** Who reads a run or the inbox sees where rows are not what the log says, and no one decides on such rows. */

const paid: number[] = [];
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', effect: 'unsafe', approval: true, approvals: 2, separateRequester: false },
  input: z.object({ n: z.number() }),
  output: z.string(),
  execute: ({ n }) => {
    paid.push(n);
    return 'paid';
  },
});
const payer = defineAgent({
  agent: new Agent({ name: 'payer', model: scripted([[call('pay', { n: 1 }, 'c1')], [say('done')]]), tools: [pay] }),
  grants: ['tool:call:pay'],
});
const KINDS = ['approvals', 'edits', 'several', 'standing', 'unknown', 'questions', 'children'];

type Change = readonly [where: string, change: (knex: Knex, id: string) => Promise<unknown>];
const ofRun =
  (change: Record<string, unknown>) =>
  (knex: Knex, id: string): Promise<unknown> =>
    knex('holdfast.runs').where({ id }).update(change);
const ofRows =
  (table: string, change: Record<string, unknown>) =>
  (knex: Knex, id: string): Promise<unknown> =>
    knex(`holdfast.${table}`).where({ run_id: id }).update(change);

const OF_RUNS: readonly Change[] = [
  ['runs.input', ofRun({ input: '"Pay everything."' })],
  ['runs.agent', ofRun({ agent: 'reader' })],
  ['runs.metadata', ofRun({ metadata: '{"by":"the board"}' })],
  ['runs.limits', ofRun({ limits: '{"maxTurns":9,"maxTotalTokens":null,"maxDurationMs":null}' })],
  ['runs.status', ofRun({ status: 'failed' })],
  ['runs.output', ofRun({ output: '"all is paid"' })],
  ['runs.error', ofRun({ error: '{"code":"run_failed","message":"no","hint":"no"}' })],
  ['runs.completed_at', ofRun({ completed_at: new Date('2020-01-01T00:00:00Z') })],
  ['runs.created_at', ofRun({ created_at: new Date('2020-01-01T00:00:00Z') })],
  ['runs.total_tokens', ofRun({ total_tokens: 900_000 })],
  ['runs.input_tokens', ofRun({ child_input_tokens: 900_000 })],
  ['runs.turns', ofRun({ turns: 9 })],
  ['runs.segment', ofRun({ segment: 9 })],
  ['runs.cost_nano_usd', ofRun({ cost_nano_usd: '5000' })],
  ['run_keys', (knex, id) => knex('holdfast.run_keys').where({ run_id: id }).delete()],
  ['run_heads', (knex, id) => knex('holdfast.run_heads').where({ run_id: id }).update({ state: '{}' })],
  ['events', (knex, id) => knex('holdfast.events').where({ run_id: id, seq: 1 }).update({ data: '{"agent":"payer"}' })],
];

const OF_PAUSED: readonly Change[] = [
  ['runs.turns', ofRun({ turns: 0 })],
  ['runs.segment', ofRun({ segment: 7 })],
  ['runs.total_tokens', ofRun({ total_tokens: 7 })],
  ['runs.grants', ofRun({ grants: '[{"capability":"**","effect":"allow"}]' })],
  ['runs.agent', ofRun({ agent: 'reader' })],
  ['interruptions.arguments', ofRows('interruptions', { arguments: '{"n":1000}' })],
  ['interruptions.tool', ofRows('interruptions', { tool: 'look' })],
  ['interruptions.reason_text', ofRows('interruptions', { reason_text: 'All is well.' })],
  ['interruptions.capabilities', ofRows('interruptions', { capabilities: '["tool:call:look"]' })],
  ['interruptions.required_approvals', ofRows('interruptions', { required_approvals: 1 })],
  ['interruptions.separate_requester', ofRows('interruptions', { separate_requester: true })],
  ['interruptions.digest', ofRows('interruptions', { digest: 'sha256:0' })],
  ['interruptions.requested_at', ofRows('interruptions', { requested_at: new Date('2020-01-01T00:00:00Z') })],
  ['decisions.actor', ofRows('decisions', { actor: 'eve' })],
  ['decisions.message', ofRows('decisions', { message: 'I have looked.' })],
  ['decisions', (knex, id) => knex('holdfast.decisions').where({ run_id: id }).delete()],
];

/** What no one is shown who decides. */
const COUNTS: ReadonlySet<string> = new Set(['runs.turns', 'runs.segment', 'runs.total_tokens']);

const named = (integrity: readonly { readonly table: string; readonly column: string | null }[]): string[] =>
  integrity.map(({ table, column }) => (column === null ? table : `${table}.${column}`));

describeBothDatabasesSlowly('what is shown of a run', (kind) => {
  let t: TestEngine;
  beforeAll(async () => {
    paid.length = 0;
    t = await openTestEngine(kind, { ...everyKind, agents: [...everyKind.agents, payer] });
  });
  afterAll(() => t.close());

  const expectAllFine = async () => {
    const runs = (await t.engine.listRuns({ limit: 200 }, ADMIN)).items;
    expect(runs.filter(({ integrity }) => integrity.length > 0)).toEqual([]);
    for (const { id } of runs) expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ integrity: [] });
    const asked = (await t.engine.listInterruptions({ limit: 200 }, ADMIN)).items;
    expect(asked.filter(({ integrity }) => integrity.length > 0)).toEqual([]);
    return runs;
  };

  it('agrees with the log whenever it is read, of runs of every kind', { timeout: 120_000 }, async () => {
    for (const agent of KINDS) await t.engine.startRun({ agent, input: 'go' }, ADMIN);
    for (;;) {
      const runs = await expectAllFine();
      if (runs.every(({ completedAt }) => completedAt !== null)) break;
      await decideAll(t.engine);
    }
    const [over] = (await t.engine.listRuns({ limit: 200, agent: 'standing' }, ADMIN)).items;
    const fork = await t.engine.forkRun(over?.id ?? '', { at: 12 }, ADMIN);
    await t.engine.getRun(fork.id, ADMIN, { waitMs: 20_000 });
    const cancelled = await runToRest(t.engine, 'payer');
    await t.engine.cancelRun(cancelled.id, 'No more.', ADMIN);
    // Lists leave out what is long.
    await runToRest(t.engine, 'payer', 'long '.repeat(5000));
    await expectAllFine();
  });

  it('names each column of a run that is over and is not what its log says', { timeout: 60_000 }, async () => {
    const runs: string[] = [];
    for (const _ of OF_RUNS) {
      const { id, interruptions } = await runToRest(t.engine, 'payer');
      await t.engine.decide(interruptions[0] ?? '', { verdict: 'reject', message: 'No.' }, BOB);
      runs.push(id);
    }
    for (const id of runs) await t.engine.getRun(id, ADMIN, { waitMs: 20_000 });
    await t.between(async (knex) => {
      for (const [index, [, change]] of OF_RUNS.entries()) await change(knex, runs[index] ?? '');
    });
    const listed = (await t.engine.listRuns({ limit: 200 }, ADMIN)).items;
    const trajectories = (await t.engine.listTrajectories({ limit: 200 }, ADMIN)).items;
    for (const [index, [where]] of OF_RUNS.entries()) {
      const id = runs[index];
      const { integrity } = await t.engine.getRun(id ?? '', ADMIN);
      expect(named(integrity), where).toContain(where);
      expect(
        integrity.every(({ row }) => row === id),
        where,
      ).toBe(true);
      expect(listed.find((run) => run.id === id)?.integrity, where).toEqual(integrity);
      expect(trajectories.find(({ runId }) => runId === id)?.integrity, where).toEqual(integrity);
      // Without its key there is nothing to read.
      if (where !== 'run_keys')
        expect((await t.engine.getTrajectory(id ?? '', ADMIN)).integrity, where).toEqual(integrity);
    }
  });

  it('is not decided where it is not what the log says, and the inbox names it', { timeout: 60_000 }, async () => {
    const paused: { readonly id: string; readonly interruption: string }[] = [];
    for (const _ of [...OF_PAUSED, null]) {
      const { id, interruptions } = await runToRest(t.engine, 'payer');
      paused.push({ id, interruption: interruptions[0] ?? '' });
    }
    for (const { interruption } of paused)
      await t.engine.decide(interruption, { verdict: 'approve' }, { ...BOB, actor: 'carol' });
    await t.between(async (knex) => {
      for (const [index, [, change]] of OF_PAUSED.entries()) await change(knex, paused[index]?.id ?? '');
    });
    const inbox = (await t.engine.listInterruptions({ status: 'pending', limit: 200 }, BOB)).items;
    for (const [index, [where]] of OF_PAUSED.entries()) {
      const id = paused[index]?.interruption ?? '';
      const run = paused[index]?.id ?? '';
      if (COUNTS.has(where)) {
        expect(named((await t.engine.getRun(run, ADMIN)).integrity), where).toContain(where);
        continue;
      }
      const { integrity } = await t.engine.getInterruption(id, BOB);
      expect(named(integrity), where).toContain(where);
      expect(inbox.find((one) => one.id === id)?.integrity, where).toEqual(integrity);
      for (const verdict of ['approve', 'reject'] as const)
        await expect(t.engine.decide(id, { verdict }, BOB), where).rejects.toMatchObject({ code: 'row_changed' });
    }
    const untouched = paused.at(-1);
    expect(inbox.find((one) => one.id === untouched?.interruption)).toMatchObject({ integrity: [] });
    await t.engine.decide(untouched?.interruption ?? '', { verdict: 'approve' }, BOB);
    await t.engine.getRun(untouched?.id ?? '', ADMIN, { waitMs: 20_000 });
    expect(paid).toEqual([1]);
  });

  it('a list compares what is long, too, and a row that cannot be read breaks no page', {
    timeout: 120_000,
  }, async () => {
    const long = 'long '.repeat(5000);
    const changes: readonly Change[] = [
      ['runs.input', ofRun({ input: JSON.stringify(`${long}!`) })],
      ['runs.input', ofRun({ input: '{not JSON' })],
      ['runs.grants', ofRun({ grants: '{not JSON' })],
      ['runs.limits', ofRun({ limits: '{"maxTurns":"many"}' })],
      ['runs.metadata', ofRun({ metadata: '[]' })],
      ['runs.created_at', ofRun({ created_at: 'infinity' })],
      ['interruptions.arguments', ofRows('interruptions', { arguments: '{not JSON' })],
      ['interruptions.capabilities', ofRows('interruptions', { capabilities: '{}' })],
      ['interruptions.verdicts', ofRows('interruptions', { verdicts: 'null' })],
      ['interruptions.wait', ofRows('interruptions', { wait: '{}' })],
      ['interruptions.requested_at', ofRows('interruptions', { requested_at: 'infinity' })],
      ['interruptions.expires_at', ofRows('interruptions', { expires_at: 'infinity' })],
      ['decisions.value', ofRows('decisions', { value: '{not JSON' })],
      ['decisions.decided_at', ofRows('decisions', { decided_at: '-infinity' })],
      [
        'events',
        (knex, id) =>
          knex('holdfast.events')
            .where({ run_id: id, seq: 1 })
            .update({ data: `"${long}"` }),
      ],
      ['events', (knex, id) => knex('holdfast.events').where({ run_id: id, seq: 1 }).update({ data: long })],
    ];
    const paused: { readonly id: string; readonly interruption: string }[] = [];
    for (const _ of [...changes, null]) {
      const { id, interruptions } = await runToRest(t.engine, 'payer', long);
      paused.push({ id, interruption: interruptions[0] ?? '' });
    }
    for (const { interruption } of paused)
      await t.engine.decide(interruption, { verdict: 'approve' }, { ...BOB, actor: 'carol' });
    await t.between(async (knex) => {
      for (const [index, [, change]] of changes.entries()) await change(knex, paused[index]?.id ?? '');
    });
    const runs = (await t.engine.listRuns({ limit: 200 }, ADMIN)).items;
    const inbox = (await t.engine.listInterruptions({ status: 'pending', limit: 200 }, BOB)).items;
    for (const [index, [where]] of changes.entries()) {
      const { id, interruption } = paused[index] ?? { id: '', interruption: '' };
      const ofAsked = inbox.find((one) => one.id === interruption)?.integrity ?? [];
      const ofRun = runs.find((one) => one.id === id)?.integrity ?? [];
      const isAsked = /^(interruptions|decisions)/.test(where);
      expect(named(isAsked ? ofAsked : ofRun), `${index} ${where}`).toContain(where);
      // When a run was made does not concern who decides.
      if (where !== 'runs.created_at') expect(named(ofAsked), `${index} ${where}`).toContain(where);
      expect((await t.engine.getInterruption(interruption, BOB)).integrity, `${index} ${where}`).toEqual(ofAsked);
      expect((await t.engine.getRun(id, ADMIN)).integrity, `${index} ${where}`).toEqual(ofRun);
    }
    const { id, interruption } = paused.at(-1) ?? { id: '', interruption: '' };
    expect(runs.find((one) => one.id === id)).toMatchObject({ integrity: [] });
    expect(inbox.find((one) => one.id === interruption)).toMatchObject({ integrity: [] });
  });

  it('a run that waits by its rows, and not by its log, is named', async () => {
    const { id, interruptions } = await runToRest(t.engine, 'payer');
    await t.between((knex) => knex('holdfast.interruptions').where({ run_id: id }).update({ status: 'approved' }));
    const { integrity } = await t.engine.getRun(id, ADMIN);
    expect(integrity).toMatchObject([{ table: 'interruptions', row: interruptions[0], column: 'status' }]);
  });
});
