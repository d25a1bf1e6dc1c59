/** How often a node is tried, and how long it waits in between. */
interface Retry {
  readonly attempts: number;
  readonly firstSeconds?: number;
  readonly longestSeconds?: number;
}

const DEFAULT_FIRST = 1;
const DEFAULT_LONGEST = 300;

/** The wait after a failed try: twice as long as the one before, up to the longest. */
export const retryWaitSeconds = (
  { firstSeconds = DEFAULT_FIRST, longestSeconds = DEFAULT_LONGEST }: Retry,
  attempt: number,
): number => Math.min(longestSeconds, firstSeconds * 2 ** (attempt - 1));

/** What may pass. A refusal by a grant, a person or a schema stays what it is. */
export const RETRYABLE: ReadonlySet<string> = new Set([
  ...['tool_failed', 'tool_timeout', 'tool_memory', 'tool_cpu', 'tool_exited', 'sub_agent_failed'],
]);
