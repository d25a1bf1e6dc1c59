import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EVENT_KINDS, runEvent } from '../../src/core/log/event.js';
import { verifyLog } from '../harness/verify-log.js';
import { ROOT } from './pages.js';
import { type RealLog, realLogs } from './real-logs.js';
import { firstBroken } from './verifier.js';

const GOLDEN_DIR = join(ROOT, 'test/golden');
/** The first file, then one for each time that kinds were added. */
const goldenFiles = (): string[] =>
  readdirSync(GOLDEN_DIR)
    .filter((name) => /^event-logs-v1(-.+)?\.json$/.test(name))
    .sort((a, b) => a.length - b.length || a.localeCompare(b));
const WRITE = process.env['HOLDFAST_WRITE_GOLDEN'] === '1';

const shape = z.array(z.object({ runKey: z.string(), events: z.array(runEvent) }));

const goldenLogs = () =>
  goldenFiles().flatMap((name) => shape.parse(JSON.parse(readFileSync(join(GOLDEN_DIR, name), 'utf8'))));

const kindsOf = (logs: readonly { readonly events: readonly { readonly kind: string }[] }[]): ReadonlySet<string> =>
  new Set(logs.flatMap(({ events }) => events.map(({ kind }) => kind)));

const verified = ({ events, runKey }: z.infer<typeof shape>[number]) => {
  const last = events.at(-1);
  const claimed = { seq: events.length, hash: last?.hash ?? '' };
  return verifyLog(last?.runId ?? '', last?.tenant ?? '', events, runKey, claimed);
};

const WHOLE = { ok: true, complete: true, broken: null };

describe('a verifier that was written from docs/events.md', () => {
  let logs: readonly RealLog[];
  beforeAll(async () => {
    logs = await realLogs();
    // Only ever added to: a change of these logs would mean that old ones do not verify any more.
    const known = kindsOf(goldenLogs());
    const fresh = logs.filter((log) => [...kindsOf([log])].some((kind) => !known.has(kind)));
    const [newest] = [...kindsOf(fresh)].filter((kind) => !known.has(kind));
    if (WRITE && newest !== undefined) {
      writeFileSync(join(GOLDEN_DIR, `event-logs-v1-${newest}.json`), `${JSON.stringify(fresh, null, 1)}\n`);
    }
  });

  it('agrees with the engine on logs of real runs', () => {
    for (const { events, runKey } of logs) expect(firstBroken(events, runKey)).toBeNull();
  });

  it('agrees on the golden logs, which hold every kind', () => {
    const golden = goldenLogs();
    for (const log of golden) {
      expect(verified(log)).toMatchObject(WHOLE);
      expect(firstBroken(log.events, log.runKey)).toBeNull();
    }
    expect([...kindsOf(golden)].sort()).toEqual([...EVENT_KINDS].sort());
  });

  it('agrees on which event was changed', () => {
    const [log] = goldenLogs();
    const { events = [], runKey = '' } = log ?? {};
    for (const at of events.keys()) {
      const changed = events.map((event, index) => (index === at ? { ...event, data: { forged: true } } : event));
      expect(firstBroken(changed, runKey)).toBe(`event ${at + 1}: dataHash`);
      expect(verified({ events: changed, runKey }).broken?.seq).toBe(at + 1);
    }
  });
});
