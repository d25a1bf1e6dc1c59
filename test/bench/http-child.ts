import { SILENT } from '../../src/engine/engine-config.js';
import { createHttpServer } from '../../src/http/server.js';
import { createEngine } from '../../src/index.js';
import { adder } from './adder.js';
import type { Place } from './place.js';
import { STREAM_TOKEN } from './stream-client.js';

/** The API of a measurement, which executes nothing itself: a worker has the same agent. */

const place: Place = JSON.parse(process.argv[2] ?? '{}');
const engine = await createEngine({
  agents: [adder()],
  ...place,
  role: 'api',
});
const http = await createHttpServer(engine, {
  ...{ host: '127.0.0.1', port: 0, maxBodyBytes: 1024 * 1024, console: false, log: SILENT },
  tokens: [{ token: STREAM_TOKEN, actor: 'bench', role: 'admin', tenant: 'default' }],
  tokensConfigured: true,
});
process.stdout.write(`${JSON.stringify(http.url)}\n`);
setInterval(() => {}, 60_000);
