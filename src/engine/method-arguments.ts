import { z } from 'zod';
import { spendFilter } from '../core/budgets/charge.js';
import { VERSION_STATUSES } from '../core/evolution/version.js';
import {
  approveBody,
  decideMany,
  decisionRequest,
  INTERRUPTION_KINDS,
  INTERRUPTION_STATUSES,
} from '../core/interruptions/interruption.js';
import { RUN_ORDERS } from '../core/interruptions/run-rows.js';
import { nameText } from '../core/json.js';
import { SYSTEM_EVENT_KINDS, type SystemEventKind } from '../core/log/system-event.js';
import { verifyRange } from '../core/log/verify-log.js';
import { SERIES_NAMES } from '../core/ops/overview.js';
import { planCheckRequest } from '../core/plans/plan-view.js';
import { workerStop } from '../core/queue/worker.js';
import { runStatus } from '../core/runs/run.js';
import { bulkRequest } from '../core/runs/run-counts.js';
import { liftWork } from '../core/runs/set-aside.js';
import { requeueTask } from '../core/tasks/task.js';
import {
  type Argument,
  anything,
  argumentOf,
  caller,
  checkedLater,
  ending,
  filter,
  following,
  id,
  idempotencyKey,
  named,
  optionalText,
  optionalTime,
  page,
  place,
  placeInLog,
  reason,
  request,
  seq,
  steps,
  systemPlace,
  untilSignal,
  waiting,
} from './argument.js';
import type { EngineContext } from './engine-context.js';
import type { ANYTIME, IMMEDIATE } from './immediate-operations.js';
import type { OPERATIONS } from './operations.js';

/** For each function of a table the shapes of its arguments, without the context of the engine. */
export type ShapesOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (context: EngineContext, ...given: infer Given) => unknown
    ? { readonly [Place in keyof Given]-?: Argument }
    : never;
};

const RUNS = {
  ...{ status: runStatus.optional(), agent: optionalText, parent: optionalText, subject: optionalText },
  ...{ session: optionalText, error: optionalText, from: optionalTime, to: optionalTime, tag: optionalText },
  ...{ task: optionalText, model: optionalText, waiting: z.enum(INTERRUPTION_KINDS).optional() },
};
const INBOX = {
  ...{ status: z.enum(INTERRUPTION_STATUSES).optional(), runId: optionalText, agent: optionalText, tool: optionalText },
  kind: z.union([z.enum(INTERRUPTION_KINDS), z.array(z.enum(INTERRUPTION_KINDS))]).optional(),
  ...{ expiresBefore: optionalTime, votedBy: optionalText },
  order: z.enum(['age', 'newest', 'deadline']).optional(),
};
const SYSTEM_EVENTS = {
  kind: z.enum(SYSTEM_EVENT_KINDS as [SystemEventKind, ...SystemEventKind[]]).optional(),
  ...{ taskId: optionalText, runId: optionalText, ...systemPlace },
};
const { limit } = page;

const ofPage = filter(page);
/** A list that narrows by what it checks itself. */
const ofLaterPage = argumentOf('filter', z.looseObject(page));
const ofAccess = filter({ ...page, actor: optionalText });
const ofRetention = argumentOf('of', z.enum(['tenant', 'installation']).optional());
const version = (name: string) => argumentOf(name, z.object({ name: z.string(), version: z.string() }));
const document = argumentOf('name', z.object({ space: z.string(), owner: z.string(), key: z.string() }));
const lines = argumentOf(
  'lines',
  z.custom((value) => typeof value === 'object' && value !== null && Symbol.asyncIterator in value, {
    error: 'expected an async iterable of lines',
  }),
);
const which = argumentOf(
  'options',
  z.union([
    z.strictObject({ ...placeInLog, kind: optionalText }),
    z.strictObject({ before: placeInLog.after.nullable(), limit, kind: optionalText }),
  ]),
);
const range = { from: optionalTime, to: optionalTime };

/** What each method of the engine takes. A method that is missing here, or has another number of arguments, does not compile. */
export const ARGUMENTS = {
  startRun: [checkedLater, caller, idempotencyKey],
  getRun: [id, caller, waiting],
  listRuns: [filter({ ...page, ...RUNS }), caller],
  searchRuns: [filter({ ...page, ...RUNS, text: optionalText, order: z.enum(RUN_ORDERS).optional() }), caller],
  countRuns: [filter(RUNS), caller],
  getFamily: [id, caller],
  bulkRuns: [request(bulkRequest), caller, idempotencyKey, untilSignal],
  cancelRun: [id, reason, caller],
  deleteRun: [id, caller],
  eraseRun: [id, checkedLater, caller],
  eraseSubject: [checkedLater, caller],
  getSubjectErasure: [id, caller],
  previewRetention: [caller, ofRetention],
  askForRetention: [caller, ofRetention],
  forkRun: [id, checkedLater, caller, idempotencyKey, untilSignal],
  retryRun: [id, checkedLater, caller, idempotencyKey, untilSignal],
  listEvents: [id, which, caller],
  getEvent: [id, seq, caller],
  findInLog: [
    id,
    argumentOf('options', z.strictObject({ text: z.string().min(1), ...placeInLog })),
    caller,
    untilSignal,
  ],
  getTrajectory: [id, caller, steps],
  listTrajectories: [ofLaterPage, caller],
  rewardRun: [id, checkedLater, caller],
  listRewards: [id, place, caller],
  verifyRun: [id, caller, argumentOf('range', verifyRange.optional()), untilSignal],
  verifyRuns: [filter({ ...page, status: runStatus.optional(), agent: optionalText }), caller, untilSignal],
  repairRun: [id, checkedLater, caller, untilSignal],
  stateAt: [id, argumentOf('at', z.int().optional()), caller, untilSignal],
  diffRuns: [named('a'), named('b'), caller, untilSignal],
  replayRun: [id, checkedLater, caller, untilSignal],
  exportProof: [
    id,
    argumentOf('options', z.strictObject({ payloads: z.boolean(), signal: ending.signal.optional() })),
    caller,
  ],
  getLog: [],
  checkpointNow: [],
  listLogEntries: [place, caller],
  getConsistency: [argumentOf('sizes', z.object({ earlier: z.int().min(0), size: z.int().min(0) }))],
  verifyLog: [caller, untilSignal],
  startExport: [checkedLater, caller],
  getExport: [id, caller],
  listExports: [ofPage, caller],
  readExportFile: [id, named('path'), caller],
  cancelExport: [id, caller],
  listCharges: [id, place, caller],
  listSpend: [filter({ ...spendFilter.partial().shape, ...page }), caller],
  listInterruptions: [filter({ ...page, ...INBOX }), caller],
  getInterruption: [id, caller],
  countInterruptions: [caller],
  getInterruptionContext: [id, caller],
  checkApproval: [id, request(approveBody), caller],
  decide: [id, request(decisionRequest), caller],
  decideMany: [request(decideMany), caller, untilSignal],
  listStandingDecisions: [named('runId'), ofPage, caller],
  revokeStandingDecision: [named('runId'), id, caller],
  listSessions: [ofPage, caller],
  getSession: [id, caller],
  listSessionItems: [id, place, caller],
  deleteSession: [id, caller],
  emitEvent: [named('name'), checkedLater, caller],
  listMemorySpaces: [caller],
  listMemory: [named('space'), filter({ ...page, owner: optionalText, q: optionalText, near: optionalText }), caller],
  getMemory: [document, place, caller],
  forgetMemory: [document, caller],
  submitTask: [checkedLater, caller, idempotencyKey],
  getTask: [id, caller],
  listTasks: [ofLaterPage, caller],
  cancelTask: [id, reason, caller],
  requeueTask: [id, request(requeueTask), caller],
  listArtifacts: [id, caller],
  readArtifact: [id, named('name'), caller],
  registerTask: [checkedLater, caller],
  listTaskDefinitions: [ofLaterPage, caller],
  getTaskDefinition: [version('of'), caller],
  diffTaskDefinitions: [version('from'), version('to'), caller],
  deprecateTaskDefinition: [version('of'), checkedLater, caller],
  createDataset: [checkedLater, caller],
  listDatasets: [ofLaterPage, caller],
  getDataset: [version('of'), caller],
  listDatasetTasks: [version('of'), ofPage, caller],
  listBatches: [ofPage, caller],
  getBatch: [named('key'), caller],
  cancelBatch: [named('key'), reason, caller],
  groupTasks: [checkedLater, caller],
  compareTaskGroups: [checkedLater, caller],
  getPassRates: [checkedLater, caller],
  listSystemEvents: [argumentOf('options', z.strictObject({ ...SYSTEM_EVENTS, limit })), caller],
  listWorkers: [ofPage],
  getWorker: [id],
  stopWorker: [id, request(workerStop)],
  listSetAside: [],
  liftWork: [request(liftWork.extend({ tenant: nameText }))],
  getPlan: [named('name')],
  checkPlan: [named('name'), request(planCheckRequest)],
  listVersions: [filter({ ...page, status: z.enum(VERSION_STATUSES).optional() }), caller],
  getEvolution: [named('name'), caller],
  rolloutAgent: [named('name'), checkedLater, caller],
  rollbackAgent: [named('name'), checkedLater, caller],
  listAgents: [ofPage, caller],
  getAgent: [named('name'), caller],
  getDefinition: [named('name'), named('hash'), caller],
  metrics: [caller],
  getQueue: [caller],
  listErrors: [filter(range), caller],
  listBudgets: [caller],
  getSeries: [
    filter({ metric: z.enum(SERIES_NAMES), step: z.enum(['hour', 'day']), ...range, from: z.date() }),
    caller,
  ],
  listAlerts: [caller],
  silenceAlert: [named('name'), checkedLater, caller],
  listWebhooks: [caller],
  listAccess: [ofAccess, caller],
  listRunAccess: [named('run'), ofAccess, caller],
  stats: [caller],
  recordAccess: [anything],
  streamEvents: [id, following, caller],
  streamRun: [id, following, caller],
  streamTrajectories: [checkedLater, caller],
  submitTasks: [lines, caller, argumentOf('key', z.string().min(1).max(255))],
  streamSystemEvents: [argumentOf('options', z.strictObject({ ...SYSTEM_EVENTS, ...ending })), caller],
  openSession: [id, caller],
  runStateBackend: [named('name'), caller],
  countRequest: [anything],
  health: [argumentOf('caller', caller.schema.optional())],
  isReady: [],
} satisfies ShapesOf<typeof OPERATIONS & typeof IMMEDIATE & typeof ANYTIME>;
