import { atShare } from '../bench/shares.js';
import { HEAVY, type SimulatedRun } from './arrivals.js';

/** How long runs of some tenants were in the queue, in seconds. */
interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

export interface Report {
  readonly runs: number;
  /** Seconds of the simulated clock until all were over. */
  readonly seconds: number;
  /** Of the tenant with the burst, and of all others. */
  readonly heavy: Waits;
  readonly others: Waits;
  /**
   * How evenly tenants had the time of workers while each of them had something in the queue: 1 is the same for all, 1 / tenants is all for
   * one (Jain's index).
   */
  readonly evenness: number;
  readonly polls: number;
  /** Polls that found nothing. */
  readonly empty: number;
  /** How often all workers were woken. */
  readonly wakes: number;
  /** Real milliseconds of a poll. */
  readonly pollMs: Pick<Waits, 'p50' | 'p99'>;
}

interface Polls {
  readonly all: number;
  readonly empty: number;
  readonly wakes: number;
  readonly ms: readonly number[];
  readonly endedAt: number;
}

export function reportOf(runs: readonly SimulatedRun[], polls: Polls): Report {
  const lost = runs.find(({ endedAt }) => endedAt === null);
  if (lost !== undefined) throw new Error(`${lost.id} never came to its end`);
  const ms = polls.ms.toSorted((a, b) => a - b);
  return {
    ...{ runs: runs.length, seconds: polls.endedAt / 1000 },
    heavy: waitsOf(runs.filter(({ tenant }) => tenant === HEAVY)),
    others: waitsOf(runs.filter(({ tenant }) => tenant !== HEAVY)),
    evenness: evennessOf(runs),
    ...{ polls: polls.all, empty: polls.empty, wakes: polls.wakes },
    pollMs: { p50: atShare(ms, 0.5), p99: atShare(ms, 0.99) },
  };
}

function waitsOf(runs: readonly SimulatedRun[]): Waits {
  const waits = runs.map(({ at, begunAt }) => ((begunAt ?? Number.NaN) - at) / 1000).toSorted((a, b) => a - b);
  return { p50: atShare(waits, 0.5), p99: atShare(waits, 0.99), most: waits.at(-1) ?? Number.NaN };
}

function evennessOf(runs: readonly SimulatedRun[]): number {
  const lastBegun = new Map<string, number>();
  for (const { tenant, begunAt } of runs)
    lastBegun.set(tenant, Math.max(lastBegun.get(tenant) ?? 0, begunAt ?? Number.POSITIVE_INFINITY));
  const until = Math.min(...lastBegun.values());
  const served = new Map([...lastBegun.keys()].map((tenant) => [tenant, 0]));
  for (const { tenant, begunAt, takesMs } of runs)
    if (begunAt !== null && begunAt < until)
      served.set(tenant, (served.get(tenant) ?? 0) + Math.min(takesMs, until - begunAt));
  const times = [...served.values()];
  const sum = times.reduce((all, time) => all + time, 0);
  return (sum * sum) / (times.length * times.reduce((all, time) => all + time * time, 0));
}
