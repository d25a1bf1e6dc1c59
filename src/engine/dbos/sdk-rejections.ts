import { getGlobalTraceProvider } from '@openai/agents';
import type { EngineLog } from '../../core/ops/log-record.js';
import { hearerOf, watchStrayThrows } from './stray-throws.js';

type Listener = (...args: unknown[]) => void;

/** A word of the listener of the Agents SDK that no other one has. */
const OF_THE_SDK = 'hasOtherListenersForEvents';

/**
 * Takes away what the Agents SDK does where a promise is rejected and no one listens: it writes a line without the reason, ends its
 * traces, and ends the process. Returns a function that gives it back.
 */
function quietRejections(): () => void {
  // The provider listens from when it is made, and it is made when it is first asked for.
  getGlobalTraceProvider();
  const taken = process.listeners('unhandledRejection').filter((one) => String(one).includes(OF_THE_SDK));
  for (const one of taken) process.removeListener('unhandledRejection', one);
  return () => {
    for (const one of taken) process.on('unhandledRejection', one as Listener);
  };
}

/** Hears what no one in this process catches, in place of the Agents SDK, until the returned function is called. */
export function hearStrays(log: EngineLog, isSilent: boolean): () => void {
  const giveBack = quietRejections();
  const unwatch = watchStrayThrows(hearerOf(log, isSilent));
  return () => {
    unwatch();
    giveBack();
  };
}
