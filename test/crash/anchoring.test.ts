import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { openCheckpoint } from '../../src/core/evidence/checkpoint.js';
import { parsePublicKey } from '../../src/core/evidence/signed-note.js';
import { makeLogKey } from '../../src/engine/evidence/log-keys.js';
import { createEngineDatabase, type DatabaseKind, describeEachDatabaseSlowly } from '../harness/database.js';
import { startS3 } from '../object-store/s3-server.js';
import { tryEach } from './ledger.js';
import { stopped } from './other-process.js';
import type { KillAt } from './place.js';
import { type ChildEnd, startChild } from './run-child.js';
import { dieAndGoOn } from './two-lives.js';

/**
 * Anchoring whose process is killed at durable statements, around the writing of a checkpoint and in the middle of it, and beside
 * another process that anchors, too. Afterwards every checkpoint that was ever published is of this log, each begins with those before
 * it, and whatever verifies says that all is well. HOLDFAST_CRASH_STRIDE says how many statements are taken.
 */
const PROGRAM = 'anchor-child.js';
const STRIDE = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24);
const WHEN = ['before', 'sent', 'after'] as const;
const AT_ONCE = 3;
const RUNS = 4;
const ENTERING = 'holdfast.log_entries (';
const SIGNING = 'insert into "holdfast"."log_checkpoints"';

const ALWAYS: readonly KillAt[] = [
  { when: 'sent', text: ENTERING, commit: true },
  { when: 'after', text: ENTERING, commit: true },
  { when: 'before', text: SIGNING },
  { when: 'after', text: SIGNING },
  { when: 'place', place: 'before line 1' },
  { when: 'place', place: 'within line 1' },
  { when: 'place', place: 'after line 1' },
];

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-anchoring-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

type Environment = Readonly<Record<string, string>>;

describeEachDatabaseSlowly('anchoring', (kind) => {
  const keyFile = join(scratch, `${kind}-key`);
  const key = parsePublicKey(makeLogKey(keyFile, 'holdfast/test').text);
  const statements = join(scratch, `${kind}-statements`);

  const onDatabase = async <T>(work: (env: Environment) => Promise<T>): Promise<T> => {
    const { options, drop } = await createEngineDatabase(kind);
    const dir = mkdtempSync(join(scratch, 'checkpoints-'));
    const url: Environment = options.databaseUrl === null ? {} : { DATABASE_URL: options.databaseUrl };
    const env = { ...url, HOLDFAST_DATA_DIR: options.dataDir, LOG_KEY_FILE: keyFile, CHECKPOINTS: join(dir, 'file') };
    try {
      return await work(env);
    } finally {
      await drop();
    }
  };
  const expectWhole = ({ runs, stderr }: ChildEnd, entries: number, what: unknown): void =>
    expect(runs, `${JSON.stringify(what)}: ${stderr}`).toMatchObject([
      { ok: true, output: { wrong: [], entries, last: entries } },
    ]);

  beforeAll(async () => {
    const whole = (env: Environment) => startChild({ ...env, STATEMENT_LOG: statements }, undefined, PROGRAM).ended;
    expectWhole(await onDatabase(whole), RUNS, 'undisturbed');
  }, 60_000);

  it('never signs what is not there, and goes on whenever its process died', { timeout: 1_800_000 }, async () => {
    const anchoring = readFileSync(statements, 'utf8')
      .trim()
      .split('\n')
      .map((line) => /log_entries|log_checkpoints|run_heads/.test(line));
    const sample = anchoring.flatMap((isIt, statement): KillAt[] =>
      isIt && statement % Math.max(1, Math.round(STRIDE / 8)) === 0
        ? [{ when: WHEN[statement % 3] ?? 'after', statement }]
        : [],
    );
    const tryOne = async (kill: KillAt) => {
      const { died, ended } = await onDatabase((env) => dieAndGoOn(PROGRAM, kill, env));
      // What the run of the first process had done when it died may have an entry of its own.
      const { entries } = z.object({ entries: z.int().min(RUNS) }).parse(ended.runs[0]?.output);
      expectWhole(ended, entries, kill);
      return { died };
    };
    await tryEach(`anchoring on ${kind}`, fewOn(kind, [...ALWAYS, ...sample]), tryOne, AT_ONCE);
  });

  it('has each checkpoint once in a store, whenever its process died while it wrote one', {
    timeout: 600_000,
  }, async () => {
    for (const fault of ['cut', 'lost'] as const) {
      const store = await startS3();
      try {
        await onDatabase(async (env) => {
          const at = { ...env, CHECKPOINT_STORE: store.url };
          const first = startChild(at, undefined, PROGRAM);
          let sent = 0;
          store.fault = (method) => {
            if (method !== 'PUT' || sent++ !== 1) return null;
            process.kill(first.pid, 'SIGKILL');
            return fault;
          };
          expect((await first.ended).signal).toBe('SIGKILL');
          store.fault = () => null;
          expectWhole(await startChild(at, undefined, PROGRAM).ended, RUNS, fault);
        });
        const notes = [...store.objects.values()].map(({ content }) => String(JSON.parse(String(content)).note));
        const signed = notes.map((note) => openCheckpoint(note, key === null ? [] : [key]));
        const sizes = signed.map((one) => (typeof one === 'string' ? one : one.size));
        expect(sizes.toSorted()).toEqual([1, 2, 3, 4]);
      } finally {
        await store.close();
      }
    }
  });

  it.runIf(kind === 'postgres')('is of one log where two processes do it at once', { timeout: 120_000 }, () =>
    onDatabase(async (env) => {
      const running = new Set<number>();
      const begin = (worker: string, kill?: KillAt) => {
        const { pid, ended } = startChild({ ...env, WORKER_ID: worker }, kill, PROGRAM);
        running.add(pid);
        return { pid, ended: ended.finally(() => running.delete(pid)) };
      };
      try {
        const fine = ({ runs, stderr }: ChildEnd) =>
          expect(runs, stderr).toMatchObject([{ ok: true, output: { wrong: [] } }]);
        for (const one of await Promise.all([begin('north').ended, begin('south').ended])) fine(one);

        // One stands still with a checkpoint that it has signed and not written, while another signs what comes after it.
        const slow = begin('east', { when: 'stop', text: SIGNING });
        await stopped(slow.pid);
        fine(await begin('west').ended);
        process.kill(slow.pid, 'SIGCONT');
        fine(await slow.ended);

        // One dies with the log in its hands.
        const dead = begin('up', { when: 'stop', text: ENTERING });
        await stopped(dead.pid);
        const other = begin('down');
        process.kill(dead.pid, 'SIGKILL');
        expect((await dead.ended).signal).toBe('SIGKILL');
        fine(await other.ended);
      } finally {
        for (const pid of running) process.kill(pid, 'SIGKILL');
      }
    }),
  );
});

/** Where few are taken, one database has them. */
const fewOn = (kind: DatabaseKind, kills: readonly KillAt[]): readonly KillAt[] =>
  STRIDE >= 24 && kind === 'pglite' ? kills.slice(4, 6) : kills;
