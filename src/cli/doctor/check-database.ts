import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolVersion } from '../../engine/agents/list-agents.js';
import type { Database } from '../../storage/database/database.js';
import { refuseNewer, schemaState } from '../../storage/database/migrate.js';
import { openDatabase } from '../../storage/database/open-database.js';
import { databaseExists } from '../../storage/database/postgres/postgres-place.js';
import { markedTools, type ToolMark } from '../../storage/replay/tool-marks.js';
import { checkStrays } from './check-strays.js';
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

const NAMED_AT_MOST = 5;
const READ_AT_MOST = 1000;

/**
 * Tools that are declared deterministic and were seen to be otherwise, without those that the configuration has in another way by now. Null:
 * there is no configuration to say so.
 */
export async function checkTools(
  db: Database['knex'],
  declared: readonly ToolVersion[] | null,
): Promise<readonly Finding[]> {
  const marks = (await markedTools(db, READ_AT_MOST)).filter((mark) => stands(mark, declared ?? []));
  return marks
    .slice(0, NAMED_AT_MOST)
    .map(({ tool, toolVersion, runId, seq }) =>
      warn(
        'tools',
        `${tool} (version ${toolVersion}) is declared deterministic, and gave something else than event ${seq} of ${runId}`,
        'Make it give the same for the same input, under another `version`; or declare it without `deterministic`.',
      ),
    );
}

/** A tool that no one declares any more may be one of an agent behind a tool. */
function stands({ tool, toolVersion }: ToolMark, declared: readonly ToolVersion[]): boolean {
  const now = declared.filter((one) => one.tool === tool);
  return now.length === 0 || now.some((one) => one.toolVersion === toolVersion && one.deterministic);
}
