import { type Dialect, STANDARD } from './dialect.js';

/**
 * Mistral refuses every field that its schema does not have with 422 `extra_forbidden`, also in messages: no reasoning goes back.
 * Its answers leave `type` out of calls, and Magistral's give `content` as a list with parts of the type `thinking`.
 */
export const MISTRAL: Dialect = { ...STANDARD, name: 'mistral', emptyContent: '' };
