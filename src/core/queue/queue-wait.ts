import { z } from 'zod';
import { type RunRequirements, requirementsSentence } from '../containers/worker-offer.js';
import { runView } from '../runs/run.js';

/** The reasons for which a run is in the queue, in the order in which they are looked for. */
const QUEUE_WAITS = [
  'worker',
  'version',
  'container_engine',
  'requirements',
  'limit',
  'rate',
  'capacity',
  'turn',
] as const;

export const queueWait = z
  .object({
    code: z
      .enum(QUEUE_WAITS)
      .describe(
        '`worker`: no worker executes runs. `version`: none is of the version that can execute this one. ' +
          '`container_engine`: it needs a container, and the engine of no worker answers, or none has the engine that ' +
          'its container is on. `requirements`: no worker with an engine has what the run requires. `limit`, `rate`: ' +
          'a limit of its agent, tenant, image or model. `capacity`: workers have no room. `turn`: a worker takes it next.',
      ),
    detail: z.string(),
  })
  .meta({ id: 'QueueWait' });
export type QueueWait = z.infer<typeof queueWait>;

export const readRun = runView
  .extend({
    waitsFor: queueWait
      .nullable()
      .describe('Why the run is in the queue; null: it is not, or a worker has just taken it.'),
  })
  .meta({ id: 'ReadRun' });
export type ReadRun = z.infer<typeof readRun>;

/** A limit that holds for a run, with what counts against it. */
export interface LimitInForce {
  readonly kind: 'agent' | 'image' | 'model' | 'tenant' | 'tenants';
  readonly name: string;
  /** null = no limit. */
  readonly concurrency: number | null;
  readonly busy: number;
  /** null = no limit. */
  readonly rateRuns: number | null;
  readonly ratePerMs: number | null;
  readonly begun: number;
}

/** The workers that execute runs and were heard of, and the limits, as one statement reads them for a run in the queue. */
export interface QueueFacts {
  readonly needsContainer: boolean;
  /** The engine that its container is on; null: it has none yet. */
  readonly engine: string | null;
  readonly begins: boolean;
  readonly workers: number;
  readonly ofVersion: number;
  /** Of those of the version: with an engine that answers, and that has its container, if there is one. */
  readonly withEngine: number;
  /** What the run requires of a worker; null: nothing. */
  readonly requires: RunRequirements | null;
  /** Of those with an engine: that have what the run requires, in all. */
  readonly withRequired: number;
  /** Of those that can take the run: with room. */
  readonly withCapacity: number;
  readonly limits: readonly LimitInForce[];
}

/** Returns the first thing that keeps a run in the queue. */
export function queueWaitOf(facts: QueueFacts): QueueWait {
  if (facts.workers === 0) return { code: 'worker', detail: 'No worker that executes runs is at work.' };
  if (facts.ofVersion === 0)
    return { code: 'version', detail: 'No worker is of the version that can execute the run. Start one.' };
  if (facts.needsContainer && facts.withEngine === 0)
    return {
      code: 'container_engine',
      detail:
        facts.engine === null
          ? 'The run needs a container, and no worker has a container engine that answers.'
          : `The container of the run is on the engine ${facts.engine}, and no worker has this engine and an answer of it.`,
    };
  if (facts.requires !== null && facts.withRequired === 0)
    return {
      code: 'requirements',
      detail: `The run requires ${requirementsSentence(facts.requires)}, and no worker with a container engine has that.`,
    };
  for (const limit of facts.limits) {
    const { concurrency, busy, rateRuns, ratePerMs, begun } = limit;
    if (concurrency !== null && busy >= concurrency)
      return { code: 'limit', detail: `${nameOf(limit)} has reached its limit of ${concurrency} at work.` };
    if (facts.begins && rateRuns !== null && begun >= rateRuns)
      return {
        code: 'rate',
        detail: `${nameOf(limit)} may begin ${rateRuns} runs in ${ratePerMs} ms, and has begun them.`,
      };
  }
  if (facts.withCapacity === 0)
    return { code: 'capacity', detail: 'The workers that can execute the run have no room.' };
  return { code: 'turn', detail: 'A worker takes the run when its turn comes.' };
}

const nameOf = ({ kind, name }: LimitInForce): string => {
  if (kind === 'tenants') return 'The tenant';
  return `The ${kind} ${JSON.stringify(name)}`;
};
