import { type ErrorView, HoldfastError } from '../src/core/errors.js';
import { passes } from './patience.js';

const DISK: { readonly [code: string]: string } = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EACCES: 'this process may not write there',
  EPERM: 'this process may not write there',
  EROFS: 'the disk is read-only',
};

/** Why an export does not come about. What passes by itself, as a database that is away, is thrown again. */
export function exportError(error: unknown): ErrorView {
  if (error instanceof HoldfastError) return error.view();
  if (passes(error)) throw error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if ('syscall' in Object(error)) {
    const what = error instanceof Error ? error.message : code;
    return new HoldfastError('export_not_writable', `The export cannot be written: ${DISK[code] ?? what}.`).view();
  }
  const what = error instanceof Error ? error.message : String(error);
  return new HoldfastError('export_failed', `The export stopped: ${what.slice(0, 2000).toWellFormed()}`).view();
}
