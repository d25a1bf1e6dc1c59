import type { Knex } from 'knex';

/** A tool that is declared deterministic, and gave something else than the event of a run says. */
export interface ToolMark {
  readonly tool: string;
  readonly toolVersion: string;
  readonly runId: string;
  readonly seq: number;
}

/** Marks a tool, once for each version: the first finding stands. */
export async function markTool(db: Knex, tenant: string, { tool, toolVersion, runId, seq }: ToolMark): Promise<void> {
  await db('holdfast.tool_marks')
    .insert({ tenant, tool, tool_version: toolVersion, run_id: runId, seq })
    .onConflict(['tenant', 'tool', 'tool_version'])
    .ignore();
}

/** The marks of a tenant among these versions of tools, by name. */
export async function marksAmong(
  db: Knex,
  tenant: string,
  tools: readonly Pick<ToolMark, 'tool' | 'toolVersion'>[],
): Promise<ToolMark[]> {
  if (tools.length === 0) return [];
  return db('holdfast.tool_marks')
    .where({ tenant })
    .whereIn(
      ['tool', 'tool_version'],
      tools.map(({ tool, toolVersion }) => [tool, toolVersion]),
    )
    .orderBy(['tool', 'tool_version'])
    .select('tool', 'tool_version as toolVersion', 'run_id as runId', 'seq');
}

/** Marked tools of all tenants, the latest first. */
export const markedTools = (db: Knex, limit: number): Promise<ToolMark[]> =>
  db('holdfast.tool_marks')
    .orderBy('marked_at', 'desc')
    .limit(limit)
    .select('tool', 'tool_version as toolVersion', 'run_id as runId', 'seq');
