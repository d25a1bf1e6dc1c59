import { expect, it } from 'vitest';
import { countingProxy } from '../containers/counting-proxy.js';
import { createEngineDatabase, type DatabaseKind, describeCrashes } from '../harness/database.js';
import { DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { type ChildEnd, startChild } from './run-child.js';

/** A worker dies with a container at work, again and again: the run ends as without, and nothing of the container is left. */

const PROGRAM = 'containers-child.js';
/** Between two instants. What lies between two pieces is tried for one command in test/containers/crash.test.ts. */
const STRIDE = Math.min(100, Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24));

const suite = (kind: DatabaseKind): void => {
  /** Runs the run with processes that die at these pieces of traffic with the engine, then with one that does not. */
  const lives = async (
    pieces: readonly number[],
  ): Promise<{ readonly deaths: number; readonly ended: ChildEnd; readonly count: number }> => {
    const database = await createEngineDatabase(kind);
    const { databaseUrl, dataDir } = database.options;
    const env: Record<string, string> =
      databaseUrl === null ? { HOLDFAST_DATA_DIR: dataDir } : { DATABASE_URL: databaseUrl };
    let deaths = 0;
    let count = 0;
    try {
      for (const piece of [...pieces, Number.POSITIVE_INFINITY]) {
        const proxy = await countingProxy(DOCKER_HOST);
        const child = startChild({ ...env, ENGINE_HOST: proxy.host }, undefined, PROGRAM);
        proxy.onPiece = (reached) => {
          if (reached === piece) process.kill(child.pid, 'SIGKILL');
        };
        const ended = await child.ended;
        count = proxy.count();
        await proxy.close();
        if (ended.signal !== 'SIGKILL') return { deaths, ended, count };
        deaths++;
      }
      throw new Error('the last process died too');
    } finally {
      await database.drop();
    }
  };

  const expectWhole = ({ ended }: { readonly ended: ChildEnd }): void => {
    const [run] = ended.runs;
    expect(run, ended.stderr).toMatchObject({ status: 'completed', ok: true, complete: true });
    const outcomes = (run?.events ?? [])
      .filter(({ kind }) => kind === 'call.finished')
      .map(({ data }) => data as { callId: string; outcome: { output: unknown } })
      .map(({ callId, outcome }) => [callId, outcome.output]);
    expect(outcomes).toEqual([
      ['one', { exitCode: 0, stdout: 'one\n', stderr: '' }],
      ['edit', { sizeBytes: 6 }],
      ['ask', 'yes'],
      ['two', { exitCode: 5, stdout: '', stderr: '' }],
      ['three', { exitCode: 0, stdout: '', stderr: '' }],
      ['read', { content: '1\tfirst\n2\ttwo', totalLines: 2 }],
    ]);
  };

  it('ends its run as if it had not died', { timeout: 1_800_000 }, async () => {
    const whole = await lives([]);
    expectWhole(whole);
    for (let piece = 3; piece < whole.count; piece += STRIDE) {
      const died = await lives([piece]);
      expectWhole(died);
      // How many pieces there are is not always the same.
      if (piece < whole.count / 2) expect(died.deaths).toBe(1);
    }
    expectWhole(await lives([20, 20, 20, 20]));
  });
};

describeDockerSlowly('containers', () => describeCrashes('a worker that dies around a container', suite));
