import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { LoggedFacts } from '../../../src/core/integrity/logged-facts.js';
import { strandedText } from '../../../src/core/runs/run.js';
import { defineAgent, defineTool } from '../../../src/index.js';
import type { RunRow } from '../../../src/storage/runs/run-row.js';
import { isToStop } from '../../../steps/agents/family.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, kindsOf, restOf } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** A run that ends because its segment can never go on is no run that someone has changed. */

let begun = 0;
const work = defineTool({
  ...{ name: 'work', description: 'Works until it is stopped.', input: z.object({}), output: z.string() },
  effect: 'pure',
  execute: async (_input, { signal }) => {
    begun += 1;
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    return 'never';
  },
});
const worker = defineAgent({
  agent: new Agent({ name: 'worker', model: scripted([[call('work', {})]]), tools: [work] }),
  grants: ['tool:call:work'],
});

describeEachDatabase('a run that was stranded', (kind) => {
  const test = engineFor(kind, { agents: [worker] });

  it('verifies, and counts the time that it worked', async () => {
    begun = 0;
    const { id } = await test.engine.startRun({ agent: 'worker', input: 'go' }, ADMIN);
    await expect.poll(() => begun, { timeout: 10_000 }).toBe(1);
    await test.between(async (knex) => {
      await knex.raw(`update dbos.workflow_status set status = 'ERROR' where workflow_uuid = ?`, [id]);
      // It began long ago.
      await knex.raw(`update holdfast.runs set segment_started_at = now() - interval '1 hour' where id = ?`, [id]);
    });
    const run = await restOf(test.engine, id);
    expect(run).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/^Segment 0 cannot go on: /) },
    });
    expect((await kindsOf(test.engine, id)).at(-1)).toBe('run.failed');
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    const counted = await test.between((knex) => knex('holdfast.runs').where({ id }).first('active_ms'));
    expect(Number(counted.active_ms)).toBeGreaterThan(3_500_000);
  });

  it('ends, and holds up no other, where the time of its segment is none', async () => {
    begun = 0;
    const ids: string[] = [];
    for (let made = 0; made < 2; made++)
      ids.push((await test.engine.startRun({ agent: 'worker', input: 'go' }, ADMIN)).id);
    await expect.poll(() => begun, { timeout: 10_000 }).toBe(2);
    await test.between(async (knex) => {
      await knex.raw(`update dbos.workflow_status set status = 'ERROR' where workflow_uuid = any(?)`, [ids]);
      await knex('holdfast.runs').where({ id: ids.toSorted()[0] }).update({ segment_started_at: 'infinity' });
    });
    for (const id of ids) expect(await restOf(test.engine, id)).toMatchObject({ status: 'failed' });
  });
});

it('may be stopped again where the time of the request is none', () => {
  const run = { status: 'queued', cancel_requested_at: Number.POSITIVE_INFINITY as unknown } as RunRow;
  expect(isToStop({ now: () => Date.now() }, run)).toBe(true);
});

it('verifies also where an older build counted nothing of its last segment', () => {
  const worked = (message: string): number => {
    const facts = new LoggedFacts();
    facts.take('segment.started', { segment: 0, cause: 'start' } as never, { seq: 2, at: '2026-11-01T10:00:00.000Z' });
    const error = new HoldfastError('run_failed', message).view();
    facts.take('run.failed', { error: { ...error } }, { seq: 3, at: '2026-11-01T11:00:00.000Z' });
    return facts.activeMs;
  };
  expect(worked(strandedText(0, 'its workflow is CANCELLED'))).toBe(0);
  expect(worked('A hook threw.')).toBe(3_600_000);
});
