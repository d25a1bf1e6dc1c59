import { z } from 'zod';
import { type Artifact, type KeptArtifacts, keptArtifacts, NOTHING_KEPT } from '../../core/artifacts/kept-artifacts.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { AnchoredReport } from '../../core/evidence/log-view.js';
import type { EventKind } from '../../core/log/event.js';
import type { ExportedFile } from '../../datasets/read-export.js';
import { forgetArtifacts, takeDropped } from '../../storage/tasks/artifacts.js';
import { levelOfFailure } from '../concurrency/work-off.js';
import type { EngineContext } from '../engine-context.js';
import { listEvents } from '../log/read-log.js';

/** What the log of a run says was kept. A log without payloads names nothing. Throws `run_unknown`. */
export async function listArtifacts(context: EngineContext, id: string, caller: Caller): Promise<KeptArtifacts> {
  for (const kind of SAYING) {
    const { items } = await listEvents(context, id, { after: 0, limit: 1, kind }, caller);
    const said = saying.safeParse(items[0]?.data);
    if (said.data?.artifacts !== undefined) return said.data.artifacts;
  }
  return NOTHING_KEPT;
}

/** A run that was verified and then failed has both: the verification says it. */
const SAYING = ['task.verified', 'run.failed', 'run.cancelled'] as const satisfies readonly EventKind[];
const saying = z.object({ artifacts: keptArtifacts.optional() });

/** The bytes of an artifact, as the log names them. Throws `run_unknown`, `artifact_unknown`, `artifact_damaged`, and what the store throws. */
export async function readArtifact(
  context: EngineContext,
  id: string,
  name: string,
  caller: Caller,
): Promise<ExportedFile> {
  const { items } = await listArtifacts(context, id, caller);
  const found = items.find((one) => one.name === name);
  if (found === undefined)
    throw new HoldfastError('artifact_unknown', `Run ${id} has no artifact ${JSON.stringify(name)}.`);
  const bytes = await bytesOf(context, id, found);
  const content = (async function* () {
    yield bytes;
  })();
  return { name: fileNameOf(found), sizeBytes: bytes.length, content };
}

/** Adds to what a whole log says of a run whether its artifacts have the bytes that the log names. */
export async function withArtifacts(
  context: EngineContext,
  report: AnchoredReport,
  caller: Caller,
  signal: AbortSignal,
): Promise<AnchoredReport> {
  if (!report.ok || report.payloads === 'erased') return report;
  const { items } = await listArtifacts(context, report.runId, caller);
  if (items.length === 0) return report;
  const wrong: { name: string; what: string }[] = [];
  for (const item of items) {
    signal.throwIfAborted();
    const what = await bytesOf(context, report.runId, item).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (what !== null) wrong.push({ name: item.name, what });
  }
  return { ...report, ok: wrong.length === 0, artifacts: { whole: items.length - wrong.length, wrong } };
}

async function bytesOf({ stepContext }: EngineContext, id: string, found: Artifact): Promise<Buffer> {
  const { artifacts: store } = stepContext;
  if (store === null) throw new Error('an engine has a store of artifacts');
  const there = await store.read(id, found);
  if (there.type === 'whole') return there.bytes;
  const what = there.type === 'missing' ? 'is not' : 'has other bytes than the log names';
  throw new HoldfastError('artifact_damaged', `The artifact ${found.name} of run ${id} ${what} in ${store.place}.`);
}

const fileNameOf = ({ kind, path, name }: Artifact): string =>
  kind === 'file' ? (path.split('/').at(-1) ?? name) : name;

const AT_ONCE = 20;
const TAKEN_MS = 60_000;

/** Removes what runs kept that are erased or gone. What fails is tried again after a while. */
export async function removeDropped({ stepContext, log }: EngineContext, isStopping: () => boolean): Promise<void> {
  const { artifacts: store, knex } = stepContext;
  if (store === null) return;
  for (const runId of await takeDropped(knex, store.place, AT_ONCE, TAKEN_MS)) {
    if (isStopping()) return;
    try {
      await store.remove(runId);
      await forgetArtifacts(knex, runId);
    } catch (error) {
      const what = { component: 'artifacts', event: 'artifacts_kept', runId, error: String(error) };
      log[levelOfFailure(error)](what, 'artifacts of an erased run could not be removed; it is tried again');
      return;
    }
  }
}
