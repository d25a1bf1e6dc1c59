import { createEngine } from '../../src/index.js';

/** Starts an engine once on the database of the environment: what it leaves is what tests copy. */
const engine = await createEngine({
  agents: [],
  workerId: 'first',
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
});
await engine.stop();
process.exit(0);
