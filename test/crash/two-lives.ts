import { createEngineDatabase, type DatabaseKind } from '../harness/database.js';
import type { KillAt } from './place.js';
import { type ChildEnd, startChild } from './run-child.js';

type Environment = Readonly<Record<string, string>>;

interface Life {
  readonly kind: DatabaseKind;
  readonly program: string;
  readonly kill: KillAt | undefined;
  /** Of both processes, and of the first one alone. */
  readonly env?: Environment;
  readonly first?: Environment;
}

interface Lives {
  readonly died: boolean;
  readonly ended: ChildEnd;
}

/** Runs a program whose process dies, then one that goes on. `first`: settings of the first one alone. */
export async function dieAndGoOn(
  program: string,
  kill: KillAt | undefined,
  env: Environment,
  first: Environment = {},
): Promise<Lives> {
  const ended = await startChild({ ...env, ...first }, kill, program).ended;
  if (ended.signal !== 'SIGKILL') return { died: false, ended };
  return { died: true, ended: await startChild(env, undefined, program).ended };
}

/** The same on a database of their own. */
export async function twoLives({ kind, program, kill, env = {}, first = {} }: Life): Promise<Lives> {
  const { options, drop } = await createEngineDatabase(kind);
  const { databaseUrl, dataDir } = options;
  const place: Environment = databaseUrl === null ? { HOLDFAST_DATA_DIR: dataDir } : { DATABASE_URL: databaseUrl };
  try {
    return await dieAndGoOn(program, kill, { ...place, ...env }, first);
  } finally {
    await drop();
  }
}
