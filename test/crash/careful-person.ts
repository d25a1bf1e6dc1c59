import type { Caller, Engine, InterruptionView, RunView } from '../../src/index.js';
import type { Scenario } from './scenario.js';
import { happened } from './world.js';

const person = (actor: string): Caller => ({ actor, role: 'admin', tenant: 'default' });
const PEOPLE = [person('reviewer'), person('second reviewer'), person('third reviewer')];
export const [REVIEWER = person('reviewer')] = PEOPLE;

/** The first one starts the runs. */
export const approversOf = ({ separateRequester, requiredApprovals }: InterruptionView): readonly Caller[] =>
  PEOPLE.slice(separateRequester ? 1 : 0).slice(0, requiredApprovals);

/** Ids are new after every crash: only the calls are in the same order every time. */
const byCall = (a: InterruptionView, b: InterruptionView): number => ((a.callId ?? '') < (b.callId ?? '') ? -1 : 1);

/**
 * Drives a run to its end as careful people do: they approve what is asked, by as many as it takes. Where a call may have
 * happened they look into the world, and say what it returned when it did.
 */
export async function drive(engine: Engine, id: string, { decide, resultOf }: Partial<Scenario>): Promise<RunView> {
  const until = Date.now() + 60_000;
  for (;;) {
    const run = await engine.getRun(id, REVIEWER, { waitMs: 1000 });
    if (['completed', 'failed', 'cancelled'].includes(run.status)) return run;
    if (Date.now() > until) throw new Error(`the run is still ${run.status} after 60 s`);
    const { items } = await engine.listInterruptions({ status: 'pending', limit: 50 }, REVIEWER);
    for (const item of items.toSorted(byCall)) {
      if ((await decide?.(engine, item)) || item.kind !== 'approval') continue;
      if (item.reason.code === 'unknown_effect' && happened(item)) {
        const { n } = item.arguments as { n: number };
        const value = resultOf?.(item) ?? { done: `${item.tool} ${n}` };
        await engine.decide(item.id, { verdict: 'answer', value }, REVIEWER);
      } else {
        for (const one of approversOf(item)) await engine.decide(item.id, { verdict: 'approve' }, one);
      }
    }
    if (items.length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
