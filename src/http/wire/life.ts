import type { ServerResponse } from 'node:http';

/** Whether the server still takes work, and whom to tell when it does not. */
export interface Life {
  readonly draining: boolean;
  /** Fires when the client of this response is gone, when the server closes, or when its token is revoked. */
  signalOf(response: ServerResponse, revoked: AbortSignal): AbortSignal;
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
    signalOf(response, revoked) {
      const controller = new AbortController();
      const onRevoked = (): void => controller.abort();
      waiting.add(controller);
      revoked.addEventListener('abort', onRevoked);
      response.once('close', () => {
        waiting.delete(controller);
        revoked.removeEventListener('abort', onRevoked);
        controller.abort();
      });
      if (ended || revoked.aborted) controller.abort();
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
