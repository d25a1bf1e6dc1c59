import { Agent } from '@openai/agents';
import { createEngine } from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, type DatabaseKind } from '../../harness/database.js';

/** A database that an engine has made its tables in and left, without one that works on it. */
export async function openLeftDatabase(
  kind: DatabaseKind,
): Promise<{ database: Database; close: () => Promise<void> }> {
  const place = await createEngineDatabase(kind);
  const engine = await createEngine({ agents: [new Agent({ name: 'any' })], ...place.options, workerId: 'test' });
  await engine.stop();
  const database = await openDatabase(place.options);
  return {
    database,
    close: async () => {
      await database.close();
      await place.drop();
    },
  };
}
