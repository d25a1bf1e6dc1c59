import { availableParallelism } from 'node:os';
import type { BodyPlace, ToolSpec } from '../../core/tools/tool.js';
import { Isolation } from './isolated-body.js';
import type { Isolated } from './isolated-port.js';

/** A thread or process that no one uses ends after so long. */
const IDLE_MS = 30_000;

interface Waiting {
  readonly spec: PooledSpec;
  readonly take: (isolation: Isolation) => void;
}

interface PooledSpec extends Pick<ToolSpec, 'name' | 'maxOutputBytes'> {
  readonly isolated: Isolated;
}

interface PoolRules {
  /** Threads and processes at once; undefined: one for each processor, at least two. */
  readonly atMost: number | undefined;
  /** Hears what bodies write to their standard output and standard error. */
  readonly said: (tool: string, line: string) => void;
}

/** Without an engine their lines go to the standard error of this process. */
const PLAINLY: PoolRules = {
  atMost: undefined,
  said: (tool, line) => void process.stderr.write(`${tool}: ${line}\n`),
};

/**
 * The threads and processes of this process in which bodies of tools work. They are started when they are needed, at most so many at
 * once, used again by calls of the same tool, and ended when no one needs them.
 */
class IsolatedPool {
  #rules = PLAINLY;
  /** Those that are there, also while they end. */
  readonly #all = new Set<Isolation>();
  readonly #idle = new Map<Isolation, NodeJS.Timeout>();
  #waiting: Waiting[] = [];
  #isClosed = false;

  /** Keeps to these rules from now on, until the returned function is called: it ends all that is there. */
  keepTo(rules: PoolRules): () => Promise<void> {
    this.#rules = rules;
    this.#isClosed = false;
    return () => this.#close();
  }

  /** Waits until a thread or process can work for a call. Rejects with the reason of the signal, and with `BodyLost`. */
  async enter(spec: PooledSpec, signal: AbortSignal): Promise<BodyPlace> {
    const isolation = await this.#freeFor(spec, signal);
    try {
      await isolation.ready;
    } catch (lost) {
      isolation.leave();
      throw lost;
    }
    return {
      run: (input, context) => isolation.run(spec, input, context),
      release: () => isolation.leave(),
    };
  }

  #freeFor(spec: PooledSpec, signal: AbortSignal): Promise<Isolation> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        spec,
        take: (isolation) => {
          signal.removeEventListener('abort', giveUp);
          resolve(isolation);
        },
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiting);
      this.#serve();
    });
  }

  /** Gives what there is to those who have waited for longest. */
  #serve(): void {
    if (this.#isClosed) return;
    let next = this.#waiting[0];
    while (next !== undefined) {
      const isolation = this.#oneFor(next.spec);
      if (isolation === null) return;
      this.#waiting.shift();
      isolation.hold(true);
      next.take(isolation);
      next = this.#waiting[0];
    }
  }

  /** Null: there is no room now. */
  #oneFor({ name, isolated }: PooledSpec): Isolation | null {
    for (const [isolation, timer] of this.#idle) {
      if (isolation.isolated !== isolated) continue;
      clearTimeout(timer);
      this.#idle.delete(isolation);
      return isolation;
    }
    const { atMost = Math.max(2, availableParallelism()), said } = this.#rules;
    if (this.#all.size >= atMost) {
      // One that another tool has used makes room, and is gone in a moment.
      const [unused] = this.#idle.keys();
      if (unused !== undefined) this.#end(unused);
      return null;
    }
    const made = new Isolation(isolated, {
      free: (isolation) => this.#rest(isolation),
      gone: (isolation) => {
        clearTimeout(this.#idle.get(isolation));
        this.#idle.delete(isolation);
        this.#all.delete(isolation);
        this.#serve();
      },
      said: (line) => said(name, line),
    });
    this.#all.add(made);
    return made;
  }

  #rest(isolation: Isolation): void {
    isolation.hold(false);
    this.#idle.set(isolation, setTimeout(() => this.#end(isolation), IDLE_MS).unref());
    this.#serve();
  }

  #end(isolation: Isolation): void {
    clearTimeout(this.#idle.get(isolation));
    this.#idle.delete(isolation);
    isolation.endQuietly();
  }

  /** Calls at work are never answered, so that no one takes the end of this process for their outcome. */
  async #close(): Promise<void> {
    this.#isClosed = true;
    this.#rules = PLAINLY;
    this.#waiting = [];
    await Promise.all(
      [...this.#all].map((isolation) => {
        this.#end(isolation);
        return isolation.over;
      }),
    );
    this.#isClosed = false;
  }
}

export const isolatedPool = new IsolatedPool();
