import type { ModelDelta } from '../../core/log/delta.js';
import type { SecretScan } from '../../core/secrets/secret-matcher.js';
import { shownScan } from '../secrets/known-secrets.js';

/**
 * Hands out what a model says piece by piece, without secrets, also where one is split over pieces: what may be the beginning of one
 * waits for the next piece of the same text.
 */
export class CleanDeltas {
  readonly #give: (delta: ModelDelta) => void;
  readonly #texts = new Map<string, { readonly scan: SecretScan; last: ModelDelta }>();

  constructor(give: (delta: ModelDelta) => void) {
    this.#give = give;
  }

  push(delta: ModelDelta): void {
    const key = delta.type === 'arguments' ? `arguments ${delta.callId}` : delta.type;
    const text = this.#texts.get(key) ?? { scan: shownScan(), last: delta };
    text.last = delta;
    this.#texts.set(key, text);
    this.#say(delta, text.scan.push(delta.delta));
  }

  /** Hands out what waits. */
  end(): void {
    for (const { scan, last } of this.#texts.values()) this.#say(last, scan.end());
    this.#texts.clear();
  }

  #say(about: ModelDelta, delta: string): void {
    if (delta !== '') this.#give({ ...about, delta });
  }
}
