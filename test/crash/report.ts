import { z } from 'zod';
import type { Engine, RunView } from '../../src/index.js';
import { REVIEWER } from './careful-person.js';

/** How a run ended and what its log says. */
const runReport = z.object({
  ...{ id: z.string(), agent: z.string(), parentRunId: z.string().nullable(), status: z.string() },
  ...{ output: z.unknown(), error: z.unknown(), turns: z.number(), usage: z.unknown() },
  ...{ ok: z.boolean(), complete: z.boolean() },
  events: z.array(
    z.object({
      seq: z.number(),
      kind: z.string(),
      data: z.unknown(),
      dataHash: z.string(),
      stateHashAfter: z.string(),
    }),
  ),
});
export type RunReport = z.infer<typeof runReport>;

/** What a process of a crash test prints. */
export const childReport = z.array(runReport);

export async function reportOf(engine: Engine, run: RunView): Promise<RunReport> {
  const { id, agent, parentRunId, status, output, error, turns, usage } = run;
  const { items } = await engine.listEvents(id, { after: 0, limit: 1000 }, REVIEWER);
  const { ok, complete } = await engine.verifyRun(id, REVIEWER);
  const events = items.map(({ seq, kind, data, dataHash, stateHashAfter }) => ({
    ...{ seq, kind, data, stateHashAfter },
    // Salted with the key of its run, which only the first has in common with the other crashes.
    dataHash: parentRunId === null ? dataHash : '',
  }));
  return { id, agent, parentRunId, status, output, error, turns, usage, ok, complete, events };
}

export const print = (reports: readonly RunReport[]): void => {
  process.stdout.write(`${JSON.stringify(reports)}\n`);
};
