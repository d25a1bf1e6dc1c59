import { createEngine } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { drive, REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { print, reportOf } from './report.js';
import { tools } from './tools-scenario.js';

/**
 * One process of a crash test of repairs: with ONLY_SOURCE it brings a run to where it waits and breaks its log; else it repairs that
 * run, drives the one that goes on, and prints how both ended. Ends by SIGKILL where KILL_AT says so.
 */
install();
const place = { databaseUrl: process.env['DATABASE_URL'] ?? null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '' };
const engine = await createEngine({
  ...{ ...tools.config, ...place, workerId: 'crash', crashLimit: 1000, turnsPerSegment: 2, approvalTimeoutMs: null },
});
const { id } = await engine.startRun({ agent: tools.agent, input: 'go' }, REVIEWER, 'the-run');
if (process.env['ONLY_SOURCE'] === '1') {
  const { status } = await engine.getRun(id, REVIEWER, { waitMs: 20_000 });
  if (status !== 'paused') throw new Error(`expected a run that waits, found ${status}`);
  await engine.stop();
  const database = await openDatabase(place);
  await database.knex.raw(
    `update holdfast.events set data = replace(data, '"turn":3', '"turn":4') where run_id = ? and kind = 'model.requested'`,
    [id],
  );
  await database.close();
} else {
  arm();
  const { repairedBy } = await engine.repairRun(id, { apply: true }, REVIEWER);
  const again = await engine.repairRun(id, { apply: true }, REVIEWER);
  if (repairedBy === null || again.repairedBy !== repairedBy)
    throw new Error(`${repairedBy}, then ${again.repairedBy}`);
  const { items } = await engine.listRuns({ limit: 100 }, REVIEWER);
  if (items.length !== 2) throw new Error(`expected the run and the one that goes on, found ${items.length}`);
  const source = await engine.getRun(id, REVIEWER);
  if (source.status !== 'cancelled' || source.interruptions.length > 0)
    throw new Error(`the source is ${source.status}`);
  const { events, ...report } = await reportOf(engine, await drive(engine, repairedBy, tools));
  const blank = { data: null, dataHash: '', stateHashAfter: '' };
  print([{ ...report, id: '', events: events.map(({ seq, kind }) => ({ seq, kind, ...blank })) }]);
}
await engine.stop();
process.exit(0);
