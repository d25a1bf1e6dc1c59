import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolVersion } from '../../engine/agents/list-agents.js';
import type { Database } from '../../storage/database/database.js';
import { refuseNewer, schemaState } from '../../storage/database/migrate.js';
import { openDatabase } from '../../storage/database/open-database.js';
import { databaseExists } from '../../storage/database/postgres/postgres-place.js';
import { checkStrays } from './check-strays.js';
import { checkTools } from './check-tools.js';
import { type Finding, failed, ok, warn } from './finding.js';

const CHECK = 'database';

/** Opens the database, compares its schema and looks for strays in it; changes nothing and makes nothing. */
export async function checkDatabase(
  { databaseUrl, dataDir }: Settings,
  tools: readonly ToolVersion[] | null,
): Promise<readonly Finding[]> {
  if (databaseUrl === null && !existsSync(join(dataDir, 'pg')))
    return [ok(CHECK, `PGlite in ${dataDir} is made at the first start`)];
  try {
    if (databaseUrl !== null && !(await databaseExists(databaseUrl)))
      return [warn(CHECK, 'PostgreSQL has no database of that name yet', 'Make it, or let `holdfast serve` make it.')];
    const database = await openDatabase({ databaseUrl, dataDir });
    try {
      return await examine(database, database.kind === 'pglite' ? `PGlite in ${dataDir}` : 'PostgreSQL', tools);
    } finally {
      await database.close();
    }
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'data_dir_in_use')
      return [ok(CHECK, `in use: ${error.message}`)];
    return [failed(CHECK, error)];
  }
}

async function examine(
  { knex }: Database,
  name: string,
  tools: readonly ToolVersion[] | null,
): Promise<readonly Finding[]> {
  const state = await schemaState(knex);
  refuseNewer(state);
  if (state.pending.length === 0)
    return [ok(CHECK, `${name}, schema up to date`), ...(await checkStrays(knex)), ...(await checkTools(knex, tools))];
  const wayOut = 'Run `holdfast migrate`, or start `holdfast serve`.';
  return [warn(CHECK, `${name} lacks ${state.pending.length} migrations`, wayOut)];
}
