import { Agent } from '@openai/agents';
import { SILENT } from '../../src/engine/engine-config.js';
import { createHttpServer } from '../../src/http/server.js';
import { createEngine, defineAgent, OllamaModelProvider } from '../../src/index.js';
import type { Place } from './place.js';
import { followRun, STREAM_TOKEN, SUBSCRIBER_TOKENS } from './stream-client.js';

/** One process of a measurement of streams: works, serves, or does both and follows a run itself. */

interface StreamJob {
  readonly place: Place;
  readonly modelUrl: string;
  readonly role: 'api' | 'worker' | 'all';
  readonly runs: number;
}

const { place, modelUrl, role, runs }: StreamJob = JSON.parse(process.argv[2] ?? '{}');
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const model = await new OllamaModelProvider({ baseURL: modelUrl }).getModel('bench');
const talker = defineAgent({ agent: new Agent({ name: 'talker', model }), stream: true });
const engine = await createEngine({ agents: [talker], ...place, role, workerId: `bench-${role}` });
const http = await createHttpServer(engine, {
  ...{ host: '127.0.0.1', port: 0, maxBodyBytes: 1024 * 1024, console: false, log: SILENT },
  tokens: [STREAM_TOKEN, ...SUBSCRIBER_TOKENS].map((token, n) => ({
    ...{ token, actor: `bench-${n}`, role: 'admin' as const, tenant: 'default' },
  })),
  tokensConfigured: true,
});
say(http.url);

const MB = 1024 * 1024;
for (let n = 0; n < runs; n++) {
  (globalThis as { gc?: () => void }).gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 10);
  const begin = performance.now();
  let chars = 0;
  await followRun(http.url, (text) => {
    chars += text.length;
  });
  clearInterval(watch);
  say({ ms: performance.now() - begin, mb: (peak - before) / MB, chars });
}
setInterval(() => {}, 60_000);
