import { isObject, type JsonValue } from '../../src/core/json.js';
import type { RunEvent } from '../../src/core/log/event.js';
import { readEvents } from '../../src/storage/log/read-events.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';

const EVENTS_AT_ONCE = 200;

/** Reads the log of a run from its first event, some events at a time. */
export async function* eventsOfRun({ knex }: Pick<StepContext, 'knex'>, runId: string): AsyncGenerator<RunEvent> {
  for (let after = 0, more = true; more; ) {
    const page = await withDatabaseRetry(() => readEvents(knex, runId, after, EVENTS_AT_ONCE));
    yield* page.rows;
    after = page.rows.at(-1)?.seq ?? after;
    more = page.more;
  }
}

/** Of the runs that a run started, directly or not. */
const RUNS_MOST = 1000;

/** Something that an agent said, and where. */
export interface RunText {
  readonly place: string;
  /** Null: it cannot be read any more. */
  readonly text: string | null;
}

/**
 * What the models of a run, and of the runs that it started, said in each turn: messages and calls with their arguments, as their log has
 * them. What a model only thought is left out.
 */
export async function* saidByRun(ctx: Pick<StepContext, 'knex'>, runId: string): AsyncGenerator<RunText> {
  const runs = [runId];
  for (const [index, id] of runs.entries()) {
    const where = id === runId ? '' : `${id}, `;
    if (index === RUNS_MOST) {
      yield { place: `the runs from ${id} on`, text: null };
      return;
    }
    for await (const { kind, data } of eventsOfRun(ctx, id)) {
      if (kind === 'child.started') runs.push(childIn(data));
      if (kind === 'model.responded') yield saidIn(data, where);
    }
  }
}

const childIn = (data: JsonValue): string => (isObject(data) ? String(data['childRunId']) : '');

function saidIn(data: JsonValue, where: string): RunText {
  if (!isObject(data) || !Array.isArray(data['output'])) return { place: `${where}an answer of its model`, text: null };
  const items = data['output'].filter((item) => !isObject(item) || item['type'] !== 'reasoning');
  return { place: `${where}turn ${String(data['turn'])}`, text: JSON.stringify(items) };
}
