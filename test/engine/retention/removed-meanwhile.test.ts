import pg from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { removeLocked } from '../../../src/engine/retention/delete-run.js';
import { createEngine, type Engine } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describePostgresSlowly, type TestDatabase } from '../../harness/database.js';
import { echoAgent } from '../../harness/echo-agent.js';
import { ADMIN, runToRest } from '../../harness/engine.js';

/** Retention removes a run while someone verifies it: that is no fault of its log. */

type Query = (...args: unknown[]) => unknown;

/** Before the first statement with a text is sent, something happens. */
function before(text: string, happens: () => Promise<unknown>): void {
  const original = pg.Client.prototype.query as Query;
  let met = false;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function query(this: unknown, ...args: unknown[]) {
    const [asked] = args as [{ readonly text?: string } | string];
    if (met || !(typeof asked === 'string' ? asked : (asked.text ?? '')).includes(text))
      return original.apply(this, args) as never;
    met = true;
    // The one that asks with a callback waits for that.
    return happens().then(() => original.apply(this, args)) as never;
  });
}

const READS_LOGS = 'from "holdfast"."all_events" where run_id = any(';
const READS_ENTRIES = 'from "holdfast"."log_entries" where run_id = any(';

describePostgresSlowly('a run that is removed while it is verified', () => {
  let place: TestDatabase;
  let engine: Engine;
  let beside: Awaited<ReturnType<typeof openDatabase>>;
  let runs: readonly string[] = [];
  beforeEach(async () => {
    place = await createEngineDatabase('postgres');
    engine = await createEngine({ agents: [echoAgent('one')], workerId: 'test', ...place.options });
    runs = [(await runToRest(engine, 'echo')).id, (await runToRest(engine, 'echo')).id];
    await engine.checkpointNow();
    beside = await openDatabase(place.options);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await beside.close();
    await engine.stop();
    await place.drop();
  });

  const remove = (id: string) => async () =>
    expect(
      await beside.knex.transaction((trx) => removeLocked(trx, id, { actor: 'retention', reason: 'old' })),
    ).toMatchObject({ copies: [] });

  it.each([READS_LOGS, READS_ENTRIES])('is left out of those that were verified: %s', async (text) => {
    const [gone = '', kept = ''] = runs;
    before(text, remove(gone));
    expect((await engine.verifyRuns({ limit: 10 }, ADMIN)).items).toMatchObject([{ runId: kept, ok: true }]);
    expect((await engine.verifyLog(ADMIN)).problems).toEqual([]);
  });

  it('is not known any more where it was asked for alone', async () => {
    const [gone = ''] = runs;
    before(READS_ENTRIES, remove(gone));
    await expect(engine.verifyRun(gone, ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
  });
});
