import { existsSync, readdirSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import {
  createEngine,
  defineAgent,
  defineTool,
  type ExportView,
  functionModel,
  HoldfastError,
} from '../../src/index.js';
import { call, say, scripted } from '../harness/script.js';
import { TOKEN } from '../object-store/hub-server.js';
import { BUCKET, KEYS, REGION } from '../object-store/s3-server.js';
import { REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { place } from './place.js';
import { print } from './report.js';

/**
 * One process of a crash test of exports: five runs, an export of them in three parts, which may be cut off, and once more to
 * compare. Files can be cut off, too: around each time that one gets its name. ERASE_AT is such a place, or `start`: there the first
 * run is erased. EXPORT_FORMAT `preference`: the runs are of two tasks, and have rewards.
 */
install();
let renamed = 0;
let counting = false;
const { rename } = files;
let erase = async (): Promise<void> => undefined;
const reach = async (name: string): Promise<void> => {
  if (name === process.env['ERASE_AT']) await erase();
  place(name);
};
files.rename = async (from, to) => {
  const name = counting ? `rename ${renamed++}` : '';
  await reach(`before ${name}`);
  await rename(from, to);
  await reach(`after ${name}`);
};
syncBuiltinESMExports();

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', effect: 'pure', input: z.object({ n: z.int() }), output: z.string() },
  execute: ({ n }) => `seen ${n}`,
});
const agent = defineAgent({
  agent: new Agent({ name: 'looker', tools: [look], model: scripted([[call('look', { n: 1 })]]) }),
  grants: ['tool:call:look'],
});
let guesses = 0;
const guesser = new Agent({ name: 'guesser', model: functionModel('guess', () => [say(`guess ${guesses++}`)]) });

const exportDir = process.env['EXPORT_DIR'] ?? '';
/** Address of the object store to export to. */
const store = process.env['EXPORT_STORE'];
/** Address of the Hub to export to. */
const hub = process.env['EXPORT_HUB'];
const OWNER = 'hf://datasets/acme';
const ROOT = `s3://${BUCKET}/exports`;
const to = (name: string) => {
  if (hub !== undefined) return { hub: `${OWNER}/${name}` };
  return store === undefined ? { folder: name } : { s3: `${ROOT}/${name}` };
};
const engine = await createEngine({
  agents: [agent, guesser],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  exportDir,
  ...(store === undefined ? {} : { exportBuckets: [ROOT], objectStore: { endpoint: store, region: REGION, ...KEYS } }),
  ...(hub === undefined ? {} : { exportHub: [OWNER], hub: { endpoint: hub, token: TOKEN } }),
  workerId: process.env['WORKER_ID'] ?? 'crash',
});
const format = process.env['EXPORT_FORMAT'] === 'preference' ? 'preference' : 'messages';
const ids: string[] = [];
for (const [nth, input] of ['a', 'b', 'c', 'd', 'e'].entries()) {
  const request =
    format === 'preference'
      ? { agent: 'guesser', input: 'guess', metadata: { taskId: `t${nth % 2}` } }
      : { agent: 'looker', input };
  const started = await engine.startRun(request, REVIEWER, input).catch((error: unknown) => {
    // By the process before.
    if (error instanceof HoldfastError && error.code === 'run_erased') return null;
    throw error;
  });
  if (started === null) continue;
  const { id } = started;
  await engine.getRun(id, REVIEWER, { waitMs: 20_000 });
  if (format === 'preference') await engine.rewardRun(id, { reward: nth }, REVIEWER);
  ids.push(id);
}
erase = async () => void (await engine.eraseRun(ids[0] ?? '', { reason: 'asked for' }, REVIEWER));
if (process.env['ERASE_AT'] === 'start') await erase();
arm();
counting = true;
const encoding = process.env['EXPORT_ENCODING'] === 'parquet' ? 'parquet' : 'jsonl';
const request = { format, options: { encoding, validation: 0.4, runsPerFile: 2 } } as const;

async function ended({ id }: ExportView): Promise<ExportView> {
  for (;;) {
    const view = await engine.getExport(id, REVIEWER);
    if (['completed', 'failed', 'cancelled'].includes(view.status)) return view;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const { items } = await engine.listExports({ limit: 10 }, REVIEWER);
const first = await ended(items.at(-1) ?? (await engine.startExport({ ...request, to: to('first') }, REVIEWER)));
const again = items.length > 1 ? items[0] : undefined;
const second = await ended(again ?? (await engine.startExport({ ...request, to: to('second') }, REVIEWER)));
const digests = ({ files: written }: ExportView) => written.map(({ path, sha256 }) => `${path} ${sha256}`);
const same = JSON.stringify(digests(first)) === JSON.stringify(digests(second));
const { skipped, ...progress } = first.progress;
print([
  {
    ...{ id: '', agent: '', parentRunId: null, status: first.status, error: first.error, turns: 0, usage: null },
    ...{ ok: same, complete: same, events: [] },
    output: {
      ...{
        progress,
        skipped,
        files: first.files.length,
        rows: first.files.map(({ rows }) => rows).reduce((a, b) => a + b, 0),
      },
      there: readdirSync(join(exportDir, 'default')).sort(),
      inside: (store ?? hub) === undefined && existsSync(first.folder) ? readdirSync(first.folder).sort() : [],
    },
  },
]);
await engine.stop();
process.exit(0);
