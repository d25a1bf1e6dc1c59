import { join } from 'node:path';
import { makeLogKey } from '../../src/engine/evidence/log-keys.js';
import { createHttpServer } from '../../src/http/server.js';
import { createEngine } from '../../src/index.js';
import { agents } from './agents.js';
import { sampleOnSignal } from './sample.js';
import { STEADY_TOKEN } from './steady-load.js';

/** The process that the steady soak watches: works, and serves HTTP, as `holdfast serve` does. */

const { DATABASE_URL, HOLDFAST_DATA_DIR: dataDir = '' } = process.env;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const quiet = (): void => {};
const loud = (fields: object, message: string): void => say(`log ${message} ${JSON.stringify(fields)}`);
const log = { debug: quiet, info: quiet, warn: loud, error: loud };

const signingKeyFile = join(dataDir, 'soak-key');
makeLogKey(signingKeyFile, 'holdfast/soak');
const engine = await createEngine({
  ...{
    agents,
    databaseUrl: DATABASE_URL ?? null,
    dataDir,
    workerId: 'steady',
    turnsPerSegment: 3,
    signingKeyFile,
    log,
  },
  onFatal: ({ code }) => {
    say(`fatal ${code}`);
    process.exit(1);
  },
});
const http = await createHttpServer(engine, {
  ...{ host: '127.0.0.1', port: 0, maxBodyBytes: 1_000_000, console: false, log, tokensConfigured: true },
  tokens: [{ token: STEADY_TOKEN, actor: 'ada', role: 'admin', tenant: 'default', installation: 'operator' }],
});
sampleOnSignal();
process.on('SIGTERM', () => {
  void http
    .close(1000)
    .then(() => engine.stop({ graceMs: 5000 }))
    .then(() => process.exit(0));
});
say(`ready ${http.url}`);
