import { callIdsOf } from '../src/storage/calls.js';
import { patiently } from './patience.js';
import type { World } from './world.js';

/**
 * Knows of which calls a run may have something, so that a call that is new need not be looked for. What it does not know of
 * is still safe: outcomes and waits are kept once, and an unsafe call is always looked for.
 */
export class EarlierCalls {
  readonly #world: World;
  readonly #runId: string;
  #ids: Promise<Set<string>> | null = null;
  readonly #isFirst: boolean;

  /** `isFirst`: no execution of the segment came before this one. `isNew`: nor did another segment. */
  constructor(world: World, runId: string, isFirst: boolean, isNew = false) {
    this.#world = world;
    this.#runId = runId;
    this.#isFirst = isFirst;
    if (isNew) this.#ids = Promise.resolve(new Set());
    // It is soon asked for; what it fails with is the failure of who asks.
    if (isFirst) this.#known().catch(() => undefined);
  }

  /** Whether the call may have left something before now. Asked once for each execution of a call. */
  async has(callId: string): Promise<boolean> {
    if (!this.#isFirst) return true;
    const ids = await this.#known();
    if (ids.has(callId)) return true;
    ids.add(callId);
    return false;
  }

  #known(): Promise<Set<string>> {
    this.#ids ??= patiently(() => callIdsOf(this.#world.knex, this.#runId)).then((ids) => new Set(ids));
    return this.#ids;
  }
}
