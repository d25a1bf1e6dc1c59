import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ChargeView } from '../../../src/core/budgets/charge.js';
import { type EventData, runEvent } from '../../../src/core/log/event.js';
import { type RunView, runStatus } from '../../../src/core/runs/run.js';
import { foldTrajectory, trajectory, trajectoryFold } from '../../../src/core/trajectories/trajectory.js';
import { inOneGo } from '../../harness/in-one-go.js';

const GOLDEN = join(import.meta.dirname, '../../golden');
const FILE = join(GOLDEN, 'trajectories-v1.json');

const logs = z.array(z.object({ runKey: z.string(), events: z.array(runEvent) }));
type Log = z.infer<typeof logs>[number];

const recorded: readonly Log[] = readdirSync(GOLDEN)
  .filter((name) => /^event-logs-v1(-.+)?\.json$/.test(name))
  .sort()
  .flatMap((name) => logs.parse(JSON.parse(readFileSync(join(GOLDEN, name), 'utf8'))));

/** The row of a run, as far as its log says it. */
function rowOf({ events }: Log): RunView {
  const [created, last] = [events[0], events.at(-1)];
  const data = created?.data as EventData<'run.created'>;
  const end = last?.data as { readonly output?: RunView['output']; readonly error?: RunView['error'] };
  const at = created?.at ?? '';
  return {
    ...{ id: created?.runId ?? '', tenant: created?.tenant ?? '', parentRunId: data.parent?.runId ?? null },
    ...{ sessionId: null, agent: data.agent, agentVersion: data.agentVersion, input: data.input, segment: 0, turns: 0 },
    status: runStatus.parse(last?.kind.replace('run.', '')),
    ...{ output: end.output ?? null, error: end.error ?? null, interruptions: [] },
    ...{ usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, costUsd: null, limits: data.limits },
    ...{
      metadata: data.metadata,
      forkedFrom: null,
      createdAt: at,
      updatedAt: at,
      completedAt: last?.at ?? null,
      erasedAt: null,
      integrity: [],
    },
  };
}
const factsOf = (log: Log) => ({
  ...{ run: rowOf(log), executionTimeMs: 1, scaffold: null, cancelReason: null, reward: null },
});
const folded = (log: Log) => inOneGo(foldTrajectory(factsOf(log), log.events));

describe('the fold of a log into a trajectory', () => {
  it('makes of every recorded log the record that it made of it before', () => {
    const records = recorded.map(folded);
    if (process.env['HOLDFAST_WRITE_GOLDEN'] === '1' && !existsSync(FILE))
      writeFileSync(FILE, `${JSON.stringify(records, null, 2)}\n`);
    // Later builds say more of a step than the one that wrote the file.
    expect(records).toMatchObject(z.array(trajectory).parse(JSON.parse(readFileSync(FILE, 'utf8'))));
  });

  it('adds the rewards of a scaffold up, step after step, until the run has one of its own', () => {
    const log = recorded.find(({ events }) => folded({ events } as Log).steps.some(({ reward }) => reward !== null));
    if (log === undefined) throw new Error('no recorded log has rewards of a scaffold');
    const { steps } = folded(log);
    let sum: number | null = null;
    for (const { reward, rewardSoFar, info } of steps) {
      if (reward !== null) sum = (sum ?? 0) + reward;
      expect(rewardSoFar).toBe(sum);
      expect(info.durationMs).toBe(Date.parse(info.endedAt) - Date.parse(info.startedAt));
    }
    expect(sum).not.toBeNull();
  });

  it('has every answer, call and outcome of the log once, each outcome beside its call', () => {
    for (const log of recorded) {
      const { steps, totalSteps, head } = folded(log);
      const of = (kind: string) => log.events.filter((event) => event.kind === kind);
      const idsOf = (kind: string) => of(kind).map(({ data }) => (data as { callId: string }).callId);
      const calls = steps.flatMap(({ action }) => action.calls.map(({ callId }) => callId));
      expect(steps.filter(({ action }) => action.type !== 'none')).toHaveLength(of('model.responded').length);
      expect(calls).toEqual([...new Set(idsOf('call.checked'))]);
      expect(steps.flatMap(({ observation }) => observation.map(({ callId }) => callId)).sort()).toEqual(
        idsOf('call.finished').sort(),
      );
      for (const { action, observation } of steps)
        for (const { callId } of observation) expect(action.calls.map((one) => one.callId)).toContain(callId);
      expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1));
      expect(steps.map(({ done }) => done)).toEqual(steps.map((_, index) => index === totalSteps - 1));
      expect(head).toEqual({ seq: log.events.length, hash: log.events.at(-1)?.hash });
    }
  });

  it('read in windows it has the same steps, and in each the totals of all', () => {
    for (const log of recorded) {
      const whole = folded(log);
      for (const window of [
        { limit: 1, maxChars: 1e9 },
        { limit: 2, maxChars: 1e9 },
        { limit: 99, maxChars: 1 },
      ]) {
        const steps = [];
        for (let after: number | null = 0; after !== null; ) {
          const fold = trajectoryFold(factsOf(log), { window: { after, ...window } });
          for (const event of log.events) fold.push(event);
          const { record } = fold.end();
          expect({ ...record, steps: [], nextStep: null }).toEqual({ ...whole, steps: [] });
          steps.push(...record.steps);
          after = record.nextStep;
        }
        expect(steps).toEqual(whole.steps);
      }
    }
  });

  it('of a log whose payloads were erased has no steps, and still its head', () => {
    for (const log of recorded) {
      const events = log.events.map((event) => ({ ...event, data: null }));
      const { steps, totalSteps, head } = inOneGo(foldTrajectory(factsOf(log), events));
      expect([steps, totalSteps, head.seq]).toEqual([[], 0, log.events.length]);
    }
  });

  it('knows what the answer used by the attempt that gave it, and who wrote it', () => {
    const [log] = recorded;
    if (log === undefined) throw new Error('no log');
    const answer = log.events.find(({ kind }) => kind === 'model.responded')?.data as EventData<'model.responded'>;
    const used = { ...answer.usage, cachedInputTokens: 3, cacheWriteTokens: 2, reasoningTokens: 1 };
    const charge = (attempt: number, usage: ChargeView['usage']): ChargeView => ({
      ...{ turn: 1, attempt, agent: 'a', model: 'm', usage, costUsd: null, price: null, state: 'settled' },
      ...{ day: '2026-01-01', chargedAt: '2026-01-01T00:00:00.000Z' },
    });
    const charges = [charge(1, { ...used, inputTokens: used.inputTokens + 1 }), charge(2, used), charge(3, null)];
    const events = log.events.map((event) => ({ ...event, worker: `w${event.seq}` }));
    const { steps, counts } = inOneGo(
      foldTrajectory(factsOf(log), events, { chargesOf: (turn) => (turn === 1 ? charges : []) }),
    );
    expect(steps[0]?.info).toMatchObject({
      tokens: { cachedInputTokens: 3, cacheWriteTokens: 2, reasoningTokens: 1 },
      ...{ attempts: 3, worker: `w${steps[0]?.info.events.from === 3 ? 4 : 0}` },
    });
    expect(steps[1]?.info).toMatchObject({ tokens: null, attempts: 0 });
    expect(counts.retries).toBe(2);
  });
});
