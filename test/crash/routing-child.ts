import { createEngine } from '../../src/index.js';
import { drive, REVIEWER } from './careful-person.js';
import { print, reportOf } from './report.js';
import { routing } from './routing-agent.js';

/** One process that runs an agent whose models are chosen by a router, and may die between a choice and the end. */
const engine = await createEngine({
  ...routing,
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'crash',
  crashLimit: 1000,
});
const { id } = await engine.startRun({ agent: 'looker', input: 'go' }, REVIEWER, 'the-run');
print([await reportOf(engine, await drive(engine, id, {}))]);
await engine.stop();
process.exit(0);
