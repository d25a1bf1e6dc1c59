import { expect, vi } from 'vitest';
import { agentDetail } from '../../src/core/agents/agent-view.js';
import { exportView } from '../../src/core/exports/export.js';
import { interruptionView } from '../../src/core/interruptions/interruption.js';
import { pageOf } from '../../src/core/operations/fields.js';
import type { OperationName } from '../../src/core/operations/table.js';
import { workerView } from '../../src/core/queue/worker.js';
import { subjectErasureView } from '../../src/core/retention/erasure.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { taskView } from '../../src/core/tasks/task.js';
import { definePlan } from '../../src/engine/plans/define-plan.js';
import { aTask } from '../core/tasks/a-task.js';
import { bearer, type Door } from './door.js';

/** Rows of every kind in the tenant default, and a request of each route that reads or changes them. */

export const PLANNED = definePlan({
  ...{ name: 'planned', grants: ['time:sleep:timer'], plan: { nodes: { nap: { type: 'wait', seconds: 0 } } } },
});

const task = (name: string) => ({ task: { ...aTask(), name }, agent: 'rare' });

/** What is asked of each operation: the ids in its path, in their order, a query and a body. */
export interface Sample {
  readonly ids?: readonly string[];
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** A path that names nothing of a tenant: the same name may be everybody's. */
  readonly named?: true;
  /** Of such a path: with what it is refused where the tenant has nothing of the kind. */
  readonly refused?: string;
}

export type Guarded = OperationName | 'getOpenApi';

export const pathOf = (path: string, { ids = [], query = '' }: Sample): string => {
  const left = [...ids];
  return `${path.replaceAll(/\{\w+\}/g, () => left.shift() ?? 'missing')}${query}`;
};

export interface Samples {
  readonly samples: { readonly [operation in Guarded]: Sample };
  /** Ids of rows of the tenant default. */
  readonly secrets: readonly string[];
  readonly worker: string;
}

/** Fills the tenant default of a door whose agents are `AGENTS` and `PLANNED`. */
export async function samplesOf(door: Door): Promise<Samples> {
  const post = async (actor: 'adam' | 'otto', path: string, body: unknown): Promise<unknown> => {
    const { json, status, text } = await door.ask(actor, 'POST', `/api/v1/${path}`, body);
    expect(status, text).toBeLessThan(300);
    return json;
  };
  const rest = async (agent: string, more: object = {}): Promise<RunView> => {
    const { id } = runView.parse(await post('otto', 'runs', { agent, input: 'go', ...more }));
    return runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json);
  };
  const [over, other, gone] = [await rest('echo'), await rest('echo'), await rest('echo', { subjects: ['carl'] })];
  const paused = await rest('payer', { sessionId: 'talk' });
  const interruption = paused.interruptions[0] ?? '';
  const standingOf = await rest('payer');
  const decided = interruptionView.parse(
    await post('adam', `interruptions/${standingOf.interruptions[0]}/approve`, { always: true }),
  );
  const standing = decided.id.replace(/^int_/, 'std_');
  // Its rate is used up by this one, so that its tasks wait.
  await rest('rare');
  const work = taskView.parse(await post('otto', 'tasks', task('of-default'))).id;
  const batched = await fetch(`${door.http.url}/api/v1/tasks/batch`, {
    ...{ method: 'POST', body: JSON.stringify(task('of-default')) },
    headers: { ...bearer('otto'), 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': 'batch-of-default' },
  });
  expect(await batched.text()).toContain('"submitted":1');
  const exported = exportView.parse(
    await post('otto', 'trajectories/export', { format: 'jsonl', to: { folder: 'all' } }),
  ).id;
  const erased = { subject: 'carl', reason: 'asked' };
  const { name, version } = aTask();
  const named = { name: 'of-default', version };
  expect(name).not.toBe(named.name);
  await post('otto', 'datasets', { ...named, tasks: [named] });
  // Few runs of a subject are erased at once, without an id.
  const erasure = subjectErasureView.parse(await post('adam', 'erasures', erased)).id ?? 'erasure_of_default';
  const ended = async () =>
    exportView.parse((await door.ask('vera', 'GET', `/api/v1/trajectories/exports/${exported}`)).json).status;
  await vi.waitFor(async () => expect(await ended()).toBe('completed'), { timeout: 30_000, interval: 100 });
  await post('adam', 'log/checkpoint', {});
  const workers = pageOf(workerView).parse((await door.ask('adam', 'GET', '/api/v1/workers')).json);
  const definition =
    agentDetail.parse((await door.ask('vera', 'GET', '/api/v1/agents/echo')).json).definitions[0]?.hash ?? '';
  const worker = workers.items.find(({ status }) => status === 'working')?.id ?? '';
  const runs = [over, other, gone, paused, standingOf].map(({ id }) => id);
  const secrets = [...runs, interruption, standing, work, exported, erasure, 'talk', 'batch-of-default'];
  const run = { ids: [over.id] };
  const samples: Samples['samples'] = {
    startRun: { body: { agent: 'echo', input: 'mine' } },
    ...{ searchRuns: {}, countRuns: {}, getFamily: run, bulkRuns: { body: { action: 'cancel', ids: ['run_x'] } } },
    ...{ listRuns: {}, getRun: run, getTrajectory: run, readTrajectory: run, deleteRun: run },
    cancelRun: { ids: [paused.id], body: {} },
    ...{ forkRun: { ...run, body: { at: 1 } }, retryRun: { ...run, body: {} }, replayRun: { ...run, body: {} } },
    submitTask: { body: task('of-elsewhere') },
    submitTasks: {
      body: JSON.stringify(task('of-elsewhere')),
      headers: { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': 'batch' },
    },
    ...{ listTasks: {}, getTask: { ids: [work] }, cancelTask: { ids: [work] } },
    requeueTask: { ids: [work], body: {} },
    getPassRates: {},
    ...{ listArtifacts: run, readArtifact: { ids: [over.id, 'patch.diff'] } },
    registerTask: { body: { task: task('of-elsewhere').task } },
    ...{ listTaskDefinitions: {}, getTaskDefinition: { ids: ['of-default', '1.0.0'] } },
    diffTaskDefinitions: { ids: ['of-default', '1.0.0', '1.0.0'] },
    deprecateTaskDefinition: { ids: ['of-default', '1.0.0'], body: { reason: 'mine' } },
    createDataset: {
      body: { name: 'of-elsewhere', version: '1.0.0', tasks: [{ name: 'of-elsewhere', version: '1.0.0' }] },
    },
    ...{ listDatasets: {}, getDataset: { ids: ['of-default', '1.0.0'] } },
    listDatasetTasks: { ids: ['of-default', '1.0.0'] },
    ...{ listBatches: {}, groupTasks: { query: '?by=name' }, getBatch: { ids: ['batch-of-default'] } },
    listWebhooks: {},
    ...{ listAlerts: {}, silenceAlert: { ids: ['no-rule'], body: { minutes: 1, reason: 'mine' } } },
    compareTaskGroups: { query: '?by=name&before=of-default@1.0.0&after=of-default@1.0.0' },
    cancelBatch: { ids: ['batch-of-default'], body: {} },
    ...{ verifyRun: { ...run, body: {} }, verifyRuns: {}, repairRun: { ...run, body: {} }, stateAt: run },
    diffRuns: { ids: [over.id, other.id] },
    eraseRun: { ...run, body: { reason: 'asked' } },
    ...{ eraseSubject: { body: erased }, getSubjectErasure: { ids: [erasure] } },
    ...{ previewRetention: {}, askForRetention: { body: {} }, exportProof: run },
    getEvent: { ids: [over.id, '1'] },
    findInLog: { ...run, query: '?q=go' },
    ...{ listEvents: run, listCharges: run, listSpend: {} },
    startExport: { body: { format: 'jsonl', to: { folder: 'all' } } },
    ...{ listExports: {}, getExport: { ids: [exported] }, cancelExport: { ids: [exported], body: {} } },
    ...{ listTrajectories: {}, rewardRun: { ...run, body: { reward: 1 } }, listRewards: run },
    ...{ listInterruptions: {}, countInterruptions: {}, getInterruption: { ids: [interruption] } },
    getInterruptionContext: { ids: [interruption] },
    decideMany: { body: { verdict: 'approve', items: [{ id: 'int_x', digest: 'sha256:x' }] } },
    checkApproval: { ids: [interruption], body: {} },
    ...{ approve: { ids: [interruption], body: {} }, reject: { ids: [interruption], body: {} } },
    answer: { ids: [interruption], body: { value: 'yes' } },
    listStandingDecisions: { ids: [standingOf.id] },
    revokeStandingDecision: { ids: [standingOf.id, standing] },
    ...{ listSessions: {}, getSession: { ids: ['talk'] }, listSessionItems: { ids: ['talk'] } },
    deleteSession: { ids: ['talk'] },
    ...{ listMemorySpaces: {}, listMemory: { ids: ['notes'], named: true } },
    getMemory: { ids: ['notes'], query: '?key=one' },
    forgetMemory: { ids: ['notes'], body: { key: 'one' } },
    emitEvent: { ids: ['paid'], body: { payload: 1 }, named: true },
    ...{ listSystemEvents: { query: '?limit=200' }, getStats: {} },
    ...{ listAccess: { query: '?actor=otto' }, listRunAccess: run },
    ...{ getQueue: {}, listErrors: {}, listBudgets: {} },
    getSeries: { query: '?metric=runs&from=2026-11-01T00:00:00Z&to=2026-11-20T00:00:00Z' },
    readExportFile: { ids: [exported], query: '?path=data/train-00000-of-00001.jsonl' },
    ...{ getLog: {}, getConsistency: { query: '?earlier=1&size=2' }, listLogEntries: {} },
    ...{ getAgent: { ids: ['echo'], named: true }, getDefinition: { ids: ['echo', definition] } },
    getPlan: { ids: ['planned'], named: true },
    checkPlan: { ids: ['planned'], body: { plan: {} }, named: true },
    ...{ listVersions: {}, getEvolution: { ids: ['echo'], named: true } },
    rolloutAgent: { ids: ['echo'], body: { share: 10 }, refused: 'agent_version_none' },
    rollbackAgent: { ids: ['echo'], body: { reason: 'none' }, refused: 'agent_version_none' },
    ...{ listAgents: {}, getHealth: {}, getOpenApi: {} },
    ...{ checkpointNow: { body: {} }, verifyLog: { body: {} }, getMetrics: {} },
    ...{ previewAllRetention: {}, askForAllRetention: { body: {} } },
    ...{ listSetAside: {}, liftWork: { body: { name: 'replay of none' } } },
    ...{ listWorkers: {}, getWorker: { ids: [worker] }, stopWorker: { ids: [worker], body: { mode: 'drain' } } },
  };
  return { samples, secrets, worker };
}
