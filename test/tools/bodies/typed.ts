import type { IsolatedContext } from '../../../src/index.js';

/** A body in TypeScript. */
export const execute = ({ n }: { readonly n: number }, context: IsolatedContext): { doubled: number; key: string } => ({
  doubled: n * 2,
  key: context.idempotencyKey,
});
