import type { Caller } from '../../core/caller.js';
import { previewOf } from '../../core/interruptions/context.js';
import type { Page, PageOf } from '../../core/page.js';
import { INPUT_CHARS, type RunRowView } from '../../core/runs/run-rows.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { shownRun } from '../../storage/integrity/legible-rows.js';
import { shownOf } from '../../storage/integrity/shown-rows.js';
import { searchRunRows, type WaitRow, waitsOf } from '../../storage/runs/run-search.js';
import type { EngineContext } from '../engine-context.js';
import { beginningOf, type ListFilter, withPreviews } from './read-runs.js';

const waitView = ({ kind, count, oldest, expires }: WaitRow): RunRowView['waitingFor'] => ({
  ...{ kind, count, oldestAt: oldest.toISOString(), expiresAt: expires?.toISOString() ?? null },
});

/** Runs in short, newest first. A page may be empty and still have a next one, where few of many have the text. */
export const searchRuns = (
  { stepContext: { knex } }: EngineContext,
  { limit, cursor, text, ...filter }: ListFilter & PageOf & { readonly text?: string },
  { tenant }: Caller,
): Promise<Page<RunRowView>> =>
  atOneMoment(knex, async (trx) => {
    const page = { limit, ...(cursor === undefined ? {} : { cursor }), ...(text === undefined ? {} : { text }) };
    const { rows, next } = await searchRunRows(trx, { ...filter, tenant }, page);
    const seen = await shownOf(trx, rows, 'short');
    const waits = await waitsOf(
      trx,
      rows.flatMap(({ id, status }) => (status === 'paused' ? [id] : [])),
    );
    const items = rows.map((row) => {
      const { row: cut } = withPreviews(row, ['input', 'output'], '');
      const { pending = [], integrity = [] } = seen.get(row.id) ?? {};
      const view = shownRun(cut, pending, integrity);
      const wait = waits.get(row.id);
      return {
        ...{ id: view.id, agent: view.agent, agentVersion: view.agentVersion, status: view.status },
        errorCode: view.error?.code ?? null,
        waitingFor: wait === undefined ? null : waitView(wait),
        inputPreview: previewOf(view.input, (whole) => beginningOf(whole, INPUT_CHARS)),
        ...{ sessionId: view.sessionId, turns: view.turns, totalTokens: view.usage.totalTokens },
        ...{ costUsd: view.costUsd, workedMs: Number(row.active_ms), parentRunId: view.parentRunId },
        ...{ forkedFrom: view.forkedFrom, createdAt: view.createdAt, completedAt: view.completedAt },
        integrity: view.integrity,
      };
    });
    return { items, nextCursor: next };
  });
