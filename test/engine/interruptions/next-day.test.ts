import { Agent, Usage } from '@openai/agents';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { nextDayOf } from '../../../src/core/budgets/budget.js';
import { functionModel } from '../../../src/index.js';
import { ADMIN, BOB, eventsOf, openTestEngine, restOf, runToRest } from '../../harness/engine.js';
import { say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** The budget of a day holds a run up until the next day, and no longer. */

const DAY_MS = 24 * 3600 * 1000;

it('the day after a day begins with it, also at the end of a year', () => {
  expect(nextDayOf({ day: '2026-12-31' })).toBe('2027-01-01T00:00:00.000Z');
  expect(nextDayOf({ day: '2028-02-28' })).toBe('2028-02-29T00:00:00.000Z');
  expect(nextDayOf({ day: null })).toBeNull();
});

/** Each answer costs a tenth of a dollar. */
const model = functionModel('daily', () => ({
  output: [say('done')],
  usage: new Usage({ inputTokens: 100, outputTokens: 100, totalTokens: 200 }),
}));
const config = {
  agents: [new Agent({ name: 'daily', model, modelSettings: { maxTokens: 100 } })],
  prices: { 'object/daily': { inputPerMillion: '0', outputPerMillion: '1000' } },
  budgets: { perAgent: { daily: { perDay: '0.15' } } },
};

/** The embedded database has its time from this process; a server has its own. */
describe('a run that waits for the budget of a day, on pglite', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.runIf(SLOW)('goes on the next day, with the budget of that day', async () => {
    const t = await openTestEngine('pglite', config);
    try {
      expect(await runToRest(t.engine, 'daily')).toMatchObject({ status: 'completed' });
      const { id } = await runToRest(t.engine, 'daily');
      const asked = async () => (await t.engine.listInterruptions({ runId: id, limit: 5 }, BOB)).items;
      const [first] = await asked();
      const day = first?.wait?.kind === 'budget' ? first.wait.day : null;
      expect(first).toMatchObject({ kind: 'budget', status: 'pending', expiresAt: nextDayOf({ day }) });
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + DAY_MS, shouldAdvanceTime: true });
      await expect.poll(async () => (await restOf(t.engine, id)).status, { timeout: 30_000 }).toBe('completed');
      expect(await asked()).toMatchObject([
        { status: 'approved', decisions: [{ verdict: 'approve', actor: 'holdfast', value: null }] },
      ]);
      expect((await eventsOf(t.engine, id)).at(-1)?.kind).toBe('run.completed');
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    } finally {
      vi.useRealTimers();
      await t.close();
    }
  });
});
