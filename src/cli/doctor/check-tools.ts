import type { ToolVersion } from '../../engine/agents/list-agents.js';
import type { Database } from '../../storage/database/database.js';
import { markedTools, type ToolMark } from '../../storage/replay/tool-marks.js';
import { type Finding, warn } from './finding.js';

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
