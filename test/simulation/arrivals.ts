import type { Chances } from './chances.js';

/** `burst`: one tenant submits half of all runs at once, the others little by little. `backlog`: all tenants submit all that they have. */
export type Arrivals = 'burst' | 'backlog';

export interface SimulatedRun {
  readonly id: string;
  readonly tenant: string;
  readonly priority: number;
  readonly at: number;
  readonly takesMs: number;
  worker: string | null;
  begunAt: number | null;
  endedAt: number | null;
}

/** The tenant with the burst. */
export const HEAVY = 't0';
const MEAN_MS = 30_000;
const LEAST_MS = 1_000;
/** Slots are free for so much of the time that the runs would take all of them. */
const SPARE = 1.1;
const PRIORITIES = 5;

interface Asked {
  readonly workers: number;
  readonly slots: number;
  readonly tenants: number;
  readonly runs: number;
  readonly arrivals: Arrivals;
}

/** The runs of a simulation, in the order in which they arrive. */
export function arrivalsOf({ workers, slots, tenants, runs, arrivals }: Asked, by: Chances): readonly SimulatedRun[] {
  const horizon = ((runs * (MEAN_MS + LEAST_MS)) / (workers * slots)) * SPARE;
  const made = Array.from({ length: runs }, (_, n): SimulatedRun => {
    const isHeavy = arrivals === 'burst' && n % 2 === 0;
    const tenant = isHeavy ? 0 : arrivals === 'burst' ? 1 + by.below(tenants - 1) : unequal(by, tenants);
    return {
      ...{ id: `run_${String(n).padStart(8, '0')}`, tenant: `t${tenant}`, priority: 1 + by.below(PRIORITIES) },
      ...{ at: 1 + (isHeavy || arrivals === 'backlog' ? 0 : by.below(horizon)) },
      ...{ takesMs: LEAST_MS + Math.round(by.around(MEAN_MS)), worker: null, begunAt: null, endedAt: null },
    };
  });
  return made.toSorted((one, other) => one.at - other.at);
}

/** Every second tenant has ten times as much as the one after it. */
function unequal(by: Chances, tenants: number): number {
  const pick = by.below(11 * Math.ceil(tenants / 2));
  return Math.min(tenants - 1, 2 * Math.floor(pick / 11) + (pick % 11 === 10 ? 1 : 0));
}
