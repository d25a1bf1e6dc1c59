/** What runs of an agent took, as numbers. */

/** One run that rested. Times are milliseconds. */
export interface Measured {
  /** `completed`, `failed`, `cancelled`; `paused`: it waits for something that no one gives here. */
  readonly status: string;
  /** From the request to the end. */
  readonly ms: number;
  /** In which it was neither queued nor paused. */
  readonly workedMs: number;
  /** When its model calls and tool calls were executed. */
  readonly steps: readonly Span[];
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

export interface BenchReport {
  readonly agent: string;
  readonly database: 'embedded' | 'postgres';
  readonly concurrency: number;
  readonly seconds: number;
  readonly runs: number;
  readonly ends: { readonly [status: string]: number };
  readonly runsPerSecond: number;
  readonly steps: number;
  readonly stepsPerSecond: number;
  readonly runMs: Percentiles;
  /** Of a run: its working time without models and tools, for each of its steps. */
  readonly stepOverheadMs: Percentiles;
  /** What the tables of the database grew by for each run. */
  readonly bytesPerRun: number;
}

/** How long at least one of the spans lasts. */
export function covered(spans: readonly Span[]): number {
  let [sum, until] = [0, Number.NEGATIVE_INFINITY];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return sum;
}

/** By the nearest rank; 0 of nothing. */
export function percentilesOf(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: round(at(0.5)), p95: round(at(0.95)) };
}

const round = (value: number): number => Math.round(value * 100) / 100;

type Given = Pick<BenchReport, 'agent' | 'database' | 'concurrency'> & {
  readonly tookMs: number;
  readonly grownBytes: number;
};

export function reportOf({ tookMs, grownBytes, ...given }: Given, measured: readonly Measured[]): BenchReport {
  const seconds = tookMs / 1000;
  const steps = measured.reduce((sum, one) => sum + one.steps.length, 0);
  const ends: { [status: string]: number } = {};
  for (const { status } of measured) ends[status] = (ends[status] ?? 0) + 1;
  const withSteps = measured.filter((one) => one.steps.length > 0);
  const overheads = withSteps.map((one) => Math.max(0, one.workedMs - covered(one.steps)) / one.steps.length);
  return {
    ...given,
    ...{ seconds: round(seconds), runs: measured.length, ends, steps },
    runsPerSecond: round(measured.length / seconds),
    stepsPerSecond: round(steps / seconds),
    runMs: percentilesOf(measured.map(({ ms }) => ms)),
    stepOverheadMs: percentilesOf(overheads),
    bytesPerRun: Math.max(0, Math.round(grownBytes / Math.max(1, measured.length))),
  };
}
