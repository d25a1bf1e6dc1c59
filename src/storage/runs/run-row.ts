import { z } from 'zod';
import { type ErrorView, isErrorCode } from '../../core/errors/errors.js';
import type { Integrity } from '../../core/integrity.js';
import { type JsonObject, type JsonValue, jsonObject, jsonValue } from '../../core/json.js';
import { usdOf } from '../../core/money.js';
import { errorView, type RunLimits, type RunStatus, type RunView, runLimits, type Usage } from '../../core/runs/run.js';
import { viewOfRow } from '../database/legible-rows.js';
import { readJson, readJsonOrNull } from '../database/stored-json.js';

/** A row of `holdfast.runs` as the driver gives it: int8 as text. */
export interface RunRow {
  id: string;
  tenant: string;
  parent_run_id: string | null;
  parent_call_id: string | null;
  /** Ids of the runs above it, the topmost first, as JSON. */
  ancestors: string;
  agent: string;
  agent_version: string;
  agent_hash: string;
  /** Name of the scaffold of its agent; null: it had none. */
  scaffold: string | null;
  status: RunStatus;
  priority: number;
  input: string;
  grants: string;
  limits: string;
  metadata: string;
  stream: boolean | null;
  output: string | null;
  error: string | null;
  segment: number;
  turns: number;
  input_tokens: string;
  output_tokens: string;
  total_tokens: string;
  cost_nano_usd: string | null;
  active_ms: string;
  time_left_ms: string | null;
  child_input_tokens: string;
  child_output_tokens: string;
  child_total_tokens: string;
  child_active_ms: string;
  /** Null: not known. */
  child_cost_nano_usd: string | null;
  segment_started_at: Date | null;
  cancel_requested_at: Date | null;
  cancel_reason: string | null;
  forked_from_run_id: string | null;
  forked_from_seq: number | null;
  /** Up to which event the log holds what its present segment is not to do again: taken over, or recorded before it was rebuilt. */
  recorded_seq: number | null;
  /** The last segment that was made again from the log; null: none was. */
  rebuilt_segment: number | null;
  /** The model that is asked in place of those of the agents; null: theirs. */
  model: string | null;
  created_at: Date;
  updated_at: Date;
  completed_at: Date | null;
  session_id: string | null;
  /** How many items of the input came from the session. */
  history_items: number;
  /** When its content was erased; null: it is there. */
  erased_at: Date | null;
  /** The task that it executes; null: it is a run of its own. */
  task_id: string | null;
}

/** As `grantsToJson` wrote them; the parser of grants checks the rest. */
const grantRows = z.array(z.looseObject({ capability: z.string(), effect: z.enum(['allow', 'ask', 'deny']) }));

const cell = ({ id }: Pick<RunRow, 'id'>, column: keyof RunRow) => ({ table: 'runs', row: id, column });

export const limitsOf = (row: Pick<RunRow, 'id' | 'limits'>): RunLimits =>
  readJson(runLimits, row.limits, cell(row, 'limits'));
export const grantsOf = (row: Pick<RunRow, 'id' | 'grants'>): z.infer<typeof grantRows> =>
  readJson(grantRows, row.grants, cell(row, 'grants'));
const idList = z.array(z.string());
export const ancestorsOf = (row: Pick<RunRow, 'id' | 'ancestors'>): readonly string[] =>
  readJson(idList, row.ancestors, cell(row, 'ancestors'));
export const inputOf = (row: RunRow): JsonValue => readJson(jsonValue, row.input, cell(row, 'input'));

export const metadataOf = (row: RunRow): JsonObject => readJson(jsonObject, row.metadata, cell(row, 'metadata'));

export const errorOf = (row: Pick<RunRow, 'id' | 'error'>): ErrorView | null => {
  const view = readJsonOrNull(errorView, row.error, cell(row, 'error'));
  return view === null ? null : { ...view, code: isErrorCode(view.code) ? view.code : 'run_failed' };
};

/** With that of the runs below that are over. */
const costOfFamily = ({ cost_nano_usd: own, child_cost_nano_usd: below }: RunRow): string | null =>
  own === null || below === null ? null : usdOf(BigInt(own) + BigInt(below));

/** With that of the runs below that are over. */
export const usageOfFamily = (row: RunRow): Usage => ({
  inputTokens: Number(row.input_tokens) + Number(row.child_input_tokens),
  outputTokens: Number(row.output_tokens) + Number(row.child_output_tokens),
  totalTokens: Number(row.total_tokens) + Number(row.child_total_tokens),
});

/** `integrity`: what of it was found to be other than in the log, where it was compared. Throws `row_changed`. */
export const runViewOf = (stored: RunRow, pending: readonly string[], integrity: Integrity = []): RunView =>
  viewOfRow(stored, { table: 'runs', row: stored.id }, (row) => ({
    id: row.id,
    tenant: row.tenant,
    parentRunId: row.parent_run_id,
    sessionId: row.session_id,
    agent: row.agent,
    agentVersion: row.agent_version,
    status: row.status,
    input: inputOf(row),
    output: readJsonOrNull(jsonValue, row.output, cell(row, 'output')),
    error: errorOf(row),
    interruptions: [...pending],
    segment: row.segment,
    turns: row.turns,
    usage: usageOfFamily(row),
    costUsd: costOfFamily(row),
    limits: limitsOf(row),
    metadata: metadataOf(row),
    forkedFrom:
      row.forked_from_run_id === null ? null : { runId: row.forked_from_run_id, seq: row.forked_from_seq ?? 0 },
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    completedAt: row.completed_at?.toISOString() ?? null,
    erasedAt: row.erased_at?.toISOString() ?? null,
    integrity,
  }));
