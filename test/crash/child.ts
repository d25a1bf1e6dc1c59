import { createEngine } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { drive, REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { print, reportOf } from './report.js';
import { scenarioOf } from './scenario.js';

/**
 * One process of a crash test: starts the engine, starts or finds the run, decides like a careful person, and prints how
 * it and the runs below it ended. Ends by SIGKILL where KILL_AT says so.
 */
install();
const scenario = scenarioOf(process.env['SCENARIO'] ?? 'tools');
const refused = (error: unknown): never => {
  process.stderr.write(`refused: ${(error as { code?: string }).code}\n`);
  process.exit(3);
};
const place = { databaseUrl: process.env['DATABASE_URL'] ?? null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '' };
const engine = await createEngine({
  ...scenario.config,
  ...place,
  workerId: 'crash',
  crashLimit: 1000,
  turnsPerSegment: 2,
  approvalTimeoutMs: null,
}).catch(refused);
await scenario.prepare?.(engine);
arm();
const { id } = await engine.startRun({ agent: scenario.agent, input: scenario.input ?? 'go' }, REVIEWER, 'the-run');
await drive(engine, id, scenario);
await scenario.afterwards?.(engine);
const { items } = await engine.listRuns({ limit: 50 }, REVIEWER);
const reports = await Promise.all(
  items.filter(({ agent }) => scenario.reports?.(agent) ?? true).map((run) => reportOf(engine, run)),
);
await engine.stop();
if (scenario.check !== undefined) {
  const database = await openDatabase(place);
  await scenario.check(database.knex);
  await database.close();
}
// Runs of one agent are started at once, so that their order is any.
print(reports.sort((a, b) => (`${a.agent} ${a.id}` < `${b.agent} ${b.id}` ? -1 : 1)));
process.exit(0);
