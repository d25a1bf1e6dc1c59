import { z } from 'zod';
import { callOutcome, capabilityCheck, type EventData, type RunEvent } from './event.js';
import { type JsonObject, jsonValue } from './json.js';
import { runStatus, usage } from './run.js';

const action = z.object({
  callId: z.string(),
  tool: z.string(),
  arguments: jsonValue,
  decision: z.enum(['allow', 'ask', 'deny', 'invalid']),
  checks: z.array(capabilityCheck),
});

/** One step: what the model saw, said and asked for, and what came of it. */
export const trajectoryStep = z
  .object({
    step: z.int().min(1),
    state: z.object({ hash: z.string(), version: z.int(), inputItems: z.int() }).describe('Before the step.'),
    action: z.object({
      agent: z.string(),
      model: z.string(),
      text: z.string().nullable(),
      reasoning: z.string().nullable(),
      calls: z.array(action),
    }),
    observation: z.array(z.object({ callId: z.string(), outcome: callOutcome })),
    done: z.boolean(),
    info: z.object({
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

/** Folds a log into a trajectory. Pure; works for runs that still go on. `agent` and `status` are those of the run's row. */
export function foldTrajectory(
  run: Pick<Trajectory, 'runId' | 'agent' | 'agentVersion' | 'input' | 'status' | 'output' | 'usage'>,
  events: Iterable<RunEvent>,
): Trajectory {
  const steps: TrajectoryStep[] = [];
  let open: Open | null = null;
  let requested: { event: RunEvent; data: EventData<'model.requested'> } | null = null;
  let head = { seq: 0, hash: '' };
  const close = (done: boolean): void => {
    if (open === null) return;
    const { calls, action: said, ...rest } = open;
    steps.push({ ...rest, action: { ...said, calls }, done });
    open = null;
  };
  for (const event of events) {
    head = { seq: event.seq, hash: event.hash };
    if (event.kind === 'model.requested') {
      close(false);
      requested = { event, data: event.data as EventData<'model.requested'> };
      continue;
    }
    if (event.kind === 'model.responded') {
      const data = event.data as EventData<'model.responded'>;
      open = {
        step: steps.length + 1,
        state: {
          hash: (requested?.event ?? event).stateHashBefore,
          version: (requested?.event ?? event).stateVersion - 1,
          inputItems: requested?.data.inputItems ?? 0,
        },
        action: {
          agent: data.agent,
          model: data.model,
          text: said(data.output, 'message'),
          reasoning: said(data.output, 'reasoning'),
        },
        calls: [],
        observation: [],
        info: {
          usage: data.usage,
          events: { from: requested?.event.seq ?? event.seq, to: event.seq },
          startedAt: (requested?.event ?? event).at,
          endedAt: event.at,
        },
      };
      continue;
    }
    const current: Open | null = open;
    if (current === null) continue;
    if (event.kind === 'call.checked') {
      const data = event.data as EventData<'call.checked'>;
      // Judged again after a decision, it keeps its place in the model's order.
      const at = current.calls.findIndex((call) => call.callId === data.callId);
      current.calls = at < 0 ? [...current.calls, pick(data)] : current.calls.with(at, pick(data));
    } else if (event.kind === 'call.finished') {
      const data = event.data as EventData<'call.finished'>;
      current.observation.push({ callId: data.callId, outcome: data.outcome });
    }
    current.info = { ...current.info, events: { ...current.info.events, to: event.seq }, endedAt: event.at };
  }
  close(run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled');
  return { ...run, steps, totalSteps: steps.length, head };
}

const pick = (data: EventData<'call.checked'>): z.infer<typeof action> => ({
  callId: data.callId,
  tool: data.tool,
  arguments: data.arguments,
  decision: data.decision,
  checks: data.checks,
});
