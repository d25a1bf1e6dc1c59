import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { LogFields } from '../../../src/core/ops/log-record.js';
import { askHumanTool, createEngine, defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

/** Runs at work that make no progress. What stands still does so until its run is stopped. */

const never = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('stopped'))));
let hanging = 0;
const hang = defineTool({
  ...{ name: 'hang', description: 'Hangs.', effect: 'pure', input: z.object({}), output: z.string() },
  execute: (_input, { signal }) => {
    hanging++;
    return never(signal);
  },
});
const silent = functionModel('silent', ({ signal }) => never(signal));
const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'silent', model: silent }) }),
  defineAgent({
    agent: new Agent({ name: 'hangs', model: scripted([[call('hang', {}, 'h')], [say('done')]]), tools: [hang] }),
    grants: ['tool:call:hang'],
  }),
  defineAgent({
    agent: new Agent({
      name: 'asks',
      model: scripted([[call('ask_human', { question: 'On?' }, 'ask')]]),
      tools: [askHumanTool()],
    }),
    grants: ['human:ask:question'],
  }),
];
const task = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' as const, instruction: 'Add up.' },
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
};

describeBothDatabasesSlowly('runs without progress', (kind) => {
  /** What the log of the process says of runs that stall. */
  const logged: object[] = [];
  const ignored = (): void => {};
  const warn = (fields: LogFields): void => {
    if (fields.event === 'run_stalled') logged.push(fields);
  };
  const t = engineFor(kind, {
    log: { debug: ignored, info: ignored, warn, error: ignored },
    agents: AGENTS,
    stalls: { afterMs: 2000 },
    retries: { most: 1, firstMs: 1, longestMs: 1 },
  });
  const told = async (runId: string) =>
    (await t.engine.listSystemEvents({ after: 0, limit: 200, runId, kind: 'run.stalled' }, ADMIN)).items;

  const isTold = (runId: string, before = 0) =>
    expect.poll(async () => (await told(runId)).length).toBeGreaterThan(before);

  it('are told once, and go on', async () => {
    const paused = await t.engine.startRun({ agent: 'asks', input: 'go' }, ADMIN);
    expect((await restOf(t.engine, paused.id)).status).toBe('paused');
    const ofPaused = (await told(paused.id)).length;
    const hung = hanging;
    const { id } = await t.engine.startRun({ agent: 'hangs', input: 'go' }, ADMIN);
    await expect.poll(() => hanging).toBeGreaterThan(hung);
    const before = (await told(id)).length;
    await isTold(id, before);
    expect((await told(id))[0]).toMatchObject({ taskId: null, data: { ended: false } });
    const ofFirst = (await told(id)).length;
    // Another one that came later was told, and the first not again.
    const later = await t.engine.startRun({ agent: 'silent', input: 'go' }, ADMIN);
    await isTold(later.id);
    expect([(await told(id)).length, (await told(paused.id)).length]).toEqual([ofFirst, ofPaused]);
    expect((await t.engine.getRun(id, ADMIN)).status).toBe('running');
    const { text } = await t.engine.metrics(ADMIN);
    expect(Number(/^holdfast_runs_stalled_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(1);
    await t.engine.cancelRun(id, null, ADMIN);
    expect((await restOf(t.engine, id)).status).toBe('cancelled');
    await t.engine.cancelRun(later.id, null, ADMIN);
  });

  it('are ended where that is configured, whatever hangs, and tasks are tried again', async () => {
    await t.restart({ stalls: { afterMs: 1000, end: true } });
    const { id } = await t.engine.startRun({ agent: 'hangs', input: 'go' }, ADMIN);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'failed', error: { code: 'run_stalled' } });
    const submitted = await t.engine.submitTask({ task, agent: 'silent' }, ADMIN);
    const seen = () => t.engine.getTask(submitted.id, ADMIN);
    await expect.poll(async () => (await seen()).dead, { timeout: 30_000 }).toBe(true);
    const { tried = [], result } = await seen();
    expect([tried.map(({ error }) => error?.code), result]).toEqual([
      ['run_stalled', 'run_stalled'],
      expect.objectContaining({ type: 'error', code: 'run_stalled' }),
    ]);
    const { items } = await t.engine.listSystemEvents({ after: 0, limit: 200, taskId: submitted.id }, ADMIN);
    expect(items.filter(({ kind: what }) => what === 'run.stalled').map(({ data }) => data)).toMatchObject([
      { ended: true },
      { ended: true },
    ]);
    expect(logged).toEqual(expect.arrayContaining([expect.objectContaining({ taskId: submitted.id, ended: true })]));
  });
});

it('a time that is none is refused at the start', async () => {
  const config = { agents: AGENTS, stalls: { afterMs: 10 }, databaseUrl: null, dataDir: '/nowhere' };
  await expect(createEngine(config)).rejects.toMatchObject({ code: 'config_invalid' });
});
