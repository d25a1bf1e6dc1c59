import type { Database } from '../storage/database.js';
import { markedTools } from '../storage/tool-marks.js';
import { type Finding, warn } from './finding.js';

const NAMED_AT_MOST = 5;

/** Tools that are declared deterministic and were seen to be otherwise. */
export async function checkTools(db: Database['knex']): Promise<readonly Finding[]> {
  const marks = await markedTools(db, NAMED_AT_MOST);
  return marks.map(({ tool, toolVersion, runId, seq }) =>
    warn(
      'tools',
      `${tool} (version ${toolVersion}) is declared deterministic, and gave something else than event ${seq} of ${runId}`,
      'Make it give the same for the same input, under another `version`; or declare it without `deterministic`.',
    ),
  );
}
