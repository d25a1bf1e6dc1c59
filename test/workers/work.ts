import { createEngine, type EngineConfig } from '../../src/index.js';

/** Works as a worker process of a test. It says when it is ready, and how it ended. */
export async function work(config: EngineConfig): Promise<void> {
  const { DATABASE_URL, HOLDFAST_DATA_DIR, WORKER_ID, CONCURRENCY, STILL_AFTER_MS } = process.env;
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  const quiet = (): void => {};
  const log = (fields: object, message: string): void => say(`${message} ${JSON.stringify(fields)}`);
  const engine = await createEngine({
    ...config,
    role: 'worker',
    log: { debug: quiet, info: quiet, warn: log, error: log },
    databaseUrl: DATABASE_URL ?? null,
    dataDir: HOLDFAST_DATA_DIR ?? '',
    workerId: WORKER_ID ?? null,
    concurrency: Number(CONCURRENCY ?? 8),
    stillAfterMs: Number(STILL_AFTER_MS ?? 15_000),
    onFatal: ({ code }) => {
      say(`fatal ${code}`);
      process.exit(1);
    },
    onStopAsked: () => void stop('asked'),
  });
  async function stop(why: string): Promise<void> {
    await engine.stop({ graceMs: 5000 });
    say(`stopped ${why}`);
    process.exit(0);
  }
  // Not `once`: where no one listens any more, the Agents SDK ends the process at once.
  process.on('SIGTERM', () => void stop('by a signal'));
  say('ready');
}
