import { countingProxy } from '../containers/counting-proxy.js';
import { createEngineDatabase, type DatabaseKind } from '../harness/database.js';
import { DOCKER_HOST } from '../harness/docker.js';
import { type ChildEnd, startChild } from './run-child.js';

/** How processes ended that worked with a container engine. */
export interface EngineLives {
  readonly deaths: number;
  /** The last one, which no one killed. */
  readonly ended: ChildEnd;
  /** Pieces of its traffic with the engine. */
  readonly count: number;
}

/** Runs a program with processes that die at these pieces of traffic with the engine, then with one that does not. */
export async function engineLives(
  kind: DatabaseKind,
  program: string,
  pieces: readonly number[],
  more: Readonly<Record<string, string>> = {},
): Promise<EngineLives> {
  const database = await createEngineDatabase(kind);
  const { databaseUrl, dataDir } = database.options;
  const env = { HOLDFAST_DATA_DIR: dataDir, ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }) };
  let deaths = 0;
  try {
    for (const piece of [...pieces, Number.POSITIVE_INFINITY]) {
      const proxy = await countingProxy(DOCKER_HOST);
      const child = startChild({ ...env, ...more, ENGINE_HOST: proxy.host }, undefined, program);
      proxy.onPiece = (reached) => {
        if (reached === piece) process.kill(child.pid, 'SIGKILL');
      };
      const ended = await child.ended;
      const count = proxy.count();
      await proxy.close();
      if (ended.signal !== 'SIGKILL') return { deaths, ended, count };
      deaths++;
    }
    throw new Error('the last process died too');
  } finally {
    await database.drop();
  }
}
