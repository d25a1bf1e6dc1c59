import { appendFileSync } from 'node:fs';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { openDatabase } from '../../src/storage/database/open-database.js';

/**
 * A program on bare DBOS, without Holdfast, that shows one hole: its effect happens, then it dies before DBOS has
 * recorded the step (first process), and it goes on (second process).
 */
const effectsFile = process.env['EFFECTS_FILE'] ?? '';
const dies = process.env['DIES'] === '1';

const database = await openDatabase({
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
});
const pay = DBOS.registerWorkflow(
  async () => {
    await DBOS.runStep(
      async () => {
        appendFileSync(effectsFile, 'paid\n');
        if (dies) process.kill(process.pid, 'SIGKILL');
        await new Promise((resolve) => setTimeout(resolve, dies ? 10_000 : 1));
      },
      { name: 'pay' },
    );
  },
  { name: 'pay' },
);
DBOS.setConfig({
  name: 'bare',
  systemDatabaseUrl: database.url,
  systemDatabasePool: database.pool,
  applicationVersion: '1',
  executorID: 'bare',
  logLevel: 'error',
});
await DBOS.launch();
const handle = await DBOS.startWorkflow(pay, { workflowID: 'the-payment' })();
await handle.getResult();
await DBOS.shutdown();
await database.close();
process.exit(0);
