import { HoldfastError } from '../../core/errors/errors.js';

/** What one check of `doctor` found. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do about it; null when nothing is to do. */
  readonly wayOut: string | null;
}

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail, wayOut: null });
export const warn = (check: string, detail: string, wayOut: string): Finding => ({
  check,
  status: 'warn',
  detail,
  wayOut,
});
export const fail = (check: string, detail: string, wayOut: string): Finding => ({
  check,
  status: 'fail',
  detail,
  wayOut,
});

/** A check that threw has failed, with the message and the way out of what it threw. */
export function failed(check: string, error: unknown): Finding {
  if (error instanceof HoldfastError) return fail(check, `${error.message} (${error.code})`, error.hint);
  return fail(check, error instanceof Error ? error.message : String(error), 'Report it with what you did.');
}
