import { randomUUID } from 'node:crypto';
import type { AgentInputItem } from '@openai/agents';
import { LOCAL_CALLER } from '../core/caller.js';
import { HoldfastError, isErrorCode } from '../core/errors/errors.js';
import { invalidConfig, invalidRequest } from '../core/field-errors.js';
import { type JsonObject, jsonObject } from '../core/json.js';
import { wholeItems } from '../core/page.js';
import type { ReadRun } from '../core/queue/queue-wait.js';
import { isOver, type StartRun } from '../core/runs/run.js';
import type { HoldfastConfig } from '../engine/agents/define.js';
import type { Engine } from '../engine/engine.js';
import type { EngineConfig } from '../engine/engine-config.js';
import { type AnyAgent, RunnerEngine } from './runner-engine.js';
import { interruptionOf, newItemsOf, type RunnerResult, RunnerState } from './runner-result.js';

export interface RunnerConfig extends Omit<EngineConfig, 'agents'> {
  /** Agents that are known from the start. Others are learnt when they are run, while no run is at work. */
  readonly agents?: HoldfastConfig['agents'];
  /** Milliseconds without a run after which the engine stops, so that the process can end. Null: never. Default 1000. */
  readonly idleMs?: number | null;
}

export interface RunnerOptions {
  /** Names the run. The same id with the same input is the same run, also in a later process. Default: a new run. */
  readonly id?: string;
  /** What code of the SDK reads as `RunContext.context`. */
  readonly context?: object;
  readonly maxTurns?: number;
  /** A conversation of several runs. */
  readonly sessionId?: string;
  /** Cancels the run. */
  readonly signal?: AbortSignal;
}

const OPTIONS: ReadonlySet<string> = new Set(['id', 'context', 'maxTurns', 'sessionId', 'signal']);
const WAIT_MS = 30_000;
const PAGE = 200;
const LOOK_MS = 1000;
const IDLE_MS = 1000;
const CALLER = LOCAL_CALLER;

/** `run(agent, input, options)` of the SDK's `Runner`, durable: a run survives the end of its process. */
export class HoldfastRunner {
  readonly #engine: RunnerEngine;

  constructor(given: RunnerConfig = {}) {
    if (typeof given !== 'object' || given === null)
      throw invalidConfig('The runner', [{ pointer: '', detail: 'expected a configuration' }]);
    const { agents = [], idleMs = IDLE_MS, ...config } = given;
    this.#engine = new RunnerEngine(config, agents, idleMs);
  }

  /**
   * Starts a run, or with a state sends its decisions, and waits until the run is over or waits for more. Throws the error that the run
   * failed with, `run_over` where it was cancelled, the reason of the signal, and what `startRun` and `decide` throw.
   */
  async run<TAgent extends AnyAgent>(
    agent: TAgent,
    input: string | AgentInputItem[] | RunnerState,
    options: RunnerOptions = {},
  ): Promise<RunnerResult<TAgent>> {
    assertAgent(agent);
    assertOptions(options);
    // Nothing begins of what was aborted before.
    options.signal?.throwIfAborted();
    return this.#engine.use(agent, async (engine) => {
      const runId =
        input instanceof RunnerState ? await resume(engine, input) : await start(engine, agent.name, input, options);
      return resultOf<TAgent>(engine, await rested(engine, runId, options.signal));
    });
  }

  /** Does something else with the engine of this runner, such as reading the log of a run. */
  withEngine<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    return this.#engine.use(null, work);
  }

  /** Stops the engine now. Runs that are not over go on when it starts again. */
  stop(): Promise<void> {
    return this.#engine.stop();
  }
}

function assertOptions(options: RunnerOptions): void {
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrong('/signal', 'expected an AbortSignal');
  const other = Object.entries(options).find(
    ([name, value]) => !OPTIONS.has(name) && value !== undefined && value !== false,
  );
  if (other === undefined) return;
  throw new HoldfastError(
    'invalid_request',
    `HoldfastRunner does not take the option ${other[0]}; expected ${[...OPTIONS].join(', ')}.`,
    {
      hint: 'docs/agents/runner.md says what a durable run takes in its place.',
    },
  );
}

function assertAgent(agent: { readonly name?: unknown } | null | undefined): void {
  if (typeof agent?.name === 'string') return;
  throw wrong('/agent', 'expected an Agent of the Agents SDK');
}

async function start(
  engine: Engine,
  agent: string,
  input: string | AgentInputItem[],
  options: RunnerOptions,
): Promise<string> {
  const { id = randomUUID(), context, maxTurns, sessionId = sessionOf(id) } = options;
  const more = {
    ...(context === undefined ? {} : { context: plain(context, '/context') }),
    ...(maxTurns === undefined ? {} : { maxTurns }),
  };
  return (await engine.startRun({ agent, input: inputOf(input), sessionId, ...more }, CALLER, id)).id;
}

/** Where nothing else is said, the id of a run names its session, too. Throws `invalid_request`. */
function sessionOf(id: unknown): string {
  if (typeof id === 'string' && ID.test(id)) return `runner:${id}`;
  throw wrong('/id', 'expected 1 to 193 visible ASCII characters');
}

const ID = /^[\x21-\x7e]{1,193}$/;

function inputOf(input: string | AgentInputItem[]): StartRun['input'] {
  if (typeof input === 'string') return input;
  if (Array.isArray(input)) return input.map((item, index) => plain(item, `/input/${index}`));
  throw wrong('/input', 'expected a text, a list of items, or the state of a result');
}

/** As JSON carries it: items that the SDK makes have members that are undefined. */
function plain(value: object, pointer: string): JsonObject {
  try {
    return jsonObject.parse(JSON.parse(JSON.stringify(value)));
  } catch {
    throw wrong(pointer, 'expected an object that JSON can carry');
  }
}

const wrong = (pointer: string, detail: string): HoldfastError =>
  invalidRequest([{ pointer, detail }], 'HoldfastRunner.run');

async function resume(engine: Engine, state: RunnerState): Promise<string> {
  for (const [id, decision] of state.decisions()) await engine.decide(id, decision, CALLER);
  return state.runId;
}

async function rested(engine: Engine, runId: string, signal: AbortSignal | undefined): Promise<ReadRun> {
  for (;;) {
    if (signal?.aborted === true) {
      await engine.cancelRun(runId, 'The program aborted the run.', CALLER).catch(() => undefined);
      throw signal.reason;
    }
    const waiting = { waitMs: WAIT_MS, ...(signal === undefined ? {} : { signal }) };
    const run = await engine.getRun(runId, CALLER, waiting);
    if (isOver(run.status) || (run.status === 'paused' && (await waitsForPeople(engine, runId)))) return run;
  }
}

const pendingOf = async (engine: Engine, runId: string) =>
  (await engine.listInterruptions({ status: 'pending', runId, limit: PAGE }, CALLER)).items;

/** Timers, events and sub-agents end by themselves. */
async function waitsForPeople(engine: Engine, runId: string): Promise<boolean> {
  const pending = await pendingOf(engine, runId);
  if (pending.some(({ verdicts }) => verdicts.length > 0)) return true;
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  return false;
}

async function resultOf<TAgent extends AnyAgent>(engine: Engine, run: ReadRun): Promise<RunnerResult<TAgent>> {
  if (run.status === 'failed') throw failureOf(run);
  if (run.status === 'cancelled') throw new HoldfastError('run_over', `The run ${run.id} was cancelled.`);
  const pending = await pendingOf(engine, run.id);
  const history = run.status === 'completed' ? await historyOf(engine, run) : [];
  return {
    runId: run.id,
    // The engine has parsed the output by the outputType of the agent.
    finalOutput: run.status === 'completed' ? (run.output as RunnerResult<TAgent>['finalOutput']) : undefined,
    history,
    newItems: newItemsOf(history, run.input),
    interruptions: pending.filter(({ verdicts }) => verdicts.length > 0).map(interruptionOf),
    state: new RunnerState(run.id),
    usage: run.usage,
  };
}

function failureOf({ id, error }: ReadRun): HoldfastError {
  const code = error !== null && isErrorCode(error.code) ? error.code : 'internal';
  const hint = error === null ? {} : { hint: error.hint };
  return new HoldfastError(code, `The run ${id} failed: ${error?.message ?? 'it says not why'}`, hint);
}

async function historyOf(engine: Engine, { id, sessionId }: ReadRun): Promise<AgentInputItem[]> {
  const history: AgentInputItem[] = [];
  for (let after = 0; sessionId !== null; ) {
    const page = await engine.listSessionItems(sessionId, { after, limit: PAGE }, CALLER);
    const items = wholeItems(page);
    // The engine keeps items in the format of the SDK.
    history.push(...items.filter(({ runId }) => runId === id).map(({ item }) => item as unknown as AgentInputItem));
    if (page.nextCursor === null) break;
    after = Number(page.nextCursor);
  }
  return history;
}
