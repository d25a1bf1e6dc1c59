import type { StepToSave } from './checkpoints.js';

/** So many steps of an execution may be on their way; one more waits. */
const STEPS_MAX = 8;

interface Unkept {
  readonly saved: StepToSave;
  /** Hears when the step that is kept was completed, as `saveStep` says it. Throws if that is not this one. */
  readonly check: (keptAt: number | null) => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Keeps the steps of one execution of a segment, none before the one that came before it. A step leaves at once when none of them is on
 * its way; those that are ready meanwhile leave together. The execution may go on while its step is being kept. It waits for `durable`
 * before it does anything that lasts.
 */
export class StepsAhead {
  readonly #save: (steps: readonly StepToSave[]) => Promise<readonly (number | null)[]>;
  readonly #unsent: Unkept[] = [];
  #sending: Promise<void> | null = null;
  #unkept = 0;
  #failed: { readonly error: unknown } | null = null;

  /** `save`: as `StepGroup.saveInOrder`. */
  constructor(save: (steps: readonly StepToSave[]) => Promise<readonly (number | null)[]>) {
    this.#save = save;
  }

  /** Resolves once the step is durable, and all before it. Throws what `check` throws. */
  keep(saved: StepToSave, check: Unkept['check']): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#unkept++;
      this.#unsent.push({ saved, check, resolve, reject });
      this.#send();
    });
  }

  /** Resolves once the step is on its way. What it fails with is thrown by `durable`, and by every step after it. */
  async goAhead(saved: StepToSave, check: Unkept['check']): Promise<void> {
    this.keep(saved, check).catch(() => undefined);
    // It leaves before the code of a tool can keep the process busy.
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (this.#unkept > STEPS_MAX) await this.durable();
  }

  /** Whether there is something to wait for. */
  get isBehind(): boolean {
    return this.#unkept > 0 || this.#failed !== null;
  }

  /** Resolves when every step so far is durable. Throws what one of them failed with. */
  async durable(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
    if (this.#failed !== null) throw this.#failed.error;
  }

  #send(): void {
    if (this.#sending !== null || this.#unsent.length === 0) return;
    this.#sending = this.#keepAll(this.#unsent.splice(0, STEPS_MAX)).finally(() => {
      this.#sending = null;
      this.#send();
    });
  }

  async #keepAll(sent: readonly Unkept[]): Promise<void> {
    const kept = await this.#saved(sent);
    for (const [n, one] of sent.entries()) {
      this.#unkept--;
      try {
        if (this.#failed !== null) throw this.#failed.error;
        one.check(kept[n] ?? null);
        one.resolve();
      } catch (error) {
        this.#failed ??= { error };
        one.reject(error);
      }
    }
  }

  /** Saves nothing after a step that was not kept. */
  async #saved(sent: readonly Unkept[]): Promise<readonly (number | null)[]> {
    if (this.#failed !== null) return [];
    try {
      return await this.#save(sent.map(({ saved }) => saved));
    } catch (error) {
      this.#failed = { error };
      return [];
    }
  }
}
