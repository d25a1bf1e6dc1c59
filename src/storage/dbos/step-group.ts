import type { KeptOutcome } from '../runs/calls.js';
import { type Checkpoint, type StepToSave, type SystemPool, saveStep, saveSteps } from './checkpoints.js';

/** Statements that are on their way at once: while the database works on one, the process prepares the next. */
const IN_FLIGHT_MAX = 2;
/** So that no step waits for many others. */
const STEPS_MAX = 16;
/** Steps with more text go by themselves. */
const CHARACTERS_MAX = 64 * 1024;

/** Steps that leave in one statement. */
interface Waiting {
  readonly steps: readonly StepToSave[];
  readonly resolve: (keptAt: readonly (number | null)[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Keeps the steps of all runs of a process. A step leaves at once when nothing is on its way; those that become ready meanwhile leave
 * together, by one statement with one commit. There is no timer. Each caller waits until its own step is durable. When a statement
 * with several steps fails, each of them is tried by itself, so that a failure is of the step that it belongs to.
 */
export class StepGroup {
  readonly #pool: SystemPool;
  readonly #schema: string;
  readonly #waiting: Waiting[] = [];
  #inFlight = 0;
  #scheduled = false;

  constructor(pool: SystemPool, schema: string) {
    this.#pool = pool;
    this.#schema = schema;
  }

  /** As `saveStep`. */
  async save(step: Checkpoint, call: KeptOutcome | null): Promise<number | null> {
    const [keptAt = null] = await this.saveInOrder([{ step, call }]);
    return keptAt;
  }

  /** Keeps steps of one execution, none before the one ahead of it. */
  saveInOrder(steps: readonly StepToSave[]): Promise<readonly (number | null)[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ steps, resolve, reject });
      this.#schedule();
    });
  }

  /** What becomes ready in one turn of the event loop leaves together. */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= IN_FLIGHT_MAX) return;
    this.#scheduled = true;
    process.nextTick(() => {
      this.#scheduled = false;
      while (this.#waiting.length > 0 && this.#inFlight < IN_FLIGHT_MAX) this.#send(this.#take());
    });
  }

  #take(): readonly Waiting[] {
    const taken: Waiting[] = [];
    const names = new Set<string>();
    let characters = 0;
    let count = 0;
    for (const one of this.#waiting) {
      const own = one.steps.flatMap(namesOf);
      for (const { step } of one.steps) characters += step.output?.length ?? 0;
      if (taken.length > 0 && (characters > CHARACTERS_MAX || own.some((name) => names.has(name)))) break;
      taken.push(one);
      count += one.steps.length;
      for (const name of own) names.add(name);
      if (count >= STEPS_MAX) break;
    }
    this.#waiting.splice(0, taken.length);
    return taken;
  }

  #send(steps: readonly Waiting[]): void {
    this.#inFlight++;
    void this.#keep(steps).finally(() => {
      this.#inFlight--;
      this.#schedule();
    });
  }

  async #keep(taken: readonly Waiting[]): Promise<void> {
    const [first] = taken;
    if (first === undefined) return;
    const steps = taken.flatMap((one) => one.steps);
    if (steps.length === 1) return this.#keepInOrder(first);
    const kept = await saveSteps(this.#pool, this.#schema, steps).catch(() => null);
    if (kept === null) {
      await Promise.all(taken.map((one) => this.#keepInOrder(one)));
      return;
    }
    let n = 0;
    for (const one of taken) one.resolve(one.steps.map(() => kept[n++] ?? null));
  }

  async #keepInOrder({ steps, resolve, reject }: Waiting): Promise<void> {
    const kept: (number | null)[] = [];
    try {
      for (const { step, call } of steps) {
        // What follows from a step that is not kept is not kept.
        if (kept.includes(null)) kept.push(null);
        else kept.push(await saveStep(this.#pool, this.#schema, step, call));
      }
      resolve(kept);
    } catch (error) {
      reject(error);
    }
  }
}

/** What a statement may have once. */
const namesOf = ({ step, call }: StepToSave): readonly string[] => [
  `${step.workflowId} ${step.functionId}`,
  ...(call === null ? [] : [`${call.run_id} ${call.call_id}`]),
];
