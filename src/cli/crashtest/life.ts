import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { readSettings } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { jsonValue, toJson } from '../../core/json.js';
import { type BodyMoment, hearBodies } from '../../core/ops/body-moments.js';
import { isOver } from '../../core/runs/run.js';
import type { Engine } from '../../engine/engine.js';
import { isDurable, watchStatements } from '../../storage/database/statement-watch.js';
import { approversOf, REVIEWER } from '../careful-person.js';
import type { CliServices } from '../cli-services.js';
import { agentsOf, engineSettings } from '../commands/server/server-process.js';

/** One process of a crash test, and where it is to die. */
export const life = z.object({
  agent: z.string(),
  input: z.string(),
  dataDir: z.string(),
  /** One line for each moment of a body, and for each statement. */
  momentsFile: z.string(),
  statementsFile: z.string(),
  /** Where it writes how the run ended. */
  endFile: z.string(),
  timeoutMs: z.int(),
  /** Null: it lives. `index`: of the bodies or statements of this process. */
  kill: z
    .object({ of: z.enum(['body', 'statement']), when: z.enum(['before', 'sent', 'after']), index: z.int() })
    .nullable(),
  /** It only makes the database. */
  prepares: z.boolean(),
});
export type Life = z.infer<typeof life>;

/** How a run ended. */
export const lifeEnd = z.object({
  status: z.string(),
  code: z.string().nullable(),
  output: jsonValue,
  /** Whether its log verifies. */
  verified: z.boolean(),
  /** Calls that a person was asked about: they may have happened before the crash. */
  asked: z.array(z.string()),
});
export type LifeEnd = z.infer<typeof lifeEnd>;

/** A line of the file of moments. */
export const moment = z.object({
  when: z.enum(['begins', 'ended']),
  callId: z.string(),
  tool: z.string(),
  effect: z.string(),
  output: jsonValue.optional(),
});

const LOOK_MS = 20;
/** A run that waits for nothing that this test can give rests after so long. */
const RESTS_AFTER_MS = 1000;

/** Ends the process as a power cut does: nothing is written, nothing is closed. */
function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // SIGKILL arrives in a moment; nothing may happen until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  throw new Error('unreachable');
}

/** Lives one life: opens the engine, starts or finds the run, decides as a careful person does, and says how it ended. */
export async function live(given: Life, services: CliServices): Promise<void> {
  const settings = { ...readSettings(), databaseUrl: null, dataDir: given.dataDir, workerId: 'crashtest' };
  const { config } = await agentsOf(settings, services);
  const { createEngine } = await import('../../engine/create-engine.js');
  const bounds = { crashLimit: 1000, approvalTimeoutMs: null, signingKeyFile: null, checkpoints: null };
  const arm = watch(given);
  const engine = await createEngine({ ...config, ...engineSettings(settings), ...bounds });
  if (!given.prepares) {
    arm();
    const { id } = await engine.startRun({ agent: given.agent, input: given.input }, REVIEWER, 'crashtest');
    const asked = await drive(engine, id, given);
    const { status, error, output } = await engine.getRun(id, REVIEWER);
    const { ok: verified } = await engine.verifyRun(id, REVIEWER);
    const end: LifeEnd = { status, code: error?.code ?? null, output: toJson(output), verified, asked: [...asked] };
    writeFileSync(given.endFile, JSON.stringify(end));
  }
  await engine.stop({ graceMs: 1000 });
  process.exit(0);
}

/** Dies where it is told to, once `arm` was called: what a start does before is not of the run. */
function watch({ kill, momentsFile, statementsFile }: Life): () => void {
  let armed = false;
  let statements = 0;
  let bodies = 0;
  watchStatements((_session, text, send) => {
    if (!armed || !isDurable(text)) return send();
    const index = statements++;
    appendFileSync(statementsFile, `${text.replaceAll(/\s+/g, ' ').trim().slice(0, 160)}\n`);
    const when = kill?.of === 'statement' && kill.index === index ? kill.when : null;
    if (when === 'before') die();
    const sent = send();
    if (when === 'sent') setImmediate(die);
    if (when === 'after' && sent instanceof Promise) return sent.then(die, die) as typeof sent;
    return sent;
  });
  hearBodies(({ when, callId, tool, effect, output }: BodyMoment) => {
    const index = when === 'begins' ? bodies++ : bodies - 1;
    const dies = kill?.of === 'body' && kill.index === index && kill.when === (when === 'begins' ? 'before' : 'after');
    if (dies && when === 'begins') die();
    const line = { when, callId, tool, effect, ...(output === undefined ? {} : { output: toJson(output) }) };
    appendFileSync(momentsFile, `${JSON.stringify(line)}\n`);
    if (dies) die();
  });
  return () => {
    armed = true;
  };
}

/** Decides what can be decided until the run is over, or rests. Gives the calls that someone was asked about after a crash. */
async function drive(engine: Engine, id: string, { timeoutMs, momentsFile }: Life): Promise<readonly string[]> {
  const until = Date.now() + timeoutMs;
  const asked = new Set<string>();
  let restsSince: number | null = null;
  for (;;) {
    const { status } = await engine.getRun(id, REVIEWER, { waitMs: LOOK_MS });
    if (isOver(status)) return [...asked];
    if (Date.now() > until) {
      const detail = `The run ${id} is still ${status} after ${timeoutMs / 1000} seconds.`;
      throw new HoldfastError('invalid_request', detail, { hint: 'Give it more time with --timeout.' });
    }
    const { items } = await engine.listInterruptions({ status: 'pending', runId: id, limit: 100 }, REVIEWER);
    const decidable = items.filter(({ kind }) => kind === 'approval');
    for (const item of decidable) {
      if (item.reason.code === 'unknown_effect' && item.callId !== null) asked.add(item.callId);
      await decide(engine, item, momentsFile);
    }
    const waits = items.some(({ kind }) => kind === 'timer' || kind === 'child_run');
    if (status !== 'paused' || decidable.length > 0 || waits) restsSince = null;
    else restsSince ??= Date.now();
    if (restsSince !== null && Date.now() - restsSince > RESTS_AFTER_MS) return [...asked];
  }
}

/** As a careful person does: looks whether a call happened, and says what it gave; approves everything else. */
async function decide(engine: Engine, item: InterruptionView, momentsFile: string): Promise<void> {
  const happened = momentsIn(momentsFile).find(({ when, callId }) => when === 'ended' && callId === item.callId);
  if (item.reason.code === 'unknown_effect' && happened !== undefined) {
    await engine.decide(item.id, { verdict: 'answer', value: happened.output ?? null }, REVIEWER);
    return;
  }
  for (const person of approversOf(item)) await engine.decide(item.id, { verdict: 'approve' }, person);
}

export const momentsIn = (file: string): readonly z.infer<typeof moment>[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => moment.parse(JSON.parse(line)))
    : [];
