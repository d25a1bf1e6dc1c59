import { HoldfastError } from '../errors/errors.js';
import { canonical, type JsonObject, type JsonValue, toJson } from '../json.js';

/** What happened to a machine: its run began, or a call that it made has ended. */
export type MachineEvent<I = JsonValue> =
  | { readonly type: 'input'; readonly input: I }
  | { readonly type: 'output'; readonly id: string; readonly tool: string; readonly output: JsonValue }
  | {
      readonly type: 'failed';
      readonly id: string;
      readonly tool: string;
      readonly code: string;
      readonly message: string;
    };

/** What a transition may know besides: both are recorded, so that a replay tells it the same. */
export interface MachineContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The number of the event in the log that asks for this turn. */
  readonly logicalTime: number;
}

export interface MachineState {
  readonly name: string;
  readonly data: JsonValue;
}

export interface MachineCall {
  /** How events call it. Default: the name of the tool. */
  readonly id?: string;
  readonly tool: string;
  readonly arguments: unknown;
}

/** What a transition gives. `output` ends the run; `calls` are made at once. */
export interface MachineStep {
  readonly state: { readonly name: string; readonly data: unknown };
  readonly calls?: readonly MachineCall[];
  readonly output?: unknown;
}

export interface Machine {
  readonly name: string;
  readonly initial: MachineState;
  /** By name: reads data of the state, and says which states may follow. `to` null: any. */
  readonly states: ReadonlyMap<string, MachineStateRule>;
  /** Says what is wrong with an output; null: nothing. */
  readonly outputProblem: (output: JsonValue) => string | null;
  readonly tools: ReadonlySet<string>;
  readonly transition: (state: MachineState, event: MachineEvent, context: MachineContext) => unknown;
}

export interface MachineStateRule {
  /** Throws for data that do not fit. */
  readonly read: (data: unknown) => JsonValue;
  readonly to: ReadonlySet<string> | null;
}

/** What a turn was told of time. */
export interface MachineClock {
  readonly times: readonly number[];
  readonly logicalTime: number;
}

export interface MachineTurn {
  readonly state: MachineState;
  readonly clock: MachineClock;
  readonly next:
    | { readonly type: 'calls'; readonly calls: readonly { id: string; tool: string; arguments: JsonObject }[] }
    | { readonly type: 'output'; readonly output: JsonValue };
}

export const MACHINE_STATE_BYTES = 65_536;
export const MACHINE_CALLS = 100;
const TIMES = 32;

/** Tells a machine what time it is: what is recorded first, and then, if it may, what the clock says. */
class Clock {
  readonly times: number[];
  #next = 0;
  readonly #live: (() => number) | null;

  constructor(recorded: readonly number[], live: (() => number) | null) {
    this.times = [...recorded];
    this.#live = live;
  }

  begin(): void {
    this.#next = 0;
  }

  now(fail: (why: string) => HoldfastError): number {
    const known = this.times[this.#next];
    if (known === undefined && this.#live === null) throw fail('it reads the clock more often than it did');
    if (this.#next >= TIMES) throw fail(`it reads the clock more than ${TIMES} times in one turn`);
    const time = known ?? this.#live?.() ?? 0;
    this.times[this.#next++] = time;
    return time;
  }
}

/**
 * Takes a machine over its events, one transition for each, to what it does next. Each transition is executed twice, and must give the
 * same both times. `recorded`: what this turn was told of time before. Throws `machine_failed`.
 */
export function takeMachineTurn(
  machine: Machine,
  from: MachineState,
  events: readonly MachineEvent[],
  clock: { readonly recorded: MachineClock } | { readonly now: () => number; readonly logicalTime: number },
): MachineTurn {
  const recorded = 'recorded' in clock ? clock.recorded : null;
  const { logicalTime } = 'recorded' in clock ? clock.recorded : clock;
  const told = new Clock(recorded?.times ?? [], 'recorded' in clock ? null : clock.now);
  const first = walk(machine, from, events, { told, logicalTime });
  const again = new Clock(told.times, null);
  const second = walk(machine, from, events, { told: again, logicalTime });
  if (canonical(first) !== canonical(second))
    throw failed(
      machine,
      'its transition gave something else for the same state and event. Use only what it is given.',
    );
  const { state, calls, output } = first;
  const turn = { state, clock: { times: told.times, logicalTime } };
  if (output !== undefined && calls.length > 0)
    throw failed(machine, `in the state ${state.name} it gives an output and makes calls: ${idsOf(calls)}`);
  if (output !== undefined) return { ...turn, next: { type: 'output', output } };
  if (calls.length === 0)
    throw failed(machine, `in the state ${state.name} it waits for nothing: it makes no call and gives no output`);
  return { ...turn, next: { type: 'calls', calls } };
}

interface Walked {
  readonly state: MachineState;
  readonly calls: readonly { id: string; tool: string; arguments: JsonObject }[];
  readonly output?: JsonValue;
}

function walk(
  machine: Machine,
  from: MachineState,
  events: readonly MachineEvent[],
  time: { readonly told: Clock; readonly logicalTime: number },
): Walked {
  time.told.begin();
  let state = stateOf(machine, from);
  const calls: { id: string; tool: string; arguments: JsonObject }[] = [];
  let output: JsonValue | undefined;
  for (const event of events) {
    if (output !== undefined) break;
    const step = stepOf(machine, state, event, time);
    state = nextState(machine, state, step.state);
    for (const call of step.calls) calls.push(checkedCall(machine, call, calls));
    output = step.output;
  }
  return { state, calls, ...(output === undefined ? {} : { output }) };
}

function stepOf(
  machine: Machine,
  state: MachineState,
  event: MachineEvent,
  { told, logicalTime }: { readonly told: Clock; readonly logicalTime: number },
): { readonly state: MachineState; readonly calls: readonly MachineCall[]; readonly output: JsonValue | undefined } {
  const fail = (why: string, cause?: unknown): HoldfastError =>
    failed(machine, `in the state ${state.name}, on ${nameOf(event)}: ${why}`, cause);
  const context: MachineContext = { now: () => told.now(fail), logicalTime };
  let given: unknown;
  try {
    given = machine.transition(structuredClone(state), structuredClone(event), context);
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw fail(cause instanceof Error ? cause.message : String(cause), cause);
  }
  if (typeof given === 'object' && given !== null && 'then' in given)
    throw fail('its transition gives a promise; what takes time is a call of a tool');
  if (!isStep(given)) throw fail('its transition gives no { state: { name, data }, calls?, output? }');
  const { calls = [], output } = given;
  if (output !== undefined) assertOutput(machine, toJson(output), fail);
  return {
    state: { name: given.state.name, data: toJson(given.state.data) },
    calls,
    output: output === undefined ? undefined : toJson(output),
  };
}

function assertOutput(machine: Machine, output: JsonValue, fail: (why: string) => HoldfastError): void {
  const problem = machine.outputProblem(output);
  if (problem !== null) throw fail(`its output does not fit: ${problem}`);
}

const isStep = (given: unknown): given is MachineStep => {
  if (typeof given !== 'object' || given === null || !('state' in given)) return false;
  const { state } = given;
  if (typeof state !== 'object' || state === null || !('name' in state) || typeof state.name !== 'string') return false;
  return !('calls' in given) || given.calls === undefined || Array.isArray(given.calls);
};

const nameOf = (event: MachineEvent): string => (event.type === 'input' ? 'its input' : `${event.type} of ${event.id}`);

function nextState(machine: Machine, from: MachineState, to: MachineState): MachineState {
  const next = stateOf(machine, to);
  const allowed = machine.states.get(from.name)?.to ?? null;
  if (to.name === from.name || allowed === null || allowed.has(to.name)) return next;
  throw failed(machine, `it goes from ${from.name} to ${to.name}, which is not among its \`to\`: ${listOf(allowed)}`);
}

function stateOf(machine: Machine, { name, data }: MachineState): MachineState {
  const rule = machine.states.get(name);
  if (rule === undefined)
    throw failed(
      machine,
      `it comes to the state ${name}, which it does not have; it has ${listOf(machine.states.keys())}`,
    );
  let read: JsonValue;
  try {
    read = rule.read(data);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw failed(machine, `its data do not fit the state ${name}: ${why}`, cause);
  }
  const bytes = Buffer.byteLength(canonical(read));
  if (bytes > MACHINE_STATE_BYTES)
    throw failed(machine, `the data of its state ${name} are ${bytes} bytes; the limit is ${MACHINE_STATE_BYTES}`);
  return { name, data: read };
}

function checkedCall(machine: Machine, call: MachineCall, before: readonly { readonly id: string }[]) {
  const { tool, id = tool } = call;
  if (!machine.tools.has(tool))
    throw failed(machine, `it calls ${String(tool)}, which is not among its tools: ${listOf(machine.tools)}`);
  if (typeof id !== 'string' || id === '' || id.length > 128)
    throw failed(machine, `it calls ${tool} with an id that is no name`);
  if (before.some((other) => other.id === id))
    throw failed(machine, `it makes two calls ${id} at once; give each an \`id\``);
  if (before.length >= MACHINE_CALLS) throw failed(machine, `it makes more than ${MACHINE_CALLS} calls at once`);
  const given = toJson(call.arguments ?? {});
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw failed(machine, `it calls ${tool} with arguments that are no object`);
  return { id, tool, arguments: given as JsonObject };
}

const idsOf = (calls: readonly { readonly id: string }[]): string => calls.map(({ id }) => id).join(', ');
const listOf = (names: Iterable<string>): string => [...names].join(', ') || 'none';

const failed = ({ name }: Machine, why: string, cause?: unknown): HoldfastError => machineFailed(name, why, cause);

export const machineFailed = (name: string, why: string, cause?: unknown): HoldfastError =>
  new HoldfastError('machine_failed', `The state machine ${name} failed: ${why}.`.slice(0, 4096).toWellFormed(), {
    cause,
  });
