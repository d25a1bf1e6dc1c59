import { z } from 'zod';
import type { ErrorCode } from '../errors/errors.js';
import { sha256 } from '../json.js';

const DAY_MS = 86_400_000;

/** How often, and after how long, a task is tried again that failed by what another attempt may not meet. */
export const taskRetries = z
  .strictObject({
    /** Attempts after the first one; 0: none. */
    most: z.int().min(0).max(100).default(2),
    /** Milliseconds before the second attempt; twice as long before each further one. */
    firstMs: z.int().min(1).max(DAY_MS).default(5000),
    /** Never longer than this. */
    longestMs: z.int().min(1).max(DAY_MS).default(300_000),
  })
  .refine(({ firstMs, longestMs }) => firstMs <= longestMs, { path: ['longestMs'], error: 'is less than firstMs' });
export type RetriesConfig = z.input<typeof taskRetries>;
export type TaskRetries = z.infer<typeof taskRetries>;

/**
 * What was broken around the agent, and may be whole the next time. Everything else is the task's own, the agent's or the configuration's: an image
 * that is unknown, a definition that is not valid, a capability that is not granted, a limit, a test that fails.
 */
const RETRIED: ReadonlySet<string> = new Set<ErrorCode>([
  ...(['engine_unreachable', 'environment_lost', 'command_unknown', 'limit_crashes', 'run_stalled'] as const),
  ...(['database_full', 'database_read_only', 'database_busy'] as const),
  ...(['model_failed', 'route_failed', 'mcp_unreachable', 'database_unreachable'] as const),
]);

export const isRetried = (code: string): boolean => RETRIED.has(code);

/**
 * By these an attempt that was to go on from where another one had come to could not begin there: files that are gone, or that no container
 * can be made of, and an agent that does not do again what the log says. One from the beginning does not meet them.
 */
const OF_ITS_PLACE: ReadonlySet<string> = new Set<ErrorCode>([
  ...(['environment_lost', 'environment_failed', 'environment_conflict', 'environment_elsewhere'] as const),
  ...(['environment_unenforceable', 'image_unknown', 'image_refused', 'replay_diverged', 'state_unreadable'] as const),
]);

export const isOfItsPlace = (code: string): boolean => OF_ITS_PLACE.has(code);

const JITTER_DIGITS = 8;

/**
 * Milliseconds from the end of an attempt (the first is 1) to the next one; null: there is none. Between half of the time and all of it, so that
 * tasks that failed together do not come back together, and the same however often it is asked.
 */
export function retryAfterMs(
  { most, firstMs, longestMs }: TaskRetries,
  { taskId, attempt }: { readonly taskId: string; readonly attempt: number },
): number | null {
  if (attempt > most) return null;
  const full = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  const share = Number.parseInt(sha256(`${taskId}:${attempt}`).slice(-JITTER_DIGITS), 16) / 16 ** JITTER_DIGITS;
  return Math.ceil(full * (0.5 + share / 2));
}
