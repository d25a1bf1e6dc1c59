import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Token } from '../../src/core/access-token.js';
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
import { GUARDED_ROUTES } from '../../src/http/routes.js';
import { createHttpServer, type HttpServer } from '../../src/http/server.js';
import { aTask } from '../core/tasks/a-task.js';
import { describeEachDatabase } from '../harness/database.js';
import { AGENTS, type Answer, bearer, collectingLog, type Door, expectProblem, openDoor, options } from './door.js';

const tokenOf = (actor: string, more: Partial<Token>): Token => ({
  ...{ token: `token-of-${actor}-0123456789`, actor, role: 'viewer', tenant: 'operations' },
  ...more,
});
/** Two that have a part in the installation and none in the tenants whose rows there are. */
const IRIS = tokenOf('iris', { installation: 'viewer' });
const OLAF = tokenOf('olaf', { installation: 'operator' });
/** The admins of both tenants, where tokens say who operates. */
const ADMINS = [
  tokenOf('ada', { role: 'admin', tenant: 'default' }),
  tokenOf('zeno', { role: 'admin', tenant: 'acme' }),
];

const PLANNED = definePlan({
  ...{ name: 'planned', grants: ['time:sleep:timer'], plan: { nodes: { nap: { type: 'wait', seconds: 0 } } } },
});

const task = (name: string) => ({ task: { ...aTask(), name }, agent: 'rare' });

/** What is asked of each operation: the ids in its path, in their order, a query and a body. */
interface Sample {
  readonly ids?: readonly string[];
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** A path that names nothing of a tenant: the same name may be everybody's. */
  readonly named?: true;
  /** Of such a path: with what it is refused where the tenant has nothing of the kind. */
  readonly refused?: string;
}

type Guarded = OperationName | 'getOpenApi';

const scopeOf = (operation: Guarded) => {
  const access = GUARDED_ROUTES.find(({ operationId }) => operationId === operation)?.access;
  return typeof access === 'object' && 'tenant' in access ? 'tenant' : access;
};

describeEachDatabase('two tenants', (kind) => {
  let door: Door;
  let stated: HttpServer;
  let samples: { readonly [operation in Guarded]: Sample };
  /** Ids of rows of the tenant default. */
  let secrets: readonly string[];
  let worker: string;
  let definition: string;

  const post = async (actor: 'adam' | 'otto', path: string, body: unknown): Promise<unknown> => {
    const { json, status, text } = await door.ask(actor, 'POST', `/api/v1/${path}`, body);
    expect(status, text).toBeLessThan(300);
    return json;
  };
  const rest = async (agent: string, more: object = {}): Promise<RunView> => {
    const { id } = runView.parse(await post('otto', 'runs', { agent, input: 'go', ...more }));
    return runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json);
  };

  beforeAll(async () => {
    door = await openDoor(kind, [...AGENTS, PLANNED]);
    stated = await createHttpServer(door.engine, options(collectingLog().log, { tokens: [IRIS, OLAF, ...ADMINS] }));
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
    definition =
      agentDetail.parse((await door.ask('vera', 'GET', '/api/v1/agents/echo')).json).definitions[0]?.hash ?? '';
    worker = workers.items.find(({ status }) => status === 'working')?.id ?? '';
    secrets = [over, other, gone, paused, standingOf].map(({ id }) => id);
    secrets = [...secrets, interruption, standing, work, exported, erasure, 'talk', 'batch-of-default'];
    const run = { ids: [over.id] };
    samples = {
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
  });
  afterAll(async () => {
    await stated.close(0);
    await door.close();
    // Rows of the access log too are written for every token.
    expect(door.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  const walked = GUARDED_ROUTES.map((route) => ({ ...route, operation: route.operationId as Guarded }));
  const pathOf = (path: string, { ids = [], query = '' }: Sample): string => {
    const left = [...ids];
    return `${path.replaceAll(/\{\w+\}/g, () => left.shift() ?? 'missing')}${query}`;
  };
  const bodyOf = (method: string, { body }: Sample) => (method === 'POST' ? body : undefined);
  const asStated = async ({ token }: Token, route: (typeof walked)[number], sample: Sample) => {
    const body = bodyOf(route.method, sample);
    const type: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const headers = { ...type, Authorization: `Bearer ${token}`, ...sample.headers };
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? {});
    const init = { method: route.method, headers, ...(body === undefined ? {} : { body: text }) };
    return (await fetch(`${stated.url}${pathOf(route.path, sample)}`, init)).status;
  };
  const secretsIn = ({ text }: Answer): string[] => secrets.filter((id) => text.includes(id));
  const ofDefault = async (): Promise<unknown> => [
    (await door.ask('vera', 'GET', '/api/v1/runs?limit=200')).json,
    (await door.ask('vera', 'GET', '/api/v1/tasks')).json,
    (await door.ask('vera', 'GET', '/api/v1/interruptions')).json,
    (await door.ask('vera', 'GET', '/api/v1/sessions')).json,
    (await door.ask('vera', 'GET', '/api/v1/trajectories/exports')).json,
  ];

  test('are asked about on every route, and each route has its scope', () => {
    expect(Object.keys(samples).toSorted()).toEqual(walked.map(({ operation }) => operation).toSorted());
    for (const { operation } of walked) expect(scopeOf(operation), operation).not.toBe('open');
  });

  test('know nothing of each other: an admin of one reads and changes nothing of the other', async () => {
    const before = await ofDefault();
    for (const { method, path, operation } of walked.filter((one) => scopeOf(one.operation) === 'tenant')) {
      const sample = samples[operation];
      const answer = await door.ask('zoe', method, pathOf(path, sample), bodyOf(method, sample), sample.headers);
      if (sample.refused !== undefined) {
        expect(expectProblem(answer, sample.refused).code).toBe(sample.refused);
      } else if (sample.ids === undefined || sample.named === true) {
        expect(answer.status, `${operation}: ${answer.text}`).toBeLessThan(300);
        expect(secretsIn(answer), operation).toEqual([]);
      } else {
        expect(answer.status, `${operation}: ${answer.text}`).toBe(404);
        expect(expectProblem(answer, String(Reflect.get(Object(answer.json), 'code'))).code).toMatch(/_unknown$/);
      }
    }
    expect(await ofDefault()).toEqual(before);
  });

  test('are told nothing by ids of the other one in a query, beside an id of their own, in a body, or by a cursor', async () => {
    const own = runView.parse((await door.ask('zoe', 'POST', '/api/v1/runs', { agent: 'payer', input: 'mine' })).json);
    await door.ask('zoe', 'GET', `/api/v1/runs/${own.id}?wait=20`);
    const lists = walked.filter(({ method, path }) => method === 'GET' && !path.includes('{'));
    const asked: string[] = [];
    for (const { path, query, operation } of lists.filter((one) => scopeOf(one.operation) === 'tenant')) {
      for (const name of Object.keys((query as { shape?: object }).shape ?? {}))
        for (const id of secrets.filter((_, index) => (index + asked.length) % 3 === 0))
          asked.push(`${path}?${name}=${encodeURIComponent(id)}`);
      const page = await door.ask('vera', 'GET', `${path}?limit=1`);
      const cursor = page.status === 200 ? Object(page.json).nextCursor : null;
      if (cursor !== null && cursor !== undefined) asked.push(`${path}?cursor=${encodeURIComponent(cursor)}`);
      expect(page.status, operation).toBeLessThan(500);
    }
    expect(asked.length).toBeGreaterThan(60);
    for (const path of asked) {
      const answer = await door.ask('zoe', 'GET', path);
      expect(answer.status, path).toBeLessThan(500);
      // A refusal may say again what was asked.
      const told = secretsIn(answer).filter((id) => !path.includes(id));
      expect(answer.status < 300 ? secretsIn(answer) : told, path).toEqual([]);
    }
    const [over = '', other = '', , , standingOf = '', interruption = '', standing = ''] = secrets;
    const before = await ofDefault();
    const refused: readonly (readonly [method: string, path: string, body?: unknown])[] = [
      ['GET', `runs/${own.id}/diff/${over}`],
      ['GET', `runs/${over}/diff/${own.id}`],
      ['DELETE', `runs/${own.id}/standing-decisions/${standing}`],
      ['POST', `runs/${own.id}/fork`, { at: `${over}:2` }],
      ['POST', `runs/${over}/fork`, { at: `${own.id}:2` }],
      ['POST', `interruptions/${interruption}/approve`, {}],
      ['GET', `runs/${encodeURIComponent(`${own.id}/../${other}`)}`],
      ['GET', `runs/${standingOf}%00`],
      ['GET', `runs/${standingOf.toUpperCase()}`],
      ['POST', 'tasks', { task: { name: 'of-default', version: '1.0.0' }, agent: 'rare' }],
    ];
    for (const [method, path, body] of refused) {
      const answer = await door.ask('zoe', method, `/api/v1/${path}`, body);
      expect(answer.status, `${path}: ${answer.text}`).toBeGreaterThanOrEqual(400);
      expect(answer.status, `${path}: ${answer.text}`).toBeLessThan(500);
    }
    const tenant = { 'X-Tenant': 'default', Tenant: 'default', 'X-Holdfast-Tenant': 'default' };
    expect(secretsIn(await door.ask('zoe', 'GET', '/api/v1/runs?limit=200', undefined, tenant))).toEqual([]);
    const events = await door.ask('zoe', 'GET', '/api/v1/events?limit=200', undefined, { 'Last-Event-ID': '0' });
    expect(secretsIn(events)).toEqual([]);
    // A name that both have is of each.
    const talk = await door.ask('zoe', 'POST', '/api/v1/runs', { agent: 'echo', input: 'mine', sessionId: 'talk' });
    expect(talk.status, talk.text).toBeLessThan(300);
    expect(await ofDefault()).toEqual(before);
  });

  test('share what proves the log and describes the server, which names nothing of either', async () => {
    for (const { method, path, operation } of walked.filter((one) => scopeOf(one.operation) === 'shared')) {
      const answer = await door.ask('zoe', method, pathOf(path, samples[operation]));
      expect(answer.status, `${operation}: ${answer.text}`).toBe(200);
      expect(secretsIn(answer), operation).toEqual([]);
    }
  });

  test('have no part in the installation, whatever their role; its own roles have', async () => {
    const ofAll = walked.filter((one) => typeof scopeOf(one.operation) === 'object');
    for (const route of ofAll.filter(({ operation }) => operation !== 'stopWorker')) {
      const sample = samples[route.operation];
      const answer = await door.ask('zoe', route.method, pathOf(route.path, sample), bodyOf(route.method, sample));
      expect(expectProblem(answer, 'forbidden').detail, route.operation).toContain('in the installation');
      for (const admin of ADMINS) expect(await asStated(admin, route, sample), route.operation).toBe(403);
      const operates = (scopeOf(route.operation) as { readonly installation: string }).installation === 'operator';
      expect(await asStated(IRIS, route, sample), route.operation).toBe(operates ? 403 : 200);
      expect(await asStated(OLAF, route, sample), route.operation).toBeLessThan(300);
    }
    const stop = `/api/v1/workers/${worker}/stop`;
    expectProblem(await door.ask('zoe', 'POST', stop, { mode: 'drain' }), 'forbidden');
    const seen = workerView.parse((await door.ask('vera', 'GET', `/api/v1/workers/${worker}`)).json);
    expect(seen.status).toBe('working');
  });

  test('who operates the installation has no part in a tenant for that', async () => {
    for (const route of walked.filter((one) => scopeOf(one.operation) === 'tenant')) {
      const sample = samples[route.operation];
      if (sample.ids === undefined || sample.named === true) continue;
      expect([403, 404], route.operation).toContain(await asStated(OLAF, route, sample));
    }
  });

  describe('in a list of tokens that says nothing of the installation', () => {
    test('admins of the tenant default operate it, and its other tokens read', async () => {
      expect((await door.ask('vera', 'GET', '/api/v1/metrics')).status).toBe(200);
      expect((await door.ask('adam', 'POST', '/api/v1/log/checkpoint', {})).status).toBe(200);
      for (const actor of ['vera', 'otto', 'anna'] as const)
        expectProblem(await door.ask(actor, 'POST', '/api/v1/log/checkpoint', {}), 'forbidden');
    });
  });

  test('events of the installation are read by those who have a part in it', async () => {
    const kindsOf = async (actor: 'vera' | 'zoe') => (await door.ask(actor, 'GET', '/api/v1/events?limit=200')).text;
    expect(await kindsOf('vera')).toContain('worker.registered');
    expect(await kindsOf('zoe')).not.toContain('worker.registered');
  });
});
