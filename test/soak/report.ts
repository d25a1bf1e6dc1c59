import type { Tally } from './people.js';

export interface Report {
  readonly tally: Tally;
  readonly faults: Readonly<Record<string, number>>;
  readonly payments: number;
  /** How often each place of the crew was filled. */
  readonly starts: readonly number[];
  /** What the spared worker held, early and late. */
  readonly samples: readonly string[];
  readonly connections: number;
  readonly seconds: number;
}

const counted = (names: readonly string[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

export function reportLines({ tally, faults, payments, starts, samples, connections, seconds }: Report): string[] {
  const { orders, decided, unknown, streamed, retried } = tally;
  return [
    `runs: ${orders.length}, ${listed(counted(orders.map(({ status }) => status ?? 'not over')))}`,
    `agents: ${listed(counted(orders.map(({ agent }) => agent)))}`,
    `faults: ${listed(faults)}; starts of workers: ${starts.join(', ')}`,
    `payments: ${payments}; decisions: ${decided}, of calls in doubt ${unknown}; streams: ${streamed}; tried again: ${retried}`,
    `the spared worker, early: ${samples[0]}`,
    `the spared worker, late: ${samples[1]}`,
    `connections: ${connections}; it took ${seconds} s`,
  ];
}
