import type { RunDelta } from '../core/log/delta.js';
import type { RunEvent } from '../core/log/event.js';
import type { Client } from './client.js';
import type { ServerReturn } from './server-return.js';

/**
 * Events of a run until it is over, with what models say in between where the stream has it. It goes on where it was when the
 * server was away. Throws as `ServerReturn` does.
 */
export async function* followRun(
  stream: Client['streamEvents'] | Client['streamRun'],
  run: string,
  server: ServerReturn,
): AsyncGenerator<RunEvent | RunDelta, void> {
  let after = 0;
  for (;;) {
    try {
      for await (const one of stream(run, after, new AbortController().signal)) {
        server.answered();
        if ('seq' in one) after = one.seq;
        yield one;
      }
      return;
    } catch (error) {
      await server.pause(error);
    }
  }
}
