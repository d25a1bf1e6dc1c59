import { Agent } from '@openai/agents';
import { createEngine, defineAgent, subAgent } from '../../src/index.js';
import { checkProof } from '../../src/proof/verify.mjs';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { call, say, scripted } from '../harness/script.js';
import { REVIEWER } from './careful-person.js';
import { canariesIn, passTime, ranIn, statesOf } from './erased-rows.js';
import { arm, install } from './kill-switch.js';
import { print } from './report.js';

/**
 * One process of a crash test of erasure and retention. WORK says which: `prepare` makes the runs that are to go, `erase` erases
 * one of them and all of a subject, `retention` does what its rules say. Prints what is left of each run at the start and in the
 * end. Ends by SIGKILL where KILL_AT says so.
 */
install();

const work = process.env['WORK'] ?? '';
/** Begins every text of a run that goes by this work. */
const canaryOf = (what: string): string => `c4n4ry-${what}`;
const SUBJECT = canaryOf('erase');
const reason = 'asked for';

const place = { databaseUrl: process.env['DATABASE_URL'] ?? null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '' };
const echo = (name: string, text: string) =>
  defineAgent({ agent: new Agent({ name, model: scripted([[say(text)]]) }) });
const agents = [
  echo('plain', `${SUBJECT} said`),
  echo('old', `${canaryOf('retention')} said`),
  echo('ancient', `${canaryOf('retention')} said`),
  defineAgent({
    agent: new Agent({
      name: 'parent',
      model: scripted([[call('plain', { input: `${SUBJECT} asked` })]]),
      tools: [subAgent({ agent: 'plain' })],
    }),
    grants: ['tool:call:*'],
  }),
];

const RULES = [
  { agent: 'old', olderThanDays: 30, do: 'erase' as const },
  { agent: 'ancient', olderThanDays: 30, do: 'delete' as const },
];

async function inDatabase<T>(read: (knex: Awaited<ReturnType<typeof openDatabase>>['knex']) => Promise<T>): Promise<T> {
  const database = await openDatabase(place);
  try {
    return await read(database.knex);
  } finally {
    await database.close();
  }
}

/** A run that another process has in its hands is old already, and is not waited for. */
const AGED = `update holdfast.runs set completed_at = completed_at - interval '31 days'
               where agent in ('old', 'ancient') and completed_at > now() - interval '30 days'`;

// Only where they are to go: what stays is verified, and the log of a run says when it was over.
if (work === 'retention') await inDatabase((knex) => knex.raw(AGED));
// A process that comes after another one comes when the time is over for which that one had taken its work.
const before = process.env['KILL_AT'] === undefined && work !== 'prepare' ? await inDatabase(passTime) : null;
const engine = await createEngine({
  ...{ agents, ...place, workerId: process.env['WORKER_ID'] ?? 'crash' },
  signingKeyFile: process.env['LOG_KEY_FILE'] ?? '',
  evidence: { intervalMs: 3_600_000 },
  retention: { runs: work === 'retention' ? RULES : [] },
});

async function prepare(): Promise<void> {
  const about = { erase: SUBJECT, retention: canaryOf('retention') };
  const start = async (agent: string, what: keyof typeof about, subjects?: string[]) => {
    const request = { agent, input: `${about[what]} asked`, metadata: { who: about[what] } };
    const { id } = await engine.startRun({ ...request, ...(subjects && { subjects }) }, REVIEWER);
    for (;;) if ((await engine.getRun(id, REVIEWER, { waitMs: 20_000 })).status === 'completed') return;
  };
  await start('plain', 'erase');
  await start('plain', 'erase', [SUBJECT]);
  await start('parent', 'erase', [SUBJECT]);
  for (const agent of ['old', 'old', 'ancient']) await start(agent, 'retention');
  await engine.checkpointNow();
  await engine.stop();
}

/** Erases the run that is about no one, and all of the subject; what another process has begun it waits for. */
async function erase(): Promise<void> {
  const { items } = await engine.listRuns({ agent: 'plain', limit: 50 }, REVIEWER);
  const [alone] = items
    .filter(({ parentRunId }) => parentRunId === null)
    .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  await engine.eraseRun(alone?.id ?? '', { reason }, REVIEWER);
  const begun = before?.erasure ?? (await engine.eraseSubject({ subject: SUBJECT, reason }, REVIEWER)).id;
  await until(async () => (await engine.getSubjectErasure(begun ?? '', REVIEWER)).status === 'done');
}

async function retain(): Promise<void> {
  await engine.askForRetention(REVIEWER);
  await until(async () => (await engine.previewRetention(REVIEWER)).runs.every(({ count }) => count === 0));
}

async function until(check: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await check()); await new Promise((resolve) => setTimeout(resolve, 20)))
    if (Date.now() > end) throw new Error(`${work} does not come to its end`);
}

if (work === 'prepare') {
  await prepare();
  process.exit(0);
}
arm();
await (work === 'erase' ? erase() : retain());
const proven: string[] = [];
const { items } = await engine.listRuns({ limit: 50 }, REVIEWER);
for (const { id, erasedAt } of items) {
  const { ok, payloads } = await engine.verifyRun(id, REVIEWER);
  const bundle = JSON.stringify(await engine.exportProof(id, { payloads: true }, REVIEWER));
  const proof = checkProof(bundle, [process.env['LOG_KEY'] ?? '']);
  proven.push([erasedAt === null ? 'whole' : 'erased', ok, payloads, proof.ok, bundle.includes(canaryOf(work))].join());
}
const log = await engine.verifyLog(REVIEWER);
await engine.stop();
const after = await inDatabase(async (knex) => ({
  states: await statesOf(knex, await ranIn(knex)),
  canaries: await canariesIn(knex, canaryOf(work)),
}));
print([
  {
    ...{ id: '', agent: '', parentRunId: null, status: work, error: null, turns: 0, usage: null, events: [] },
    ...{ ok: log.ok, complete: true, output: { before: before?.states ?? [], ...after, proven: proven.sort() } },
  },
]);
process.exit(0);
