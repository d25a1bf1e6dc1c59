import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { canonical, type JsonObject, jsonObject, toJson } from '../json.js';

/** Bound of the context of a run as JSON, in bytes: each change of it is written to the log. */
export const CONTEXT_BYTES = 262_144;

/** The context of a run after something changed it. The change with the highest number counts. */
export const contextChange = z.object({ version: z.int(), value: jsonObject });
export type ContextChange = z.infer<typeof contextChange>;

/** What a step says of the context. `problem`: code read one that is not there, or made something of it that cannot be kept. */
export type ContextNote = ContextChange | Trouble;

interface Trouble {
  readonly version: number;
  readonly code: 'context_missing' | 'context_invalid';
  readonly problem: string;
}

/** Returns a context as JSON. Throws `value_not_json` or `payload_too_large`. */
export function contextOf(value: unknown): JsonObject {
  const json = toJson(value);
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new HoldfastError('value_not_json', 'The context of a run must be a JSON object.');
  const sizeBytes = Buffer.byteLength(canonical(json));
  if (sizeBytes > CONTEXT_BYTES)
    throw new HoldfastError('payload_too_large', `context has ${sizeBytes} bytes; its bound is ${CONTEXT_BYTES}.`, {
      fields: [{ pointer: '/context', detail: `at most ${CONTEXT_BYTES} bytes` }],
    });
  return json as JsonObject;
}

/** Members that JavaScript itself reads of an object. */
const READ_BY_ITSELF = new Set(['toJSON', 'then', ...Object.getOwnPropertyNames(Object.prototype)]);

/** Returns what stands for a context that a run was not given: code that reads a member of it gets `context_missing`. */
function missingContext(agent: string, tell: (problem: string) => void): object {
  const refuse = (member: string | symbol, what: string): never => {
    const problem = `Code of the agent ${agent} ${what} RunContext.context.${String(member)}, but the run was started without a context.`;
    tell(problem);
    throw new HoldfastError('context_missing', problem);
  };
  return new Proxy(
    {},
    {
      get: (target, member) =>
        typeof member === 'symbol' || READ_BY_ITSELF.has(member) ? Reflect.get(target, member) : refuse(member, 'read'),
      set: (_target, member) => refuse(member, 'wrote'),
    },
  );
}

/**
 * The context of a run in one execution of a segment: one object, which the tools and callbacks of the SDK share and may change.
 * Steps keep what they changed, so that another process goes on with the same.
 */
export class LiveContext {
  readonly #agent: string;
  /** Null: the run was given none. */
  #text: string | null = null;
  #version = 0;
  #value: object;
  #isChanged = false;
  #isAdopted = false;
  #missed: string | null = null;

  constructor(agent: string) {
    this.#agent = agent;
    this.#value = missingContext(agent, (problem) => {
      this.#missed = problem;
    });
  }

  /** What the SDK hands to code. */
  get value(): object {
    return this.#value;
  }

  /** The context, if the segment has changed it; null: it has not. */
  get changed(): ContextChange | null {
    if (!this.#isChanged || this.#text === null) return null;
    return { version: this.#version, value: JSON.parse(this.#text) };
  }

  /** Begins with the context that the run was given. */
  begin(value: JsonObject): void {
    this.#text = canonical(value);
    this.#value = structuredClone(value);
  }

  /** Goes on with the context of a stored state, where the run was given one. Only the first state of a segment counts. */
  adopt(value: unknown): void {
    if (this.#text === null || this.#isAdopted) return;
    this.#isAdopted = true;
    this.begin(contextOf(value));
  }

  /** Returns what a state keeps. */
  get kept(): object {
    return this.#text === null ? {} : JSON.parse(this.#text);
  }

  /** Returns what was changed since it was asked last; null: nothing. */
  take(): ContextNote | null {
    if (this.#text === null) return this.#takeMissed();
    try {
      const value = contextOf(this.#value);
      const text = canonical(value);
      if (text === this.#text) return null;
      this.#set(text, this.#version + 1);
      return { version: this.#version, value };
    } catch (error) {
      return {
        version: this.#version,
        code: 'context_invalid',
        problem: error instanceof Error ? error.message : String(error),
      };
    }
  }

  /** Makes a recorded change, unless a later one was made before. Throws `context_invalid`. */
  apply(note: ContextNote | null | undefined): void {
    if (note == null) return;
    if ('problem' in note && note.code === 'context_missing') throw new HoldfastError(note.code, note.problem);
    if ('problem' in note)
      throw new HoldfastError(
        'context_invalid',
        `The context of the agent ${this.#agent} cannot be kept: ${note.problem}`,
      );
    if (this.#text === null || note.version <= this.#version) return;
    this.#set(canonical(note.value), note.version);
    const live = this.#value as Record<string, unknown>;
    for (const name of Object.keys(live)) delete live[name];
    Object.assign(live, structuredClone(note.value));
  }

  /** A tool may have made a text of the error that it got: the run ends by its name all the same. */
  #takeMissed(): Trouble | null {
    const problem = this.#missed;
    this.#missed = null;
    return problem === null ? null : { version: 0, code: 'context_missing', problem };
  }

  #set(text: string, version: number): void {
    this.#text = text;
    this.#version = version;
    this.#isChanged = true;
  }
}
