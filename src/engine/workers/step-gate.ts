import type { StepGate } from '../../../workflows/segment-context.js';
import type { StopMode } from '../../core/queue/worker.js';
import { once } from '../concurrency/concurrency-limits.js';
import type { RunningSegments } from './running-segments.js';

interface Waiting {
  readonly runId: string;
  readonly alone: boolean;
  readonly go: () => void;
}

/**
 * Where the steps of a process begin: together, or those of one run alone, or, while the gate is shut, none. They come in
 * in their order, so that a run that must be alone does not wait forever.
 */
export class ProcessGate implements StepGate {
  readonly #aloneChanged: (runId: string | null) => Promise<void>;
  #waiting: Waiting[] = [];
  #together = 0;
  #alone: { readonly runId: string; steps: number } | null = null;
  #isShut = false;

  /** `aloneChanged` says durably which run has the process to itself, before its step begins. */
  constructor(aloneChanged: (runId: string | null) => Promise<void>) {
    this.#aloneChanged = aloneChanged;
  }

  /** No step begins until it is opened again. Those that are at work go on. */
  shut(): void {
    this.#isShut = true;
  }

  open(): void {
    this.#isShut = false;
    this.#admit();
  }

  /** Resolves to the way out. A run that is stopped is let through at once: its step does nothing any more. */
  async enter(runId: string, alone: boolean, signal: AbortSignal): Promise<() => void> {
    if (!(await this.#turn(runId, alone, signal))) return () => {};
    if (!alone) return once(() => this.#leaveTogether());
    // A mark that cannot be written must not keep the run from going on; others are suspected then, too.
    await this.#aloneChanged(runId).catch(() => undefined);
    return once(() => this.#leaveAlone());
  }

  #turn(runId: string, alone: boolean, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const stop = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        resolve(false);
        this.#admit();
      };
      const go = (): void => {
        signal.removeEventListener('abort', stop);
        resolve(true);
      };
      const waiting: Waiting = { runId, alone, go };
      this.#waiting.push(waiting);
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop);
      this.#admit();
    });
  }

  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#let(next);
  }

  /** Steps that a run begins together have the process to themselves together; all others come in their order. */
  #next(): Waiting | undefined {
    if (this.#isShut) return undefined;
    const alone = this.#alone;
    if (alone !== null) return this.#waiting.find((one) => one.alone && one.runId === alone.runId);
    const [first] = this.#waiting;
    return first?.alone && this.#together > 0 ? undefined : first;
  }

  #let(one: Waiting): void {
    this.#waiting = this.#waiting.filter((other) => other !== one);
    if (!one.alone) this.#together += 1;
    else if (this.#alone === null) this.#alone = { runId: one.runId, steps: 1 };
    else this.#alone.steps += 1;
    one.go();
  }

  #leaveTogether(): void {
    this.#together -= 1;
    this.#admit();
  }

  #leaveAlone(): void {
    if (this.#alone === null) return;
    this.#alone.steps -= 1;
    if (this.#alone.steps > 0) return;
    const free = (): void => {
      this.#alone = null;
      this.#admit();
    };
    // Still marked, it would be blamed for the crash of another one.
    this.#aloneChanged(null).then(free, free);
  }
}

/** How a worker takes its leave: it takes no more segments, and those that work are cut at their next turn. */
export class Drain {
  readonly #running: RunningSegments;
  #hasBegun = false;

  constructor(running: RunningSegments) {
    this.#running = running;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  begin(): void {
    this.#hasBegun = true;
  }

  /** What to do when an operator asks, as often as that is: `stop` is called once, when it is time. */
  onAsked(stop: () => void): (mode: StopMode) => void {
    const stopOnce = once(stop);
    return (mode) => {
      this.begin();
      if (mode === 'stop' || this.#running.runIds.length === 0) stopOnce();
    };
  }
}

/** A gate that hears of each step when it begins and when it ends, and of runs that wait for their turn. */
export const progressGate = (gate: StepGate, running: Pick<RunningSegments, 'waits' | 'moved'>): StepGate => ({
  enter: async (runId, alone, signal) => {
    running.waits(runId);
    const exitGate = await gate.enter(runId, alone, signal);
    running.moved(runId);
    return () => {
      running.moved(runId);
      exitGate();
    };
  },
});
