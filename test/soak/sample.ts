import { readdirSync } from 'node:fs';
import { queryObjects } from 'node:v8';

/** What a process holds at a quiet moment. */
export interface Sample {
  readonly rssBytes: number;
  /** After a full collection. */
  readonly heapBytes: number;
  /** Open files and sockets of the process. */
  readonly descriptors: number;
  /** What keeps the event loop busy, by kind. */
  readonly resources: Readonly<Record<string, number>>;
  /** Of the events of the process. */
  readonly listeners: number;
  /** Signals that something still holds: whatever waits for one that never fires holds it forever. */
  readonly signals: number;
}

const WORD = 'sample ';

/** Lets a process say what it holds whenever it gets SIGUSR2. */
export function sampleOnSignal(): void {
  process.on('SIGUSR2', () => {
    (globalThis as { gc?: () => void }).gc?.();
    const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();
    const resources: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
    const descriptors = readdirSync('/proc/self/fd').length;
    const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    const signals = queryObjects(AbortSignal, { format: 'count' });
    const sample: Sample = { rssBytes, heapBytes, descriptors, resources, listeners, signals };
    process.stdout.write(`${WORD}${JSON.stringify(sample)}\n`);
  });
}

/** The last sample in what a process has said. */
export function sampleIn(said: string): Sample | null {
  const line = said.split('\n').findLast((one) => one.startsWith(WORD));
  return line === undefined ? null : JSON.parse(line.slice(WORD.length));
}

const MB = 1024 ** 2;
/** How much more the late sample may have: connections of pools that were not open before, and what a heap is uneven by. */
const MORE_HEAP_BYTES = 12 * MB;
const MORE_RSS_BYTES = 96 * MB;
const MORE_DESCRIPTORS = 12;
const MORE_RESOURCES = 12;

/** What has grown beyond the tolerance between two quiet moments of one process. */
export function leaksBetween(early: Sample, late: Sample): readonly string[] {
  const grown = (what: string, before: number, after: number, more: number): string[] =>
    after - before > more ? [`${what} grew from ${before} to ${after}, more than ${more}`] : [];
  return [
    ...grown('the heap', early.heapBytes, late.heapBytes, MORE_HEAP_BYTES),
    ...grown('the resident memory', early.rssBytes, late.rssBytes, MORE_RSS_BYTES),
    ...grown('the number of open descriptors', early.descriptors, late.descriptors, MORE_DESCRIPTORS),
    ...Object.entries(late.resources).flatMap(([kind, count]) =>
      grown(`the number of ${kind}`, early.resources[kind] ?? 0, count, MORE_RESOURCES),
    ),
  ];
}

export const sampleText = ({ rssBytes, heapBytes, descriptors, resources, listeners, signals }: Sample): string =>
  `${(rssBytes / MB).toFixed(0)} MB resident, ${(heapBytes / MB).toFixed(1)} MB heap, ${descriptors} descriptors, ${listeners} listeners, ${signals} signals, ${JSON.stringify(resources)}`;
