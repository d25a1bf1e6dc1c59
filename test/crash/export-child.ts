import { readdirSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type ExportView } from '../../src/index.js';
import { call, scripted } from '../harness/script.js';
import { BUCKET, KEYS, REGION } from '../stores/s3-server.js';
import { REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { place } from './place.js';
import { print } from './report.js';

/**
 * One process of a crash test of exports: five runs, an export of them in three parts, which may be cut off, and once more to
 * compare. Files can be cut off, too: around each time that one gets its name.
 */
install();
let renamed = 0;
let counting = false;
const { rename } = files;
files.rename = async (from, to) => {
  const name = counting ? `rename ${renamed++}` : '';
  place(`before ${name}`);
  await rename(from, to);
  place(`after ${name}`);
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

const exportDir = process.env['EXPORT_DIR'] ?? '';
/** Address of the object store to export to. */
const store = process.env['EXPORT_STORE'];
const ROOT = `s3://${BUCKET}/exports`;
const to = (name: string) => (store === undefined ? { folder: name } : { s3: `${ROOT}/${name}` });
const engine = await createEngine({
  agents: [agent],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  exportDir,
  ...(store === undefined ? {} : { exportBuckets: [ROOT], objectStore: { endpoint: store, region: REGION, ...KEYS } }),
  workerId: 'crash',
});
for (const input of ['a', 'b', 'c', 'd', 'e']) {
  const { id } = await engine.startRun({ agent: 'looker', input }, REVIEWER, input);
  await engine.getRun(id, REVIEWER, { waitMs: 20_000 });
}
arm();
counting = true;
const encoding = process.env['EXPORT_ENCODING'] === 'parquet' ? 'parquet' : 'jsonl';
const request = { format: 'messages', options: { encoding, validation: 0.4, runsPerFile: 2 } } as const;

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
      inside: store === undefined ? readdirSync(first.folder).sort() : [],
    },
  },
]);
await engine.stop();
process.exit(0);
