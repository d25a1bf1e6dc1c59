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

/** Marked tools of all tenants, the latest first. */
export const markedTools = (db: Knex, limit: number): Promise<ToolMark[]> =>
  db('holdfast.tool_marks')
    .orderBy('marked_at', 'desc')
    .limit(limit)
    .select('tool', 'tool_version as toolVersion', 'run_id as runId', 'seq');
