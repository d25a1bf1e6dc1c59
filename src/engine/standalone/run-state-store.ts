import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { RunState } from '@openai/agents';
import type { Knex } from 'knex';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { digestOf, type JsonValue, jsonValue, toJson } from '../../core/json.js';
import { readSavedState, removeSavedState, writeSavedState } from '../../storage/agents/saved-states.js';
import { makeDirectory } from '../../storage/database/data-dir/private-files.js';

/** A state in a file that only its owner may read. Writing replaces the file at once and is on the disk when it returns. */
class FileRunStateBackend implements RunStateBackend {
  readonly place: string;

  constructor(path: string) {
    this.place = resolve(path);
  }

  async read(): Promise<string | null> {
    try {
      return await readFile(this.place, 'utf8');
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return null;
      const message = `The saved run state in ${this.place} cannot be read: ${codeOf(cause)}.`;
      throw new HoldfastError('state_unreadable', message, { cause });
    }
  }

  async write(text: string): Promise<void> {
    const directory = dirname(this.place);
    makeDirectory(directory);
    const beside = `${this.place}.${randomUUID()}.tmp`;
    try {
      const file = await open(beside, 'wx', 0o600);
      try {
        await file.writeFile(text, 'utf8');
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(beside, this.place);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
    await syncDirectory(directory);
  }

  async remove(): Promise<void> {
    await rm(this.place, { force: true });
  }
}

/** Makes the new name durable; what cannot open a directory (Windows) makes it so by itself. */
async function syncDirectory(directory: string): Promise<void> {
  try {
    const handle = await open(directory, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL'].includes(codeOf(error))) throw error;
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';

/** The version of the Agents SDK that is installed; "unknown" if its package does not say. */
export function sdkVersion(): string {
  try {
    const entry = createRequire(import.meta.url).resolve('@openai/agents');
    const text = readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8');
    return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
  } catch {
    return 'unknown';
  }
}

/** An agent of any context and any output, as the SDK takes it. */
type AnyAgent = Parameters<typeof RunState.fromString>[0];

interface RunStateStoreOptions<TAgent extends AnyAgent> {
  /** The agent that the run started with; its handoffs are found through it. */
  readonly agent: TAgent;
  /** File of the state. */
  readonly path?: string;
  /** The same as `path`, under the name that it has in the Python library. */
  readonly file_path?: string;
  /** Where else the state is kept. */
  readonly backend?: RunStateBackend;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
}

const SDK = 'openai-agents-js';

/** What is stored. `digest` is over the canonical JSON of `state`. */
const envelope = z.object({
  holdfast: z.literal(1),
  sdk: z.literal(SDK),
  sdkVersion: z.string(),
  savedAt: z.iso.datetime(),
  digest: z.string(),
  state: jsonValue,
});

/** Keeps the state of one run of the Agents SDK, so that it can be resumed later, also by another process. */
export class RunStateStore<TAgent extends AnyAgent = AnyAgent> {
  readonly #agent: TAgent;
  readonly #backend: RunStateBackend;
  readonly #now: () => number;

  /** Throws `invalid_request` unless there is exactly one place for the state. */
  constructor(options: RunStateStoreOptions<TAgent>) {
    this.#agent = options.agent;
    this.#now = options.now ?? Date.now;
    const path = options.path ?? options.file_path;
    if ((path === undefined) === (options.backend === undefined)) {
      throw new HoldfastError('invalid_request', 'A RunStateStore needs either a path or a backend.');
    }
    this.#backend = options.backend ?? new FileRunStateBackend(path ?? '');
  }

  /** Replaces what was saved before. Throws `value_not_json` when the context of the run is not plain JSON. */
  async save(state: { toJSON(): unknown }): Promise<void> {
    const json = toJson(state.toJSON());
    const saved: z.input<typeof envelope> = {
      holdfast: 1,
      sdk: SDK,
      sdkVersion: sdkVersion(),
      savedAt: new Date(this.#now()).toISOString(),
      digest: digestOf(json),
      state: json,
    };
    await this.#backend.write(`${JSON.stringify(saved)}\n`);
  }

  /**
   * The state, with its interruptions and the decisions that were made on them. Throws `state_unknown` when nothing is
   * saved and `state_unreadable` for what is damaged, of another program, or refused by this version of the SDK.
   */
  load(): Promise<RunState<unknown, TAgent>>;
  load<A extends AnyAgent>(agent: A): Promise<RunState<unknown, A>>;
  load(agent: AnyAgent = this.#agent): Promise<RunState<unknown, AnyAgent>> {
    return this.#load(agent);
  }

  /** Forgets the state. Repeating it is no error. */
  async clear(): Promise<void> {
    await this.#backend.remove();
  }

  async #load<A extends AnyAgent>(agent: A): Promise<RunState<unknown, A>> {
    const text = await this.#backend.read();
    if (text === null) {
      throw new HoldfastError('state_unknown', `There is no saved run state in ${this.#backend.place}.`);
    }
    const saved = this.#opened(text);
    try {
      return await RunState.fromString<unknown, A>(agent, JSON.stringify(saved.state));
    } catch (cause) {
      const versions = `saved by version ${saved.sdkVersion} of the Agents SDK, read by ${sdkVersion()}`;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw this.#unreadable(`the SDK refuses it (${versions}): ${why}`, cause);
    }
  }

  #opened(text: string): z.output<typeof envelope> {
    const parsed = envelope.safeParse(parsedJson(text));
    if (!parsed.success) throw this.#unreadable(whatElse(text), parsed.error);
    if (digestOf(parsed.data.state) !== parsed.data.digest) {
      throw this.#unreadable('it is damaged: the state does not have its digest any more');
    }
    return parsed.data;
  }

  #unreadable(why: string, cause?: unknown): HoldfastError {
    return new HoldfastError(
      'state_unreadable',
      `The saved run state in ${this.#backend.place} cannot be read: ${why}.`,
      {
        cause,
      },
    );
  }
}

function parsedJson(text: string): JsonValue | undefined {
  try {
    return jsonValue.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** What a text is that is no envelope of ours. */
function whatElse(text: string): string {
  const json = parsedJson(text);
  if (json === undefined) return text === '' ? 'it is empty' : 'it is damaged: it is not JSON';
  const fields = z.looseObject({ holdfast: z.unknown(), sdk: z.unknown(), $schemaVersion: z.unknown() }).partial();
  const found = fields.safeParse(json).data ?? {};
  if (found.$schemaVersion !== undefined) return 'it is a bare state of the SDK, not one that a RunStateStore saved';
  if (found.holdfast === undefined) return 'it is foreign: nothing says that Holdfast saved it';
  if (found.holdfast !== 1) return `it has format ${JSON.stringify(found.holdfast)}, and this build reads format 1`;
  if (found.sdk !== SDK) return `it is foreign: saved by ${JSON.stringify(found.sdk)}, and this build reads "${SDK}"`;
  return 'it is damaged: fields are missing or wrong';
}

/** Where the text of one saved run state is kept: a file, a row, or anything else that can do this. */
export interface RunStateBackend {
  /** For messages: what is read and written. */
  readonly place: string;
  /** Null: nothing is saved. */
  read(): Promise<string | null>;
  /** All or nothing: a reader sees the old text or the new one. */
  write(text: string): Promise<void>;
  /** Nothing saved is no error. */
  remove(): Promise<void>;
}

/** Keeps a saved state in the database of an engine, under a name of a tenant. */
export const savedStateBackend = (db: Knex, tenant: string, name: string): RunStateBackend => ({
  place: `the saved state ${JSON.stringify(name)}`,
  read: () => readSavedState(db, tenant, name),
  write: (text) => writeSavedState(db, tenant, name, text),
  remove: () => removeSavedState(db, tenant, name),
});
