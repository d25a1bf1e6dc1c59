import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createEngine, type RunDelta } from '../../src/index.js';
import { createEngineDatabase, describeEachDatabaseSlowly } from '../harness/database.js';
import { ADMIN } from '../harness/engine.js';
import type { KillAt } from './place.js';
import { talker } from './streaming-agent.js';

const CHILD = join(import.meta.dirname, '../../dist/programs/test/crash/streaming-child.js');

function startChild(env: Readonly<Record<string, string>>, killAt?: KillAt) {
  const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
  const child = spawn(process.execPath, [CHILD], {
    env: { ...inherited, ...env, ...(killAt === undefined ? {} : { KILL_AT: JSON.stringify(killAt) }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text;
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('close', (_code, signal) => resolve(signal)),
  );
  return { said, ended };
}

describeEachDatabaseSlowly('a process that dies in the middle of a stream', (kind) => {
  it('leaves nothing of it in the log; the one that follows from another process is told', {
    timeout: 120_000,
  }, async () => {
    const database = await createEngineDatabase(kind);
    const { databaseUrl, dataDir } = database.options;
    const env: Record<string, string> =
      databaseUrl === null ? { HOLDFAST_DATA_DIR: dataDir } : { DATABASE_URL: databaseUrl };
    try {
      const first = startChild(env, { when: 'place', place: 'stream:middle' });
      await expect.poll(() => first.said.err, { timeout: 90_000 }).toMatch(/^run_\w+\n/);
      const id = first.said.err.trim();
      const deltas: RunDelta[] = [];
      // Only PostgreSQL lets a second process in. This one executes nothing, so that the segment goes on in the second child.
      const onlooker =
        databaseUrl === null
          ? null
          : await createEngine({ agents: [talker], databaseUrl, workerId: 'onlooker', role: 'api' });
      onTestFinished(() => onlooker?.stop({ graceMs: 0 }));
      const following = (async () => {
        if (onlooker === null) return;
        const signal = AbortSignal.timeout(60_000);
        for await (const one of onlooker.streamRun(id, { after: 0, signal }, ADMIN))
          if (!('seq' in one)) deltas.push(one);
      })();
      expect(await first.ended).toBe('SIGKILL');
      const second = startChild(env);
      expect(await second.ended, second.said.err).toBe(null);
      const report = JSON.parse(second.said.out);
      expect(report).toMatchObject({ status: 'completed', ok: true, complete: true });
      expect(report.events.map((event: { kind: string }) => event.kind)).toEqual([
        ...['run.created', 'segment.started', 'model.requested', 'model.responded', 'run.completed'],
      ]);
      expect(report.seen).toHaveLength(1);
      await following;
      await onlooker?.stop({ graceMs: 0 });
      if (onlooker === null) return;
      const [attempt] = report.seen;
      const replaced = deltas.find((one) => one.type === 'replaced');
      expect(replaced).toMatchObject({ turn: 1, by: attempt });
      const textOf = (of: string): string =>
        deltas.map((one) => (one.type === 'text' && one.attempt === of ? one.delta : '')).join('');
      expect(report.output.startsWith(textOf(replaced?.type === 'replaced' ? replaced.attempt : ''))).toBe(true);
      // The last pieces may lose the race against the answer; the answer has them.
      expect(report.output.startsWith(textOf(attempt))).toBe(true);
      expect(textOf(attempt).length).toBeGreaterThan(report.output.length / 2);
    } finally {
      await database.drop();
    }
  });
});
