import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEngineDatabase, describeEachDatabaseSlowly } from '../harness/database.js';
import { startHub } from '../object-store/hub-server.js';
import { type S3Server, startS3 } from '../object-store/s3-server.js';
import { tryEach } from './ledger.js';
import { stopped } from './other-process.js';
import type { KillAt } from './place.js';
import { type ChildEnd, startChild } from './run-child.js';
import { twoLives } from './two-lives.js';

/**
 * An export whose process is killed around the statements that let it begin, keep a part and end, and whenever a file or the
 * folder gets its name: what is there in the end is the whole, and the same bytes as those of an export that no one disturbed.
 */
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-export-crash-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const PROGRAM = 'export-child.js';
const AT_ONCE = 3;
/** Seven parts that get their names, once as parts and once in the folder, and the folder itself. */
const RENAMES = 15;
const WHEN = ['before', 'sent', 'after'] as const;

/** What is in a store, without what says by which export it was made. */
const madeIn = ({ objects }: S3Server) =>
  [...objects]
    .filter(([key]) => key.includes('/data/') || key.includes('/evidence/'))
    .map(([key, { content }]) => `${key} ${content.byteLength}`)
    .toSorted();

/** An export has few statements: more thinly than this none would be tried. */
const STRIDE = Math.min(768, Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24));
/** Where few instants are taken, some of them. */
const fewOf = <T>(cells: readonly T[], few: number): readonly T[] => (STRIDE > 24 ? cells.slice(-few) : cells);

async function inTurns<T>(cells: readonly T[], work: (cell: T) => Promise<void>): Promise<void> {
  const next = cells.values();
  const takeTurns = async (): Promise<void> => {
    for (const cell of next) await work(cell);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, takeTurns));
}

describeEachDatabaseSlowly('an export', (kind) => {
  let whole: ChildEnd;
  let statements = 0;

  type Settings = Readonly<Record<string, string>>;
  const finish = (kill: KillAt | undefined, first: Settings = {}, both: Settings = {}) => {
    const env = {
      ...both,
      EXPORT_DIR: mkdtempSync(join(scratch, 'dir-')),
      EXPORT_ENCODING: kind === 'postgres' ? 'jsonl' : 'parquet',
    };
    return twoLives({ kind, program: PROGRAM, kill, first, env });
  };

  /** Two processes on one database and one disk. */
  const withTwo = async (
    work: (
      begin: (worker: string, kill?: KillAt, more?: Settings) => ReturnType<typeof startChild> & { folder: string },
    ) => Promise<void>,
  ): Promise<void> => {
    const { options, drop } = await createEngineDatabase(kind);
    const EXPORT_DIR = mkdtempSync(join(scratch, 'dir-'));
    const env = { EXPORT_DIR, DATABASE_URL: options.databaseUrl ?? '' };
    const running = new Set<number>();
    try {
      await work((worker, kill, more = {}) => {
        const { pid, ended } = startChild({ ...env, WORKER_ID: worker, ...more }, kill, PROGRAM);
        running.add(pid);
        const folder = join(EXPORT_DIR, 'default', 'first');
        return { pid, ended: ended.finally(() => running.delete(pid)), folder };
      });
    } finally {
      for (const pid of running) process.kill(pid, 'SIGKILL');
      await drop();
    }
  };

  beforeAll(async () => {
    const log = join(scratch, kind);
    whole = (await finish(undefined, { STATEMENT_LOG: log })).ended;
    expect(whole.runs, whole.stderr).toMatchObject([{ status: 'completed', ok: true, output: { rows: 10 } }]);
    statements = readFileSync(log, 'utf8').trim().split('\n').length;
  }, 120_000);

  it('is whole, and the same, whenever its process died', { timeout: 1_800_000 }, async () => {
    // The second export of the process is no aim.
    const all: KillAt[] = Array.from({ length: Math.floor(statements / 2) }, (_, statement) => ({
      when: WHEN[statement % 3] ?? 'after',
      statement,
    }));
    for (let index = 0; index < RENAMES; index++)
      for (const side of ['before', 'after']) all.push({ when: 'place', place: `${side} rename ${index}` });
    const every = Math.max(1, Math.round(STRIDE / 12));
    const kills = all.filter((_, index) => index % every === every - 1).slice(kind === 'pglite' && every > 4 ? -2 : 0);
    await tryEach(`exports on ${kind}`, kills, async (kill) => {
      const { died, ended } = await finish(kill);
      expect(ended.runs, `${JSON.stringify(kill)}: ${ended.stderr}`).toEqual(whole.runs);
      return { died };
    });
  });

  it('fails by name when each process dies with the same piece of it', { timeout: 600_000 }, async () => {
    const { options, drop } = await createEngineDatabase(kind);
    const place =
      options.databaseUrl === null ? { HOLDFAST_DATA_DIR: options.dataDir } : { DATABASE_URL: options.databaseUrl };
    const env = { ...place, EXPORT_DIR: mkdtempSync(join(scratch, 'dir-')) };
    try {
      for (let life = 0; life < 5; life++) {
        const { signal, stderr } = await startChild(env, { when: 'place', place: 'before rename 0' }, PROGRAM).ended;
        expect(signal, stderr).toBe('SIGKILL');
      }
      const { runs, stderr } = await startChild(env, undefined, PROGRAM).ended;
      const error = { code: 'export_crashes', message: expect.stringContaining('"part:0"') };
      expect(runs, stderr).toMatchObject([{ status: 'failed', error }]);
    } finally {
      await drop();
    }
  });

  it('has no run that was erased when it was published, whenever its process died then', {
    timeout: 600_000,
  }, async () => {
    const ERASED = { rows: 8, files: 7, progress: { runs: 5, done: 5, rows: 4 }, skipped: { erased: 1 } };
    const anew = '"revision" = "revision" +';
    const cells: readonly (readonly [string, KillAt | undefined])[] = [
      // Taken back, and written again.
      ['after rename 14', { when: 'place', place: 'before rename 15' }],
      ['after rename 14', { when: 'place', place: 'after rename 16' }],
      ['after rename 14', { when: 'place', place: 'after rename 14' }],
      // Right before all of it is there under its name, and right after that.
      ['before rename 14', { when: 'before', text: anew, commit: true }],
      ['after rename 14', { when: 'after', text: anew, commit: true }],
    ];
    await inTurns(fewOf(cells, 2), async ([erased, kill]) => {
      const { died, ended } = await finish(kill, { ERASE_AT: erased });
      expect(died, JSON.stringify(kill)).toBe(true);
      expect(ended.runs, ended.stderr).toMatchObject([{ status: 'completed', ok: true, output: ERASED }]);
    });
  });

  it.runIf(kind === 'postgres')(
    'is not published by a process that stood still while its run was erased',
    () =>
      // Another one goes on when it has been silent for 15 seconds.
      withTwo(async (begin) => {
        const north = begin('north', { when: 'stop', place: 'before rename 14' });
        await stopped(north.pid);
        const { runs, stderr } = await begin('south', undefined, { ERASE_AT: 'start' }).ended;
        expect(runs, stderr).toMatchObject([
          { status: 'completed', ok: true, output: { rows: 8, progress: { rows: 4 }, skipped: { erased: 1 } } },
        ]);
        const published = () =>
          readdirSync(north.folder, { recursive: true, encoding: 'utf8' }).flatMap((name) =>
            name.endsWith('l') || name.endsWith('.json') ? [readFileSync(join(north.folder, name), 'utf8')] : [],
          );
        const before = published();
        expect(before.join()).toContain('"revision": 1,');
        process.kill(north.pid, 'SIGCONT');
        expect((await north.ended).signal).toBe(null);
        expect(published()).toEqual(before);
      }),
    120_000,
  );

  it('has the same pairs whenever its process died', { timeout: 600_000 }, async () => {
    const finishPairs = (kill: KillAt | undefined) => finish(kill, {}, { EXPORT_FORMAT: 'preference' });
    const { ended: undisturbed } = await finishPairs(undefined);
    expect(undisturbed.runs, undisturbed.stderr).toMatchObject([
      { status: 'completed', ok: true, output: { progress: { runs: 5, done: 5, rows: 2 }, skipped: { unpaired: 1 } } },
    ]);
    const kills: readonly KillAt[] = [
      { when: 'after', text: 'insert into "holdfast"."exported_runs"' },
      { when: 'sent', text: 'insert into "holdfast"."export_digests"' },
      { when: 'place', place: 'before rename 1' },
      { when: 'place', place: 'after rename 3' },
      { when: 'before', text: '"files" = ', commit: true },
    ];
    await inTurns(fewOf(kills, 2), async (kill) => {
      const { died, ended } = await finishPairs(kill);
      expect(died, JSON.stringify(kill)).toBe(true);
      expect(ended.runs, `${JSON.stringify(kill)}: ${ended.stderr}`).toEqual(undisturbed.runs);
    });
  });

  it('has each object once in a store, whenever its process died while it sent one', { timeout: 600_000 }, async () => {
    /** Kills the process with the n-th object that it sends: on its way, or when it is made and no one has heard of it. */
    const killAt = async (nth: number, fault: 'cut' | 'lost') => {
      const store = await startS3();
      const { options, drop } = await createEngineDatabase(kind);
      const place =
        options.databaseUrl === null ? { HOLDFAST_DATA_DIR: options.dataDir } : { DATABASE_URL: options.databaseUrl };
      const env = { ...place, EXPORT_DIR: mkdtempSync(join(scratch, 'dir-')), EXPORT_STORE: store.url };
      try {
        const first = startChild(env, undefined, PROGRAM);
        let sent = 0;
        store.fault = (method) => {
          if (method !== 'PUT' || sent++ !== nth) return null;
          process.kill(first.pid, 'SIGKILL');
          return fault;
        };
        expect((await first.ended).signal).toBe('SIGKILL');
        store.fault = () => null;
        const { runs, stderr } = await startChild(env, undefined, PROGRAM).ended;
        return { runs, stderr, made: madeIn(store), sent: store.asked.filter((one) => one.startsWith('PUT ')).length };
      } finally {
        await drop();
        await store.close();
      }
    };
    const [begun, card, manifest] = [
      await killAt(0, 'cut'),
      await killAt(kind === 'pglite' ? 2 : 5, 'lost'),
      await killAt(8, 'lost'),
    ];
    // Two exports of nine objects; what was cut off was sent twice, and what was made was not.
    expect([begun.sent, card.sent, manifest.sent], begun.stderr).toEqual([19, 18, 18]);
    for (const { runs, made, stderr } of [begun, card, manifest]) {
      expect(runs, stderr).toMatchObject([{ status: 'completed', ok: true, output: { rows: 10, files: 7 } }]);
      expect(made).toEqual(begun.made);
    }
  });

  it('sends each large file once to a Hub and commits once, whenever its process died', {
    timeout: 600_000,
  }, async () => {
    /** Kills the process with the n-th request of a kind: on its way, or when it is done and no one has heard of it. */
    const killAt = async (at: string, nth: number, fault: 'cut' | 'lost') => {
      const hub = await startHub();
      hub.largeFrom = 1;
      const { options, drop } = await createEngineDatabase(kind);
      const place =
        options.databaseUrl === null ? { HOLDFAST_DATA_DIR: options.dataDir } : { DATABASE_URL: options.databaseUrl };
      const env = { ...place, EXPORT_DIR: mkdtempSync(join(scratch, 'dir-')), EXPORT_HUB: hub.url };
      try {
        const first = startChild(env, undefined, PROGRAM);
        let seen = 0;
        hub.fault = (method, path) => {
          if (!`${method} ${path}`.includes(at) || seen++ !== nth) return null;
          process.kill(first.pid, 'SIGKILL');
          return fault;
        };
        expect((await first.ended).signal).toBe('SIGKILL');
        hub.fault = () => null;
        const { runs, stderr } = await startChild(env, undefined, PROGRAM).ended;
        expect(runs, stderr).toMatchObject([{ status: 'completed', ok: true, output: { rows: 10, files: 7 } }]);
        return {
          sent: hub.asked.filter((one) => one.startsWith('store PUT ')).length,
          commits: ['first', 'second'].map((name) => hub.repositories.get(`acme/${name}`)?.commits.length),
          paths: hub.paths('acme/first').length,
        };
      } finally {
        await drop();
        await hub.close();
      }
    };
    // Two exports of seven files with the same content, and a card and a manifest each.
    const whole = { commits: [2, 2], paths: 9 };
    expect(await killAt('store PUT', 2, 'cut')).toEqual({ ...whole, sent: 12 });
    expect(await killAt('store PUT', 2, 'lost')).toEqual({ ...whole, sent: 11 });
    expect(await killAt('/commit/', 0, 'cut')).toEqual({ ...whole, sent: 11 });
    expect(await killAt('/commit/', 0, 'lost')).toEqual({ ...whole, sent: 11 });
  });
});
