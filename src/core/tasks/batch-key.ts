import { z } from 'zod';

/** The idempotency key under which tasks were submitted together names their batch. */
export const batchKey = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 visible ASCII characters');
