import { HoldfastError } from '../errors/errors.js';
import { canonical, isRecord, type JsonObject, type JsonValue, plainText, toJson } from '../json.js';
import { firstUnknownName } from '../nearest-name.js';

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

  now(fail: Fail): number {
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
  for (const [index, step] of first.entries())
    if (canonical(step.made) !== canonical(second[index]?.made ?? null))
      throw step.fail('its transition gave something else the second time. Use only what it is given');
  const calls = first.flatMap(({ made }) => made.calls);
  const { made, fail } = first.at(-1) as Walked;
  const turn = { state: made.state, clock: { times: told.times, logicalTime } };
  if (made.output !== undefined && calls.length > 0) throw fail(`it gives an output and makes calls: ${idsOf(calls)}`);
  if (made.output !== undefined) return { ...turn, next: { type: 'output', output: made.output } };
  if (calls.length === 0) throw fail('it waits for nothing: it makes no call and gives no output');
  return { ...turn, next: { type: 'calls', calls } };
}

type Fail = (why: string, cause?: unknown) => HoldfastError;

interface CheckedCall {
  readonly id: string;
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** What one transition made, and how it is named where that does not fit. */
interface Walked {
  readonly made: {
    readonly state: MachineState;
    readonly calls: readonly CheckedCall[];
    readonly output?: JsonValue;
  };
  readonly fail: Fail;
}

function walk(
  machine: Machine,
  from: MachineState,
  events: readonly MachineEvent[],
  time: { readonly told: Clock; readonly logicalTime: number },
): readonly Walked[] {
  time.told.begin();
  const walked: Walked[] = [];
  let state = from;
  for (const event of events) {
    const { name } = state;
    const fail: Fail = (why, cause) =>
      machineFailed(machine.name, `in the state ${name}, on ${nameOf(event)}: ${why}`, cause);
    const before = walked.flatMap(({ made }) => made.calls);
    const made = stepOf(machine, stateOf(machine, state, fail), event, { ...time, before, fail });
    walked.push({ made, fail });
    state = made.state;
    if (made.output !== undefined) break;
  }
  return walked;
}

interface At {
  readonly told: Clock;
  readonly logicalTime: number;
  /** The calls of the transitions before this one. */
  readonly before: readonly CheckedCall[];
  readonly fail: Fail;
}

function stepOf(machine: Machine, state: MachineState, event: MachineEvent, at: At): Walked['made'] {
  const { fail } = at;
  const context: MachineContext = { now: () => at.told.now(fail), logicalTime: at.logicalTime };
  try {
    return checkedStep(machine, state, machine.transition(structuredClone(state), structuredClone(event), context), at);
  } catch (cause) {
    if (cause instanceof HoldfastError && cause.code === 'machine_failed') throw cause;
    throw fail(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function checkedStep(machine: Machine, state: MachineState, given: unknown, { before, fail }: At): Walked['made'] {
  // Its own error would come later, and end the process.
  if (given instanceof Promise) given.catch(() => undefined);
  if (typeof given === 'object' && given !== null && 'then' in given)
    throw fail('its transition gives a promise; what takes time is a call of a tool');
  if (!isStep(given)) throw fail('its transition gives no { state: { name, data }, calls?, output? }');
  refuseUnknown('its transition gives', given, ['state', 'calls', 'output'], fail);
  refuseUnknown('its transition gives a state with', given.state, ['name', 'data'], fail);
  const output = given.output === undefined ? undefined : toJson(given.output);
  const problem = output === undefined ? null : machine.outputProblem(output);
  if (problem !== null) throw fail(`its output does not fit: ${problem}`);
  const next = nextState(machine, state, { name: given.state.name, data: toJson(given.state.data) }, fail);
  const calls: CheckedCall[] = [];
  for (const call of given.calls ?? []) calls.push(checkedCall(machine, call, [...before, ...calls], fail));
  return { state: next, calls, ...(output === undefined ? {} : { output }) };
}

function refuseUnknown(what: string, given: object, known: readonly string[], fail: Fail): void {
  const first = firstUnknownName(given, known);
  if (first !== undefined) throw fail(`${what} ${first.name}, which ${first.detail}`);
}

const isStep = (given: unknown): given is MachineStep => {
  if (typeof given !== 'object' || given === null || !('state' in given)) return false;
  const { state } = given;
  if (typeof state !== 'object' || state === null || !('name' in state) || typeof state.name !== 'string') return false;
  return !('calls' in given) || given.calls === undefined || Array.isArray(given.calls);
};

const nameOf = (event: MachineEvent): string => (event.type === 'input' ? 'its input' : `${event.type} of ${event.id}`);

function nextState(machine: Machine, from: MachineState, to: MachineState, fail: Fail): MachineState {
  const next = stateOf(machine, to, fail);
  const allowed = machine.states.get(from.name)?.to ?? null;
  if (to.name === from.name || allowed === null || allowed.has(to.name)) return next;
  throw fail(`it goes from ${from.name} to ${to.name}, which is not among its \`to\`: ${listOf(allowed)}`);
}

function stateOf({ states }: Machine, { name, data }: MachineState, fail: Fail): MachineState {
  const rule = states.get(name);
  if (rule === undefined)
    throw fail(`it comes to the state ${name}, which it does not have; it has ${listOf(states.keys())}`);
  let read: JsonValue;
  try {
    read = rule.read(data);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw fail(`its data do not fit the state ${name}: ${why}`, cause);
  }
  const bytes = Buffer.byteLength(canonical(read));
  if (bytes > MACHINE_STATE_BYTES)
    throw fail(`the data of its state ${name} are ${bytes} bytes; the limit is ${MACHINE_STATE_BYTES}`);
  return { name, data: read };
}

function checkedCall({ tools }: Machine, call: MachineCall, before: readonly CheckedCall[], fail: Fail): CheckedCall {
  if (!isRecord(call)) throw fail('one of its calls is no { tool, arguments, id? }');
  refuseUnknown('one of its calls has', call, ['tool', 'arguments', 'id'], fail);
  const { tool, id = tool } = call;
  if (!tools.has(tool)) throw fail(`it calls ${String(tool)}, which is not among its tools: ${listOf(tools)}`);
  if (typeof id !== 'string' || id === '' || id.length > 128 || plainText(id) !== id)
    throw fail(`it calls ${tool} with an id that is no name`);
  if (before.some((other) => other.id === id)) throw fail(`it makes two calls ${id} at once; give each an \`id\``);
  if (before.length >= MACHINE_CALLS) throw fail(`it makes more than ${MACHINE_CALLS} calls at once`);
  const given = toJson(call.arguments ?? {});
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw fail(`it calls ${tool} with arguments that are no object`);
  return { id, tool, arguments: given as JsonObject };
}

const idsOf = (calls: readonly { readonly id: string }[]): string => calls.map(({ id }) => id).join(', ');
const listOf = (names: Iterable<string>): string => [...names].join(', ') || 'none';

export const machineFailed = (name: string, why: string, cause?: unknown): HoldfastError =>
  new HoldfastError(
    'machine_failed',
    `The state machine ${name} failed: ${why.replace(/\.$/, '')}.`.slice(0, 4096).toWellFormed(),
    {
      cause,
    },
  );
