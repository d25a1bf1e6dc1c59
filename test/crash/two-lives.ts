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

/** Runs a program whose process dies, then one that goes on, on a database of their own. */
export async function twoLives({ kind, program, kill, env = {}, first = {} }: Life): Promise<{
  readonly died: boolean;
  readonly ended: ChildEnd;
}> {
  const { options, drop } = await createEngineDatabase(kind);
  const { databaseUrl, dataDir } = options;
  const place: Environment = databaseUrl === null ? { HOLDFAST_DATA_DIR: dataDir } : { DATABASE_URL: databaseUrl };
  const both = { ...place, ...env };
  try {
    const ended = await startChild({ ...both, ...first }, kill, program).ended;
    if (ended.signal !== 'SIGKILL') return { died: false, ended };
    return { died: true, ended: await startChild(both, undefined, program).ended };
  } finally {
    await drop();
  }
}
