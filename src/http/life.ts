import type { ServerResponse } from 'node:http';

/** Whether the server still takes work, and whom to tell when it does not. */
export interface Life {
  readonly draining: boolean;
  /** Fires when the client of this response is gone, or when the server closes. */
  signalOf(response: ServerResponse): AbortSignal;
  /** From now on the server is not ready; requests are still answered. */
  drain(): void;
  /** Tells everyone who waits to stop waiting. */
  end(): void;
}

export function createLife(): Life {
  const waiting = new Set<AbortController>();
  let draining = false;
  let ended = false;
  return {
    get draining() {
      return draining;
    },
    signalOf(response) {
      const controller = new AbortController();
      waiting.add(controller);
      response.once('close', () => {
        waiting.delete(controller);
        controller.abort();
      });
      if (ended) controller.abort();
      return controller.signal;
    },
    drain() {
      draining = true;
    },
    end() {
      draining = true;
      ended = true;
      for (const controller of waiting) controller.abort();
    },
  };
}
