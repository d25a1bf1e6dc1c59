import type { Database } from '../../src/storage/database/database.js';

/** A part of what the database did for a statement. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (plan: PlanNode): readonly PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Executes a statement, and gives all parts of its plan. */
export async function explained(
  { pool }: Pick<Database, 'pool'>,
  text: string,
  values: readonly unknown[],
): Promise<readonly PlanNode[]> {
  const { rows } = await pool.query(`explain (analyze, format json) ${text}`, [...values]);
  if (rows[0] === undefined) throw new Error('the database gave no plan');
  // A column of JSON, which the drivers have read.
  const [{ Plan: plan }] = rows[0]['QUERY PLAN'] as [{ Plan: PlanNode }];
  return nodesOf(plan);
}

/** How many rows a part of a plan has read. */
export const rowsReadBy = (node: PlanNode): number =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
