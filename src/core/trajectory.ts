import { z } from 'zod';
import { callOutcome, capabilityCheck, type EventData, type RunEvent } from './event.js';
import { type JsonObject, jsonValue } from './json.js';
import { route } from './route.js';
import { errorView, isOver, runStatus, type Usage, usage } from './run.js';

const action = z.object({
  callId: z.string(),
  tool: z.string(),
  arguments: jsonValue,
  decision: z.enum(['allow', 'ask', 'deny', 'invalid']),
  checks: z.array(capabilityCheck),
  childRunId: z.string().exactOptional().describe('The run that the call started, if it is a sub-agent.'),
});

/** One step: what the model saw, said and asked for, and what came of it. A call that it never answered is the last step of a run. */
export const trajectoryStep = z
  .object({
    step: z.int().min(1),
    state: z.object({ hash: z.string(), version: z.int(), inputItems: z.int() }).describe('Before the step.'),
    action: z.object({
      agent: z.string(),
      model: z.string(),
      route: route.exactOptional(),
      text: z.string().nullable(),
      reasoning: z.string().nullable(),
      calls: z.array(action),
    }),
    observation: z.array(z.object({ callId: z.string(), outcome: callOutcome })),
    done: z.boolean(),
    info: z.object({
      error: errorView.nullable().describe('Why the model gave no answer; null if it gave one, or was stopped.'),
      usage,
      events: z.object({ from: z.int(), to: z.int() }),
      startedAt: z.string(),
      endedAt: z.string(),
    }),
  })
  .meta({ id: 'TrajectoryStep' });
export type TrajectoryStep = z.infer<typeof trajectoryStep>;

export const trajectory = z
  .object({
    runId: z.string(),
    agent: z.string(),
    agentVersion: z.string(),
    input: jsonValue,
    status: runStatus,
    output: jsonValue,
    steps: z.array(trajectoryStep),
    totalSteps: z.int(),
    usage,
    head: z.object({ seq: z.int(), hash: z.string() }),
  })
  .meta({ id: 'Trajectory' });
export type Trajectory = z.infer<typeof trajectory>;

interface Open {
  step: number;
  state: TrajectoryStep['state'];
  action: Omit<TrajectoryStep['action'], 'calls'>;
  calls: z.infer<typeof action>[];
  observation: TrajectoryStep['observation'];
  info: TrajectoryStep['info'];
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const texts = (items: unknown, field: 'content' | 'rawContent', types: readonly string[]): string[] =>
  isObject(items) && Array.isArray(items[field])
    ? items[field].flatMap((part: unknown) =>
        isObject(part) && types.includes(String(part['type'])) && typeof part['text'] === 'string'
          ? [part['text']]
          : [],
      )
    : [];

function said(output: readonly JsonObject[], type: 'message' | 'reasoning'): string | null {
  const parts = output
    .filter(
      (item) =>
        item['type'] === type || (type === 'message' && item['type'] === undefined && item['role'] === 'assistant'),
    )
    .flatMap((item) =>
      type === 'message'
        ? texts(item, 'content', ['output_text'])
        : [...texts(item, 'content', ['input_text']), ...texts(item, 'rawContent', ['reasoning_text'])],
    );
  return parts.length === 0 ? null : parts.join('\n');
}

type Requested = { readonly event: RunEvent; readonly data: EventData<'model.requested'> };

const NO_TOKENS: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** A step as it begins: `event` is the answer of the model, or what tells that there is none. */
const opened = (
  step: number,
  requested: Requested | null,
  event: RunEvent,
  action: Open['action'],
  info: Pick<Open['info'], 'error' | 'usage'>,
): Open => ({
  step,
  state: {
    hash: (requested?.event ?? event).stateHashBefore,
    version: (requested?.event ?? event).stateVersion - 1,
    inputItems: requested?.data.inputItems ?? 0,
  },
  action,
  calls: [],
  observation: [],
  info: {
    ...info,
    events: { from: requested?.event.seq ?? event.seq, to: event.seq },
    startedAt: (requested?.event ?? event).at,
    endedAt: event.at,
  },
});

const silent = ({ agent, model }: { readonly agent: string; readonly model: string }): Open['action'] => ({
  ...{ agent, model, text: null, reasoning: null },
});

/** Folds a log into a trajectory. Pure; works for runs that still go on. `agent` and `status` are those of the run's row. */
export function foldTrajectory(
  run: Pick<Trajectory, 'runId' | 'agent' | 'agentVersion' | 'input' | 'status' | 'output' | 'usage'>,
  events: Iterable<RunEvent>,
): Trajectory {
  const steps: TrajectoryStep[] = [];
  let open: Open | null = null;
  let requested: Requested | null = null;
  let last: RunEvent | null = null;
  const close = (done: boolean): void => {
    if (open === null) return;
    const { calls, action: said, ...rest } = open;
    steps.push({ ...rest, action: { ...said, calls }, done });
    open = null;
  };
  for (const event of events) {
    last = event;
    if (event.kind === 'model.requested') {
      close(false);
      requested = { event, data: event.data as EventData<'model.requested'> };
      continue;
    }
    if (event.kind === 'model.responded') {
      const { agent, model, output, usage, route } = event.data as EventData<'model.responded'>;
      const text = said(output, 'message');
      const reasoning = said(output, 'reasoning');
      const action = { agent, model, ...(route === undefined ? {} : { route }), text, reasoning };
      open = opened(steps.length + 1, requested, event, action, { error: null, usage });
      requested = null;
      continue;
    }
    if (event.kind === 'model.failed') {
      const data = event.data as EventData<'model.failed'>;
      open = opened(steps.length + 1, requested, event, silent(data), { error: data.error, usage: NO_TOKENS });
      requested = null;
      continue;
    }
    const current: Open | null = open;
    if (current === null) continue;
    if (event.kind === 'call.checked') {
      const data = event.data as EventData<'call.checked'>;
      // Judged again after a decision, it keeps its place in the model's order.
      const at = current.calls.findIndex((call) => call.callId === data.callId);
      const before = current.calls[at];
      current.calls =
        before === undefined ? [...current.calls, pick(data)] : current.calls.with(at, { ...before, ...pick(data) });
    } else if (event.kind === 'child.started') {
      const { callId, childRunId } = event.data as EventData<'child.started'>;
      current.calls = current.calls.map((call) => (call.callId === callId ? { ...call, childRunId } : call));
    } else if (event.kind === 'call.finished') {
      const data = event.data as EventData<'call.finished'>;
      current.observation.push({ callId: data.callId, outcome: data.outcome });
    }
    current.info = { ...current.info, events: { ...current.info.events, to: event.seq }, endedAt: event.at };
  }
  const over = isOver(run.status);
  if (over && requested !== null && last !== null)
    open = opened(steps.length + 1, requested, last, silent(requested.data), { error: null, usage: NO_TOKENS });
  close(over);
  const head = { seq: last?.seq ?? 0, hash: last?.hash ?? '' };
  return { ...run, steps, totalSteps: steps.length, head };
}

const pick = (data: EventData<'call.checked'>): z.infer<typeof action> => ({
  callId: data.callId,
  tool: data.tool,
  arguments: data.arguments,
  decision: data.decision,
  checks: data.checks,
});
