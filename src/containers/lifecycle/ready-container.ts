import { setTimeout as sleep } from 'node:timers/promises';
import type { EnvironmentIdentity } from '../../core/containers/environment.js';
import { SECRETS_DIR } from '../../core/containers/environment-spec.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type EngineConnection, EngineRefusal, StreamCut } from '../docker/engine-connection.js';
import { forwardEgress } from '../egress/forward-egress.js';
import { runAttached } from '../exec/exec.js';
import { keeperOf } from '../exec/judge-users.js';
import { endOfMain, openContainer, type ReadyOptions } from './open-container.js';
import { verifyContainer } from './verify-container.js';

const TRIES = 5;
/** With the growing pauses between them, some fifteen seconds. */
const TRIES_AFTER_CUTS = 18;
const APART_MS = 150;
const FURTHEST_APART_MS = 1000;
/** More than any process has at once. */
const REMEMBERED = 10_000;

/** Containers that were looked at from inside, each with the start that this was after. */
export class VerifiedStarts {
  readonly #starts = new Map<string, string>();

  has(container: string, startedAt: string): boolean {
    return this.#starts.get(container) === startedAt;
  }

  add(container: string, startedAt: string): void {
    if (this.#starts.size >= REMEMBERED) this.#starts.clear();
    this.#starts.set(container, startedAt);
  }
}

/** What is worse than a program that does not reach the proxy. */
const unlessRefused = (error: unknown): void => {
  if (!(error instanceof HoldfastError && error.code === 'environment_unenforceable')) throw error;
};

/** A container that runs. */
export interface Ready {
  readonly id: string;
  /** Called when it was looked at and found good; null: it was. */
  readonly seen: (() => void) | null;
}

/** Opens a container and looks whether it is what was asked for, once for each start of it: now, or later if nothing is to be done after that. */
export async function readyContainer(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  options: ReadyOptions,
  verified: VerifiedStarts,
): Promise<Ready> {
  const { signal } = options;
  let { begun } = options;
  return inRunning(signal, async () => {
    const { id, startedAt } = await openContainer(engine, identity, { ...options, begun });
    begun = true;
    if (verified.has(id, startedAt)) return { id, seen: null };
    const isAlone = identity.spec.secrets.length === 0 && options.egress === null;
    if (options.lookLater === true && isAlone) return { id, seen: () => verified.add(id, startedAt) };
    try {
      await verifyContainer({ engine, identity, container: id, signal });
    } catch (error) {
      // The engine only says that it does not run.
      throw (error instanceof EngineRefusal && (await endOfMain(engine, id, signal))) || error;
    }
    await putSecrets(
      { engine, container: id, user: identity.spec.user, signal },
      identity.spec.secrets,
      options.secrets,
    );
    if (options.egress !== null) {
      // Where a run is judged, all that works as the agent's user ends with each test.
      const user = identity.purpose === 'verification' ? keeperOf(identity.spec) : identity.spec.user;
      const forwarding = forwardEgress({ engine, container: id, user, signal }, options.egress);
      await (identity.spec.bestEffort ? forwarding.catch(unlessRefused) : forwarding);
    }
    verified.add(id, startedAt);
    return { id, seen: null };
  });
}

/**
 * Asks something of a container that runs, and again when the engine refuses it: that a container has ended is known a moment later.
 * `reopen` is called in between. Throws `environment_failed` with the last word of the engine.
 */
export async function inRunning<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  reopen: () => Promise<unknown> = async () => {},
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error;
      if (tries >= (error instanceof StreamCut ? TRIES_AFTER_CUTS : TRIES)) {
        const what = `The container does not stay up, or takes no program: ${error.message.trim().toWellFormed()}.`;
        throw new HoldfastError('environment_failed', what, { cause: error });
      }
      await sleep(Math.min(tries * APART_MS, FURTHEST_APART_MS), undefined, { signal });
      await reopen();
    }
  }
}

const WITHIN_MS = 30_000;

interface Place {
  readonly engine: EngineConnection;
  readonly container: string;
  readonly user: string;
  readonly signal: AbortSignal;
}

/**
 * Writes secrets to files in memory, through standard input: what is in an image, a variable or an argument can be read by the code that sees the
 * container. A stopped container has none. Throws `secret_unreadable`.
 */
async function putSecrets(
  { engine, container, user, signal }: Place,
  names: readonly string[],
  read: () => Promise<ReadonlyMap<string, string>>,
): Promise<void> {
  if (names.length === 0) return;
  const values = await read();
  for (const name of names) {
    const value = values.get(name);
    if (value === undefined)
      throw new HoldfastError(
        'secret_unreadable',
        `The secret ${name} is not in the configuration of the agent any more.`,
      );
    const argv = ['sh', '-c', 'umask 077; cat >"$1"', 'sh', `${SECRETS_DIR}/${name}`];
    const request = { container, user, argv, input: Buffer.from(value), maxBytes: 1024, timeoutMs: WITHIN_MS };
    const { exitCode } = await runAttached(engine, request, signal);
    if (exitCode !== 0) throw new EngineRefusal(0, `the secret ${name} cannot be written`);
  }
}
