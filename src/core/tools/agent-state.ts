import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import {
  canonical,
  isObject,
  type JsonObject,
  type JsonValue,
  jsonObject,
  jsonValue,
  nameInPointer,
  pointerToken,
  toJson,
} from '../json.js';

/** Bound of the state of a run as JSON, and of the changes of one call, in bytes. */
export const STATE_BYTES = 65_536;

const path = z.string().describe('JSON Pointer of a member.');

/** One change of a state. `add` and `append` lose nothing beside those of other calls of the same answer. */
export const stateOp = z.discriminatedUnion('op', [
  z.object({ op: z.literal('set'), path, value: jsonValue }),
  z.object({ op: z.literal('remove'), path }),
  z.object({ op: z.literal('add'), path, by: z.number() }),
  z.object({ op: z.literal('append'), path, values: z.array(jsonValue) }),
]);
export type StateOp = z.infer<typeof stateOp>;

/** What a call made of the state. `seen`: the version that it read. */
export const stateChange = z.object({ seen: z.int(), changes: z.array(stateOp) });
export type StateChange = z.infer<typeof stateChange>;

/** The state of a run. Each call that changes it makes the next version. */
export const agentState = z.object({ version: z.int(), value: jsonObject });
export type AgentState = z.infer<typeof agentState>;

const STEP = /^(?:\/(?:[^~/]|~[01])*)+$/;

/** The names that lead to a member. Throws `state_invalid` for what is no pointer. */
export function namesOf(pointer: string): readonly string[] {
  if (STEP.test(pointer)) return pointer.slice(1).split('/').map(nameInPointer);
  throw new HoldfastError(
    'state_invalid',
    `${JSON.stringify(pointer)} is no path of a member; expected a JSON Pointer such as /items.`,
  );
}

export const pointerTo = (names: readonly string[]): string => names.map((name) => `/${pointerToken(name)}`).join('');

const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** Puts what `make` makes of a member in its place; undefined removes it. What is in the way becomes an object. */
function placed(
  value: JsonValue | undefined,
  [name, ...rest]: readonly string[],
  make: (old: JsonValue | undefined) => JsonValue | undefined,
): JsonValue | undefined {
  if (name === undefined) return make(value);
  const held = isObject(value) ? value : {};
  const made = placed(memberOf(held, name), rest, make);
  const others = Object.entries(held).filter(([other]) => other !== name);
  return Object.fromEntries(made === undefined ? others : [...others, [name, made]]);
}

/** A sum ends here: JSON has no larger number, and a log with such a change must stay readable. */
const LARGEST = Number.MAX_VALUE;

const MAKE: {
  readonly [K in StateOp['op']]: (
    op: Extract<StateOp, { op: K }>,
  ) => (old: JsonValue | undefined) => JsonValue | undefined;
} = {
  set:
    ({ value }) =>
    () =>
      value,
  remove: () => () => undefined,
  add:
    ({ by }) =>
    (old) =>
      Math.max(-LARGEST, Math.min(LARGEST, (typeof old === 'number' ? old : 0) + by)),
  append:
    ({ values }) =>
    (old) => [...(Array.isArray(old) ? old : []), ...values],
};

const applyOp = (value: JsonObject, op: StateOp): JsonObject => {
  // The compiler cannot see that the name pairs operation and maker.
  const make = (MAKE[op.op] as (op: StateOp) => (old: JsonValue | undefined) => JsonValue | undefined)(op);
  const made = placed(value, namesOf(op.path), make);
  return isObject(made) ? made : {};
};

/** The state after the changes of a call. Pure, and defined for every state: what does not fit is replaced. */
export const applyChange = ({ version, value }: AgentState, { changes }: StateChange): AgentState => ({
  version: version + 1,
  value: changes.reduce(applyOp, value),
});

const at = (value: JsonObject, names: readonly string[]): JsonValue | undefined =>
  names.reduce<JsonValue | undefined>(memberOf, value);

/** Says which sum of a change became too large; null: none. */
function sumTooLarge(value: JsonObject, changes: readonly StateOp[]): string | null {
  const found = changes.find(({ op, path }) => op === 'add' && Math.abs(Number(at(value, namesOf(path)))) === LARGEST);
  return found === undefined ? null : `the sum at ${found.path} is larger than any number of JSON`;
}

/** Refuses what would put a sum or a list in the place of something else. Throws `state_invalid`. */
function assertExtends(value: JsonObject, path: string, kind: 'a number' | 'a list'): void {
  const names = namesOf(path);
  const refuse = (there: readonly string[], expected: string): never => {
    const what = `There is something else at ${pointerTo(there)} of the state; expected ${expected}, or nothing.`;
    throw new HoldfastError('state_invalid', `${what} Use change to replace it.`);
  };
  for (let length = 1; length < names.length; length++) {
    const above = names.slice(0, length);
    const found = at(value, above);
    if (found !== undefined && !isObject(found)) refuse(above, 'an object');
  }
  const found = at(value, names);
  if (found !== undefined && (kind === 'a list' ? !Array.isArray(found) : typeof found !== 'number'))
    refuse(names, kind);
}

/** The changes that make one value of another: of objects their members, of everything else the whole. */
export function changesOf(before: JsonObject, after: JsonObject, at: readonly string[] = []): StateOp[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): StateOp[] => {
    const [was, is] = [memberOf(before, name), memberOf(after, name)];
    const names = [...at, name];
    if (is === undefined) return [{ op: 'remove', path: pointerTo(names) }];
    if (isObject(was) && isObject(is)) return changesOf(was, is, names);
    if (was !== undefined && canonical(was) === canonical(is)) return [];
    return [{ op: 'set', path: pointerTo(names), value: is }];
  });
}

/** Returns a state as JSON within its bound. Throws `state_invalid`. */
export function stateValue(value: unknown): JsonObject {
  let json: JsonValue;
  try {
    json = toJson(value);
  } catch (error) {
    throw new HoldfastError('state_invalid', `The state cannot be kept: ${String((error as Error).message)}`);
  }
  if (!isObject(json)) throw new HoldfastError('state_invalid', 'The state must be a JSON object.');
  assertSize('The state', json);
  return json;
}

function assertSize(what: string, value: JsonValue): void {
  const sizeBytes = Buffer.byteLength(canonical(value));
  if (sizeBytes > STATE_BYTES)
    throw new HoldfastError('state_invalid', `${what} has ${sizeBytes} bytes; its bound is ${STATE_BYTES}.`);
}

/** Says what does not fit the schema of a state; null: nothing. */
export type StateProblem = (value: JsonObject) => string | null;

/** The state that a call reads and changes. */
export interface ToolState<S = JsonObject> {
  /** Grows by one with each call that changed the state. */
  readonly version: number;
  /** A copy of the state: as it was when the calls of this answer began, with the changes of this call. */
  readonly get: () => S;
  /** Changes a copy. Of objects each member counts by itself; of two calls that set the same one, the later in the answer wins. */
  readonly change: (edit: (draft: S) => void) => void;
  /** Adds to a number. Calls beside this one lose nothing by it. */
  readonly add: (path: string, by: number) => void;
  /** Adds items to the end of a list, in the order of the calls. */
  readonly append: (path: string, ...items: readonly unknown[]) => void;
}

/** What one call makes of the state. It counts when the call succeeds. */
export class CallState {
  readonly #problems: readonly StateProblem[];
  readonly #seen: AgentState;
  readonly #changes: StateOp[] = [];
  #value: JsonObject;
  #isOver = false;

  constructor(seen: AgentState, problems: readonly StateProblem[]) {
    this.#seen = seen;
    this.#value = seen.value;
    this.#problems = problems;
  }

  /** The changes, to be kept with the outcome; null: none. */
  get change(): StateChange | null {
    return this.#changes.length === 0 ? null : { seen: this.#seen.version, changes: [...this.#changes] };
  }

  /** Takes no further change: those of a body that goes on after its call would be lost. */
  end(): void {
    this.#isOver = true;
  }

  /** What the body of the tool gets. */
  get forTool(): ToolState {
    return {
      version: this.#seen.version,
      get: () => this.#copy(),
      change: (edit) => {
        const draft = this.#copy();
        assertAtOnce(edit(draft));
        this.#make(changesOf(this.#value, stateValue(draft)));
      },
      add: (path, by) => {
        assertExtends(this.#value, path, 'a number');
        if (!Number.isFinite(by))
          throw new HoldfastError('state_invalid', `add takes a finite number for ${path}, and not ${String(by)}.`);
        this.#make([{ op: 'add', path, by }]);
      },
      append: (path, ...items) => {
        assertExtends(this.#value, path, 'a list');
        this.#make([{ op: 'append', path, values: toJson(items) as readonly JsonValue[] as JsonValue[] }]);
      },
    };
  }

  #copy(): JsonObject {
    this.#assert(this.#value);
    return structuredClone(this.#value);
  }

  #make(changes: readonly StateOp[]): void {
    if (this.#isOver)
      throw new HoldfastError('state_invalid', 'The call has ended, and a change of the state counts no more.');
    if (changes.length === 0) return;
    const value = stateValue(changes.reduce(applyOp, this.#value));
    const tooLarge = sumTooLarge(value, changes);
    if (tooLarge !== null) throw new HoldfastError('state_invalid', `The state cannot be kept: ${tooLarge}.`);
    this.#assert(value);
    assertSize('What the call changes', toJson([...this.#changes, ...changes]));
    this.#value = value;
    this.#changes.push(...changes);
  }

  #assert(value: JsonObject): void {
    for (const problemOf of this.#problems) {
      const problem = problemOf(value);
      if (problem !== null) throw new HoldfastError('state_invalid', `The state does not fit its schema: ${problem}`);
    }
  }
}

/** A draft counts when its function returns: what an async one does later would be lost. Throws `state_invalid`. */
function assertAtOnce(returned: unknown): void {
  if (!(returned instanceof Promise)) return;
  returned.catch(() => undefined);
  throw new HoldfastError(
    'state_invalid',
    'change takes no async function: wait before it, and change the draft then.',
  );
}

/** Stands for the state where there is none. */
export function noState(who: string): ToolState {
  const missing = (): never => {
    throw new HoldfastError('state_missing', `${who} has no state.`);
  };
  return { version: 0, get: missing, change: missing, add: missing, append: missing };
}

/** The state of a run in one execution of a segment. */
export class LiveState {
  readonly #problemOf: StateProblem | null;
  #present: AgentState | null = null;
  #isAdopted = false;

  constructor(problemOf: StateProblem | null) {
    this.#problemOf = problemOf;
  }

  /** Null: the run has none. */
  get present(): AgentState | null {
    return this.#present;
  }

  get problemOf(): StateProblem | null {
    return this.#problemOf;
  }

  /** Begins with the state that the run was given. */
  begin(value: JsonObject): void {
    this.#present = { version: 0, value };
  }

  /** Goes on with a stored state. Only the first of a segment counts. */
  adopt(kept: AgentState | undefined): void {
    if (this.#present === null || this.#isAdopted) return;
    this.#isAdopted = true;
    if (kept !== undefined) this.#present = kept;
  }

  /** Makes the changes of a call, and says what does not fit where another call changed the state beside it. */
  apply(change: StateChange): string | null {
    const before = this.#present;
    if (before === null) return null;
    this.#present = applyChange(before, change);
    if (before.version === change.seen) return null;
    const { value } = this.#present;
    if (Buffer.byteLength(canonical(value)) > STATE_BYTES) return `it has more than ${STATE_BYTES} bytes`;
    return sumTooLarge(value, change.changes) ?? this.#problemOf?.(value) ?? null;
  }
}
