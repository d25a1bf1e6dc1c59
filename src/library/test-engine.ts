import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Caller, LOCAL_CALLER } from '../core/caller.js';
import { HoldfastError } from '../core/errors/errors.js';
import type { DecisionRequest, InterruptionView } from '../core/interruptions/interruption.js';
import type { JsonValue } from '../core/json.js';
import type { CallOutcome } from '../core/log/call-outcome.js';
import { EVENT_DATA, type RunEvent } from '../core/log/event.js';
import type { RunView, StartRun } from '../core/runs/run.js';
import { createEngine } from '../engine/create-engine.js';
import type { Engine } from '../engine/engine.js';
import type { EngineConfig } from '../engine/engine-config.js';

/** A call of a tool, as the log has it. */
export interface TestCall {
  readonly tool: string;
  /** After an edit of a person: the edited ones. */
  readonly arguments: JsonValue;
  /** What the grants and the rules of the tool said at first. */
  readonly decision: 'allow' | 'ask' | 'deny' | 'invalid';
  /** Null: it has not ended. */
  readonly outcome: CallOutcome | null;
}

/** The calls in a log, in the order in which they were checked. A payload that was erased counts for none. */
function callsIn(events: readonly RunEvent[]): readonly TestCall[] {
  const calls = new Map<string, TestCall>();
  for (const { kind, data } of events) {
    if (data === null) continue;
    if (kind === 'call.checked') {
      const { callId, tool, arguments: args, decision } = EVENT_DATA[kind].parse(data);
      const before = calls.get(callId);
      calls.set(callId, { tool, arguments: args, decision: before?.decision ?? decision, outcome: null });
    }
    if (kind === 'call.finished') {
      const { callId, outcome } = EVENT_DATA[kind].parse(data);
      const call = calls.get(callId);
      if (call !== undefined) calls.set(callId, { ...call, outcome });
    }
  }
  return [...calls.values()];
}

/** A real engine on a database of its own, with what tests ask for most. */
export interface TestEngine {
  /** The engine that works now: another one after `restart`. */
  readonly engine: Engine;
  /** Starts a run, and waits until it is paused or over. */
  run(agent: string, input?: StartRun['input']): Promise<RunView>;
  /** What a run waits for. */
  pending(runId: string): Promise<readonly InterruptionView[]>;
  /** Decides the one thing that a run waits for, or the call of `tool` among several. Waits until the run is paused or over again. */
  decide(runId: string, decision: DecisionRequest, tool?: string): Promise<RunView>;
  /** Waits until a run is paused or over. */
  rest(runId: string): Promise<RunView>;
  /** The calls of tools in the log of a run, in their order. */
  calls(runId: string): Promise<readonly TestCall[]>;
  /** The log of a run, or its events of one kind. */
  events(runId: string, kind?: RunEvent['kind']): Promise<readonly RunEvent[]>;
  /** Stops the engine and starts another one on the same database, as a deploy does. */
  restart(): Promise<void>;
  /** Stops the engine and removes its database. */
  close(): Promise<void>;
}

const REST_MS = 30_000;
const MOST_PENDING = 100;
const PAGE = 200;
const GRACE_MS = 1000;

/**
 * Starts an engine in a new folder below the temporary directory, or on `databaseUrl`. A run that is neither paused nor over after 30
 * seconds is given as it is. Throws what `createEngine` throws.
 */
export async function createTestEngine(config: EngineConfig, caller: Caller = LOCAL_CALLER): Promise<TestEngine> {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  const start = (): Promise<Engine> => createEngine({ workerId: 'test', dataDir: dir, ...config });
  let isClosed = false;
  let engine = await start().catch((error: unknown) => {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  });
  const rest = (id: string): Promise<RunView> => engine.getRun(id, caller, { waitMs: REST_MS });
  const pending = async (runId: string): Promise<readonly InterruptionView[]> =>
    (await engine.listInterruptions({ status: 'pending', runId, limit: MOST_PENDING }, caller)).items;
  const events: TestEngine['events'] = async (runId, kind) => {
    const found: RunEvent[] = [];
    for (let after = 0; ; ) {
      const which = { after, limit: PAGE, ...(kind === undefined ? {} : { kind }) };
      const { items } = await engine.listEvents(runId, which, caller);
      found.push(...items);
      if (items.length < PAGE) return found;
      after = items.at(-1)?.seq ?? after;
    }
  };
  return {
    get engine() {
      return engine;
    },
    run: async (agent, input = 'go') => rest((await engine.startRun({ agent, input }, caller)).id),
    pending,
    rest,
    decide: async (runId, decision, tool) => {
      const [only, ...more] = (await pending(runId)).filter((one) => tool === undefined || one.tool === tool);
      if (only === undefined || more.length > 0)
        throw new HoldfastError(
          'invalid_request',
          `The run ${runId} waits for ${more.length + (only === undefined ? 0 : 1)} decisions${tool === undefined ? '' : ` on ${tool}`}, and decide() takes one.`,
          { hint: 'Name the tool, as in t.decide(runId, decision, "pay"), or decide each by its id: engine.decide.' },
        );
      await engine.decide(only.id, decision, caller);
      return rest(runId);
    },
    events,
    calls: async (runId) => callsIn(await events(runId)),
    restart: async () => {
      if (isClosed)
        throw new HoldfastError('engine_not_running', 'The test engine is closed, and its database is gone.', {
          hint: 'Start another one: createTestEngine(config).',
        });
      await engine.stop({ graceMs: GRACE_MS });
      engine = await start();
    },
    close: async () => {
      isClosed = true;
      await engine.stop({ graceMs: GRACE_MS });
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
