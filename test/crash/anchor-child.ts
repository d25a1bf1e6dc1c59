import { readFileSync } from 'node:fs';
import files, { type FileHandle } from 'node:fs/promises';
import { Agent } from '@openai/agents';
import { openCheckpoint } from '../../src/core/evidence/checkpoint.js';
import { verifyConsistency } from '../../src/core/evidence/merkle.js';
import { parsePublicKey } from '../../src/core/evidence/signed-note.js';
import { createEngine, defineAgent, type Engine } from '../../src/index.js';
import { CheckpointObjects } from '../../src/object-store/checkpoint-objects.js';
import { ObjectStore } from '../../src/object-store/object-store.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { say, scripted } from '../harness/script.js';
import { BUCKET, KEYS, REGION } from '../object-store/s3-server.js';
import { REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { killAt, place } from './place.js';
import { print } from './report.js';

/**
 * One process of a crash test of anchoring: four runs, and after each the log over all runs is entered, signed, written and
 * verified. In the end it holds every checkpoint that was ever published against every other one, and against the log. Can be cut
 * off around the writing of a checkpoint, and in the middle of it.
 */
install();
const CHECKPOINTS = process.env['CHECKPOINTS'] ?? '';
const store = process.env['CHECKPOINT_STORE'];
const who = process.env['WORKER_ID'] ?? 'crash';

let written = 0;
let counting = false;
const handle = await files.open(CHECKPOINTS, 'a');
const prototype = Object.getPrototypeOf(handle) as FileHandle;
await handle.close();
const append = prototype.appendFile;
prototype.appendFile = async function appendFile(this: FileHandle, text) {
  const nth = counting ? written++ : '';
  const whole = String(text);
  place(`before line ${nth}`);
  // Else it is one write, as it is without a test.
  const isCut = killAt?.place === `within line ${nth}`;
  if (isCut) await append.call(this, whole.slice(0, whole.length / 2));
  place(`within line ${nth}`);
  await append.call(this, whole);
  place(`after line ${nth}`);
};

const options = { databaseUrl: process.env['DATABASE_URL'] ?? null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '' };
const engine = await createEngine({
  agents: [defineAgent({ agent: new Agent({ name: 'short', model: scripted([[say('done')]]) }) })],
  ...{ ...options, workerId: who, signingKeyFile: process.env['LOG_KEY_FILE'] ?? '' },
  ...(store === undefined ? {} : { objectStore: { endpoint: store, region: REGION, ...KEYS } }),
  evidence: { intervalMs: 3_600_000, checkpoints: store === undefined ? CHECKPOINTS : `s3://${BUCKET}/evidence/log` },
});
arm();
counting = true;
const wrong: string[] = [];
const verify = async (): Promise<void> => {
  const { problems } = await engine.verifyLog(REVIEWER);
  for (const { what } of problems) wrong.push(what);
  const { problem } = await engine.getLog();
  if (problem !== null) wrong.push(problem);
};
const ids: string[] = [];
for (const nth of [0, 1, 2, 3]) {
  const { id } = await engine.startRun({ agent: 'short', input: 'go' }, REVIEWER, `${who} ${nth}`);
  await engine.getRun(id, REVIEWER, { waitMs: 20_000 });
  ids.push(id);
  await engine.checkpointNow();
  await verify();
}
for (const id of ids) {
  const { ok, anchor } = await engine.verifyRun(id, REVIEWER);
  if (!ok || anchor.why !== null || !anchor.outside) wrong.push(`run ${id} is not anchored: ${anchor.why}`);
}
const found = await published(engine);
await engine.stop();
print([
  {
    ...{ id: '', agent: '', parentRunId: null, status: 'done', error: null, turns: 0, usage: null, events: [] },
    ...{ ok: wrong.length === 0, complete: true, output: { ...found, wrong } },
  },
]);
process.exit(0);

/** Every checkpoint of the file, or the store, and the database, each against the next larger one and against the whole log. */
async function published(on: Engine) {
  const { keys, entries } = await on.getLog();
  const known = keys.flatMap((text) => parsePublicKey(text) ?? []);
  const notes = [...(await stored()), ...(store === undefined ? inFile() : await inStore(store))];
  const opened = notes.map((note) => openCheckpoint(note, known));
  const roots = new Map<number, string>();
  for (const one of opened) {
    if (typeof one === 'string') wrong.push(one);
    else if ((roots.get(one.size) ?? one.root) !== one.root) wrong.push(`two roots of ${one.size} entries`);
    else roots.set(one.size, one.root);
  }
  const sizes = [...roots.keys()].sort((a, b) => a - b);
  for (const earlier of sizes)
    for (const size of sizes.filter((larger) => larger >= earlier)) {
      const { proof } = await on.getConsistency({ earlier, size });
      const [earlierRoot = '', root = ''] = [roots.get(earlier), roots.get(size)];
      if (!verifyConsistency(proof, { earlier, earlierRoot, size, root })) wrong.push(`${earlier} is not in ${size}`);
    }
  return { entries, last: sizes.at(-1) ?? 0 };
}

async function stored(): Promise<string[]> {
  if (options.databaseUrl === null) return [];
  const beside = await openDatabase(options);
  try {
    return await beside.knex('holdfast.log_checkpoints').pluck('note');
  } finally {
    await beside.close();
  }
}

async function inStore(endpoint: string): Promise<string[]> {
  const objects = new CheckpointObjects(
    new ObjectStore({
      ...{ endpoint, region: REGION, idleMs: 5000, patienceMs: 0 },
      credentials: { read: async () => ({ ...KEYS, sessionToken: null }), renewed: async () => null },
    }),
    { bucket: BUCKET, prefix: 'evidence/log' },
  );
  const notes: string[] = [];
  for await (const { note } of objects.lines(1000)) notes.push(note);
  return notes;
}

/** A line that a process died in is no JSON; the next process has ended it. */
function inFile(): string[] {
  const lines = readFileSync(CHECKPOINTS, 'utf8').split('\n');
  return lines.flatMap((line) => {
    try {
      return [String(JSON.parse(line).note)];
    } catch {
      return [];
    }
  });
}
