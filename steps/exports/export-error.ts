import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { isTransient } from '../database-retry.js';

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
  if (isTransient(error)) throw error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if ('syscall' in Object(error)) {
    const what = error instanceof Error ? error.message : code;
    return new HoldfastError('export_not_writable', `The export cannot be written: ${DISK[code] ?? what}.`).view();
  }
  // What a parser says quotes what it has read, which may be erased while the export is kept.
  const quotes = error instanceof SyntaxError;
  const what = quotes ? 'a text in the database is not valid' : error instanceof Error ? error.message : String(error);
  return new HoldfastError('export_failed', `The export stopped: ${what.slice(0, 2000).toWellFormed()}`).view();
}
