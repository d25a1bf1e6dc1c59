import type { StopMode } from '../../core/queue/worker.js';
import { once } from '../concurrency/once.js';
import type { RunningSegments } from './running-segments.js';

/** How a worker takes its leave: it takes no more segments, and those that work are cut at their next turn. */
export class Leave {
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
