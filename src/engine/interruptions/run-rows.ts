import type { Caller } from '../../core/caller.js';
import { previewOf } from '../../core/interruptions/context.js';
import { INPUT_CHARS, type RunOrder, type RunRowView } from '../../core/interruptions/run-rows.js';
import type { Page, PageOf } from '../../core/page.js';
import { timeOf, timeOrNull } from '../../storage/database/legible-rows.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { searchRunRows, type WaitRow, waitsOf } from '../../storage/interruptions/run-search.js';
import type { EngineContext } from '../engine-context.js';
import { beginningOf, type ListFilter, listedOf } from '../runs/read-runs.js';

const waitView = ({ kind, count, oldest, expires }: WaitRow): RunRowView['waitingFor'] => ({
  ...{ kind, count, oldestAt: timeOf(oldest), expiresAt: timeOrNull(expires) },
});

interface Search extends ListFilter, PageOf {
  readonly text?: string;
  /** Default: the newest first. */
  readonly order?: RunOrder;
}

/** Runs in short, in an order. A page may be empty and still have a next one, where few of many have the text. */
export const searchRuns = (
  { stepContext: { knex } }: EngineContext,
  { limit, cursor, text, order = 'newest', ...filter }: Search,
  { tenant }: Caller,
): Promise<Page<RunRowView>> =>
  atOneMoment(knex, async (trx) => {
    const page = { limit, order, ...(cursor === undefined ? {} : { cursor }), ...(text === undefined ? {} : { text }) };
    const { rows, next } = await searchRunRows(trx, { ...filter, tenant }, page);
    const views = await listedOf(trx, rows);
    const waits = await waitsOf(
      trx,
      rows.flatMap(({ id, status }) => (status === 'paused' ? [id] : [])),
    );
    const items = rows.map((row, at) => {
      const view = views[at];
      if (view === undefined) throw new Error(`The run ${row.id} has no view.`);
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
